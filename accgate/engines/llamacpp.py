"""llama.cpp in this process, through the package xllamacpp: CPU or GPU, parallel slots, nothing to serve."""

from __future__ import annotations

import asyncio
import enum
import os
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path
from typing import Any

from accgate.engines.base import EngineInfo, Reply, Request, RequestFailed, cpu_name
from accgate.engines.wire import MalformedReply, body_of, error_text, reply_of
from accgate.errors import BadInput, CannotEvaluate
from accgate.tomlfile import Key, TomlFile, nearest

PACKAGE = "package://"
OPERATIONAL = frozenset({"verbosity", "warmup"})  # change no answer; slots and context do, for long prompts
DEFAULTS = {"n_parallel": 4, "verbosity": -1, "warmup": False}


class LlamaCppEngine:
    """A GGUF model whose options are llama.cpp's own parameters, by their names."""

    def __init__(self, model: str, options: Mapping[str, Any], *, source: TomlFile, key: Key) -> None:
        self._path = model_path(model, source, (*key, "model"))
        self._options = options
        self._source = source
        self._key: Key = (*key, "options")
        self.concurrency = options.get("n_parallel", DEFAULTS["n_parallel"])
        if isinstance(self.concurrency, bool) or not isinstance(self.concurrency, int) or self.concurrency < 1:
            message = f"is {self.concurrency!r}; write a whole number from 1, the replies decoded at once"
            raise BadInput(source.error((*self._key, "n_parallel"), message))
        self._server: Any = None
        self._pool: ThreadPoolExecutor | None = None

    async def start(self) -> None:
        """Load the weights."""
        # libgomp reads this when it loads. Threads that spin at barriers take 10 times as long on a busy machine.
        os.environ.setdefault("GOMP_SPINCOUNT", "100")
        try:
            import xllamacpp
        except ModuleNotFoundError as error:
            raise CannotEvaluate("engine llamacpp needs xllamacpp; pip install 'accgate[llamacpp]'") from error
        except ImportError as error:
            raise CannotEvaluate(f"xllamacpp cannot be loaded: {error}; on Debian, apt-get install libgomp1") from error
        params = xllamacpp.CommonParams()
        for name, value in DEFAULTS.items():
            setattr(params, name, value)
        # The library opens a port on 127.0.0.1 beside the calls used here; a key nobody knows keeps it shut.
        params.hostnames, params.api_keys, params.ui = ["127.0.0.1"], [secrets.token_hex()], False
        self._apply(params, self._options, self._key)
        params.model.path = str(self._path)
        loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(self.concurrency, thread_name_prefix="llamacpp")
        try:
            self._server = await loop.run_in_executor(self._pool, xllamacpp.Server, params)
        except (RuntimeError, ValueError, OSError) as error:
            raise CannotEvaluate(
                f"llama.cpp cannot load {self._path}: {error} Is it a GGUF file, do the options fit the model, and is "
                "there memory for n_ctx? options.verbosity = 3 shows what llama.cpp says"
            ) from error

    def _apply(self, target: Any, options: Mapping[str, Any], key: Key) -> None:
        known = [name for name in dir(target) if not name.startswith("_")]
        for name, value in options.items():
            where = (*key, name)
            if name not in known:
                raise BadInput(self._source.error(where, f"llama.cpp has no such parameter; {nearest(name, known)}"))
            present = getattr(target, name)
            if isinstance(value, Mapping) and not isinstance(present, dict):
                self._apply(present, value, where)
                continue
            try:
                setattr(target, name, self._enum_value(present, value, where))
            except (TypeError, ValueError, OverflowError, AttributeError) as error:
                message = f"is {value!r}, which llama.cpp does not take ({error}); its default is {present!r}"
                raise BadInput(self._source.error(where, message)) from error

    def _enum_value(self, present: Any, value: Any, where: Key) -> Any:
        """A member by the end of its name, `"q4_0"` for GGML_TYPE_Q4_0; other values as they are."""
        if not isinstance(present, enum.Enum):
            return value  # a number for an enum is refused below: llama.cpp takes any, and crashes on some
        members = type(present).__members__
        shared = os.path.commonprefix([*members])  # noqa: RUF071 (names, not paths)
        short = {name[shared.rfind("_") + 1 :].lower(): member for name, member in members.items()}
        name = str(value).lower()
        if name in short:
            return short[name]
        raise BadInput(self._source.error(where, f"is {value!r}; {nearest(name, short)}"))

    async def complete(self, request: Request) -> Reply:
        """Answer one prompt in a thread; llama.cpp batches what is in flight."""
        assert self._server is not None
        handle = self._server.handle_chat_completions if request.mode == "chat" else self._server.handle_completions
        body = body_of(request, self._path.name)
        try:
            response = await asyncio.get_running_loop().run_in_executor(self._pool, handle, body)
        except (RuntimeError, ValueError, TypeError) as error:
            raise RequestFailed(f"llama.cpp: {error}") from error
        if isinstance(response, dict) and "error" in response:
            raise RequestFailed(f"llama.cpp: {error_text(response)}")
        try:
            return reply_of(response)
        except MalformedReply as error:
            raise RequestFailed(f"llama.cpp: {error}") from error

    def describe(self) -> EngineInfo:
        """The binding's version and the processor."""
        return EngineInfo("llamacpp", f"xllamacpp {metadata.version('xllamacpp')}", cpu_name())

    async def close(self) -> None:
        """Free the weights; what is still in flight finishes first, since llama.cpp cannot be cut off."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.get_running_loop().run_in_executor(None, pool.shutdown)
        self._server = None


def model_path(model: str, source: TomlFile, key: Key) -> Path:
    """The file of a model: a path relative to the config, or `package://DISTRIBUTION/FILE` of an installed package.

    The package is looked up, not imported.

    Raises
    ------
    BadInput
        When there is no such file or package.
    """
    if not model.startswith(PACKAGE):
        path = source.path_of(model)
        if not source.has_file(model):
            raise BadInput(source.error(key, f"there is no file {model!r} in {source.path.parent}"))
        return path
    distribution, _, name = model.removeprefix(PACKAGE).partition("/")
    try:
        files = metadata.files(distribution or "-") or []  # Python 3.10 finds something for no name at all
    except (metadata.PackageNotFoundError, ValueError):
        fault = f"package {distribution!r} is not installed; pip install --no-deps {distribution}"
        raise BadInput(source.error(key, fault)) from None
    for file in files:
        if name in (file.name, str(file)) and (path := Path(str(file.locate()))).is_file():
            return path
    raise BadInput(source.error(key, f"package {distribution} holds no file {name!r}"))
