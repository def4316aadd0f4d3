"""vLLM in this process, by its asynchronous engine.

It uses the model's chat template and returns whole replies.
"""

import asyncio
import gc
import importlib.util
import itertools
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from accgate.engines.base import (
    EngineDied,
    LogProbs,
    ModelTable,
    Reply,
    Request,
    RequestFailed,
    all_or_first_error,
    cpu_name,
    environment_of,
    tokens_after,
)
from accgate.engines.reasoning import opened_by, split_reasoning
from accgate.engines.silence import Silence, Stalled, timeout
from accgate.engines.vllm import process
from accgate.engines.vllm.options import RENDERED, checked_sampling, engine_arguments, own_options, weights
from accgate.engines.wire import body_of, drafted_length, sampling_of, second_beginning, tell_second_beginning
from accgate.errors import CannotEvaluate, KeyFaults, KeyNotReady
from accgate.records.finish import KNOWN, end_within
from accgate.result import EngineInfo
from accgate.text import value_text

LOOK = 0.2  # seconds between looks at the processes of an engine that loads
MOST_TOKENS = 128  # that a request may name, as vLLM has it (MAX_LOGPROB_TOKEN_IDS)
CPU_BATCH = 32  # requests that keep a processor's cores busy
T = TypeVar("T")
OPENING = 16  # tokens at the end of a prompt that may open the thought of its reply


def thought_tokens(tokenizer: Any, text: str) -> int | None:
    """Count the tokens of the reasoning in a text, if it has any."""
    reasoning = split_reasoning(text).reasoning
    return None if reasoning is None else len(tokenizer.encode(reasoning, add_special_tokens=False))


def model_defaults(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sampling that a model's generation_config sets.

    vLLM's server uses it where a request sets nothing. accgate's requests always set temperature and length.

    >>> model_defaults({"temperature": 0.7, "repetition_penalty": 1.05, "max_tokens": 2048})
    {'repetition_penalty': 1.05}
    """
    return {name: value for name, value in generation.items() if name not in ("temperature", "max_tokens")}


class VllmEngine:
    """A model in vLLM.

    Its options are those of vLLM's AsyncEngineArgs and a few of accgate's. Its replies are plain text, because only
    vLLM's server reads tool calls. `memory_share` is the share of each GPU's memory that it takes.
    """

    calls_tools = False

    def __init__(self, table: ModelTable) -> None:
        self._own, self._options = own_options(table)
        self._model = weights(table.model, table.folder, ("model",))
        self.concurrency = self._own.concurrency or 256
        self.saturated_at: int | None = None
        if importlib.util.find_spec("vllm") is None:
            fault = f"is vllm, which is not installed here, so its options were not checked; {process.INSTALL}"
            raise KeyNotReady(("engine",), fault)
        if (too_old := process.version_fault()) is not None:
            raise KeyNotReady(("engine",), too_old)
        self._extra, self._arguments = table.extra, self._engine_arguments(table.extra)
        self._engine: Any = None
        self._log: process.Log | None = None
        self._watch: process.Watch | None = None
        self._failed = False
        self._count = itertools.count()
        self._silence = Silence("vLLM", self._own.max_silence)
        self._recovery = asyncio.Lock()
        self._is_second = False  # whether its processes were started again

    def _engine_arguments(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """Check options and `sampling.extra` against vLLM's classes, and return its arguments.

        Importing the classes takes seconds.
        """
        log = process.Log(None)
        try:
            with log.capturing(), process.own_environment(batch_invariant=self._own.batch_invariant):
                arguments_class, sampling_class = process.import_classes()
                arguments = engine_arguments(self._own, self._options, arguments_class)
                default = getattr(arguments_class, "gpu_memory_utilization", 0.0)
                self.memory_share = float(arguments.get("gpu_memory_utilization", default))
                self._checked_extra = checked_sampling(extra, sampling_class)
                return arguments
        finally:
            log.close(failed=False)

    async def start(self) -> None:
        """Load the weights, in the time that the options give."""
        log = self._log = self._log or process.Log(self._own.log)
        limit = self._own.start_timeout
        try:
            async with timeout(limit):
                await self._loaded(log)
        except asyncio.TimeoutError:
            self._failed = True
            late = f"vLLM has not loaded {self._model} within {limit:g} s"
            fix = "raise options.start_timeout if it is only slow"
            raise CannotEvaluate(f"{late}; {fix} (vLLM's log: {log.path})") from None

    async def _loaded(self, log: process.Log) -> None:
        self._failed = True  # unless it gets through
        self._watch = process.Watch()
        loading = asyncio.get_running_loop().run_in_executor(None, self._load, log)
        try:
            while not loading.done():
                await asyncio.wait([loading], timeout=LOOK)
                self._watch.look()  # one that is gone later may leave what it started
            await loading
        except asyncio.CancelledError:
            while not loading.done():  # it would go on for minutes; without its processes it fails
                self._watch.end(patience=1.0)
                await asyncio.wait([loading], timeout=LOOK)
            await asyncio.gather(loading, return_exceptions=True)
            self._failed = False
            raise
        self._failed = False
        gc.collect()
        gc.freeze()  # what was loaded stays: looking through all of it again would hold every reply up
        self._watch.started()
        from vllm.platforms import current_platform

        self.saturated_at = CPU_BATCH if current_platform.is_cpu() else None
        if self._defaults:
            words = ", ".join(f"{name} = {value_text(value)}" for name, value in self._defaults.items())
            note = f'sets {words}, as in `vllm serve`; options.generation_config = "vllm" leaves that out'
            logging.getLogger(__name__).warning("%s: its generation_config %s", self._model, note)
        if self._own.concurrency is None:
            # A quarter more than run at once wait in the engine, so that it never waits for accgate.
            config = self._engine.vllm_config
            at_once = config.scheduler_config.max_num_seqs * config.parallel_config.data_parallel_size
            self.concurrency = max(1, at_once * 5 // 4)

    def _load(self, log: process.Log) -> None:
        environment = process.own_environment(batch_invariant=self._own.batch_invariant)
        with log.capturing(), process.unreachable_by_ctrl_c(), environment:
            try:
                self._refuse_varying_kernels()
                from vllm.engine.arg_utils import AsyncEngineArgs
                from vllm.usage.usage_lib import UsageContext
                from vllm.v1.engine.async_llm import AsyncLLM

                arguments = AsyncEngineArgs(model=self._model, **self._arguments)
                # Batches as large as LLM's own; those of a server are smaller, for short waits.
                self._engine = AsyncLLM.from_engine_args(arguments, usage_context=UsageContext.LLM_CLASS)
                self._prepare()
            except KeyFaults:
                raise
            except Exception as error:
                raise CannotEvaluate(self._why(f"vLLM cannot load {self._model}", error)) from error

    def _refuse_varying_kernels(self) -> None:
        """Refuse `batch_invariant` on a device for which vLLM has no such kernels.

        vLLM would ignore it silently.
        """
        from vllm.platforms import current_platform

        if not self._own.batch_invariant:
            return
        if current_platform.is_cpu() or (current_platform.is_cuda() and not current_platform.has_device_capability(80)):
            device = cpu_name() if current_platform.is_cpu() else current_platform.get_device_name()
            fault = f"is true, but vLLM has no batch-invariant kernels for {device}; take it out"
            raise KeyFaults((("options", "batch_invariant"), fault))

    def _prepare(self) -> None:
        """Prepare what every request shares, such as the chat template and the adapter."""
        from vllm.lora.request import LoRARequest
        from vllm.renderers import ChatParams
        from vllm.utils.mistral import is_mistral_tokenizer

        own, renderer, config = self._own, self._engine.renderer, self._engine.model_config
        self._template = None if own.chat_template is None else Path(own.chat_template).read_text(encoding="utf-8")
        self._tokenizes = bool(is_mistral_tokenizer(renderer.tokenizer) or config.enable_prompt_embeds)
        self._defaults = model_defaults(config.get_diff_sampling_param())
        self._chat_tokens = renderer.default_chat_tok_params.with_kwargs(add_special_tokens=False)
        self._lora = None if own.lora is None else LoRARequest(Path(own.lora).name, 1, own.lora)
        renderer.warmup(ChatParams(chat_template=self._template))

    def _why(self, what: str, error: BaseException) -> str:
        self._failed = True
        assert self._log is not None
        return f"{what}: {process.cause(error, self._log.text())} (vLLM's log: {self._log.path})"

    async def complete(self, request: Request) -> Reply:
        """Answer one prompt.

        A cancelled request is aborted in the engine.
        """
        return await self._answered(lambda: self._complete(request), request.max_tokens)

    async def _answered(self, ask: Callable[[], Awaitable[T]], tokens: int = 1) -> T:
        """Return what vLLM answers.

        After a stall a restarted engine gets the request again, once.
        """
        while True:
            if self._recovery.locked():  # wait until the engine is loaded again
                async with self._recovery:
                    pass
            silence = self._silence
            try:
                return await silence.reply(ask(), tokens)
            except Stalled as stall:
                await self._restart(silence, stall)

    async def _restart(self, silence: Silence, stall: Stalled) -> None:
        """End vLLM's processes and load the model again, once.

        Raises
        ------
        EngineDied
            When that was done before.
        """
        async with self._recovery:
            if self._silence is not silence:
                return  # another request of the same stall has seen to it
            assert self._log is not None
            assert self._watch is not None
            if self._is_second:
                self._failed = True
                raise EngineDied(f"{stall} (vLLM's log: {self._log.path})")
            self._is_second = True
            words = f"{stall.fact}; its processes are ended and started again, once"
            logging.getLogger(__name__).warning("%s (vLLM's log: %s)", words, self._log.path)
            engine, self._engine = self._engine, None
            self._watch.kill()
            await asyncio.to_thread(engine.shutdown)
            await asyncio.to_thread(self._watch.close)
            await self.start()
            self._silence = Silence("vLLM", self._own.max_silence)

    async def _complete(self, request: Request) -> Reply:
        sampling = self._sampling(request)
        final = await self._final(request, await self._render(request), sampling)
        output = final.outputs[0]
        if output.finish_reason not in KNOWN:
            raise RequestFailed(f"vLLM ended the request with {output.finish_reason!r}")
        logprobs = None
        if request.logprobs:
            pairs = zip(output.logprobs, output.token_ids, strict=True)
            logprobs = tuple(row[token].logprob for row, token in pairs)
        tokenizer = self._engine.get_tokenizer()
        opened = opened_by(tokenizer.decode(list(final.prompt_token_ids[-OPENING:])))
        text, counts = opened + output.text, (len(final.prompt_token_ids), len(output.token_ids))
        thought = await asyncio.to_thread(thought_tokens, tokenizer, text)
        reason = end_within(output.finish_reason, counts[1], sampling.max_tokens or 0)
        drafts = getattr(output, "spec_decode_metrics", None)  # earlier versions lack it
        length = drafted_length(getattr(drafts, "to_dict", dict)(), counts[1])
        return Reply(text, reason, *counts, logprobs=logprobs, reasoning_tokens=thought, acceptance=length)

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """Return the log-probabilities of each continuation's tokens, right after the request's prompt.

        The prompt's tokens are those that `complete` would send, and `tokens_after` gives a continuation's. All
        continuations of one token share a request.
        """
        return await self._answered(lambda: self._score(request, continuations))

    async def _score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        begins = request.mode == "completion" and not request.prompt and not request.system
        rendered = await self._render(replace(request, prompt=" ") if begins else request)
        prompt = [self._beginning()] if begins else list(rendered["prompt_token_ids"])
        text = "" if begins else rendered.get("prompt")
        tokenizer = self._engine.get_tokenizer()
        text = tokenizer.decode(prompt) if text is None else text
        encode = partial(tokenizer.encode, add_special_tokens=False)
        tokens = await asyncio.to_thread(lambda: [tokens_after(encode, prompt, text, each) for each in continuations])
        if not all(tokens):
            raise RequestFailed("the continuation has no token")
        rendered = {**rendered, "prompt_token_ids": prompt}
        singles = sorted({each[0] for each in tokens if len(each) == 1})
        longer = [each for each in tokens if len(each) > 1]
        first: dict[int, LogProbs] = {}
        if singles or self._is_worth_keeping(len(prompt), len(longer)):
            first = await self._next(request, rendered, singles)
        rest = iter(await all_or_first_error(self._after(request, rendered, each) for each in longer))
        return [first[each[0]] if len(each) == 1 else next(rest) for each in tokens]

    def _is_worth_keeping(self, prompt: int, texts: int) -> bool:
        """Tell whether a request for the prompt alone saves tokens.

        It fills the prefix cache for the texts that follow the prompt.
        """
        config = self._engine.vllm_config
        is_shared = config.cache_config.enable_prefix_caching and config.parallel_config.data_parallel_size == 1
        cached = (prompt - 1) // config.cache_config.block_size * config.cache_config.block_size
        return bool(is_shared and cached * texts > prompt)

    async def _next(self, request: Request, rendered: Mapping[str, Any], tokens: list[int]) -> dict[int, LogProbs]:
        """Score each of these tokens as the one right after the prompt.

        The request also puts the prompt into the prefix cache.
        """
        tokenizer, scores = self._engine.get_tokenizer(), {}
        for start in range(0, max(1, len(tokens)), MOST_TOKENS):
            some = tokens[start : start + MOST_TOKENS]
            final = await self._final(request, rendered, self._reading(logprob_token_ids=some or None))
            (greedy,) = final.outputs[0].token_ids
            rows = final.outputs[0].logprobs[0] if some else {}
            for token in some:
                scores[token] = LogProbs((tokenizer.decode([token]),), (rows[token].logprob,), token == greedy)
        return scores

    async def _after(self, request: Request, rendered: Mapping[str, Any], tokens: list[int]) -> LogProbs:
        """Score tokens after the prompt.

        The prefix cache has no log-probabilities. If it holds a part of these tokens, the request is repeated without
        it.
        """
        prompt = rendered["prompt_token_ids"]
        extended = {**rendered, "prompt_token_ids": [*prompt, *tokens]}
        for is_kept in (True, False):
            parameters = self._reading(prompt_logprobs=1, skip_reading_prefix_cache=not is_kept)
            final = await self._final(request, extended, parameters)
            rows = final.prompt_logprobs[-len(tokens) :]
            is_whole = len(rows) == len(tokens) and (final.num_cached_tokens or 0) < len(prompt)
            if is_whole and all(row and token in row for row, token in zip(rows, tokens, strict=True)):
                break
        else:
            raise RequestFailed("vLLM gave no log-probabilities of the text")
        tokenizer = self._engine.get_tokenizer()
        texts = tuple(tokenizer.decode([token]) for token in tokens)
        values = tuple(row[token].logprob for row, token in zip(rows, tokens, strict=True))
        best = [max(entry.logprob for entry in row.values()) for row in rows]
        return LogProbs(texts, values, all(value >= top for value, top in zip(values, best, strict=True)))

    def _reading(self, **fixed: Any) -> Any:
        """Return the parameters of a request for log-probabilities alone."""
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        kind = RequestOutputKind.FINAL_ONLY
        return SamplingParams(max_tokens=1, temperature=0.0, detokenize=False, output_kind=kind, **fixed)

    def _beginning(self) -> int:
        """Return the token before a text's first, as lm-evaluation-harness does.

        That is the tokenizer's beginning token, or its end token where it has no beginning one.
        """
        tokenizer = self._engine.get_tokenizer()
        return int(tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id)

    def _sampling(self, request: Request) -> Any:
        from vllm import SamplingParams
        from vllm.exceptions import VLLMError
        from vllm.sampling_params import RequestOutputKind

        chosen = sampling_of(request) | ({"logprobs": 0} if request.logprobs else {})
        try:
            is_checked = request.extra == self._extra
            extra = self._checked_extra if is_checked else checked_sampling(request.extra, SamplingParams)
            chosen |= {name: value for name, value in extra.items() if name not in RENDERED}
            return SamplingParams(**self._defaults | chosen, output_kind=RequestOutputKind.FINAL_ONLY)
        except (TypeError, ValueError, VLLMError, KeyFaults) as error:
            raise RequestFailed(f"vLLM: {process.one_line(error)}") from error

    async def _render(self, request: Request) -> Any:
        """Render the prompt off the event loop, as LLM.chat and LLM.generate do."""
        from vllm.renderers import ChatParams
        from vllm.renderers.inputs.preprocess import parse_model_prompt

        renderer, body = self._engine.renderer, body_of(request, self._model)
        try:
            if request.mode == "completion":
                parsed = parse_model_prompt(self._engine.model_config, body["prompt"])
                (rendered,) = await renderer.render_cmpl_async([parsed])
                if (fault := second_beginning(body["prompt"], rendered.get("prompt_token_ids", ()))) is not None:
                    tell_second_beginning(fault)
                return rendered
            continues = bool(request.prefix)
            chosen = {"add_generation_prompt": not continues, "continue_final_message": continues}
            chosen |= {"tokenize": self._tokenizes, **request.extra.get("chat_template_kwargs", {})}
            processor = request.extra.get("mm_processor_kwargs")
            parameters = ChatParams(
                chat_template=self._template, chat_template_kwargs=chosen, mm_processor_kwargs=processor
            )
            extras = None if processor is None else {"mm_processor_kwargs": processor}
            _, (rendered,) = await renderer.render_chat_async(
                [body["messages"]], parameters, self._chat_tokens, prompt_extras=extras
            )
            return rendered
        except Exception as error:
            if type(error).__name__ == "ChatTemplateResolutionError":
                fix = 'ask with mode = "completion", or name a template in options.chat_template'
                raise CannotEvaluate(f"{self._model} has no chat template; {fix}") from error
            raise RequestFailed(f"vLLM: {process.one_line(error)}") from error

    async def _final(self, request: Request, rendered: Any, parameters: Any) -> Any:
        from vllm.v1.engine.exceptions import EngineDeadError

        final = None
        try:
            name = f"{next(self._count)}-{request.id}"
            async for output in self._engine.generate(rendered, parameters, name, lora_request=self._lora):
                final = output
        except EngineDeadError as error:
            raise EngineDied(self._why("vLLM's engine died", error)) from error
        except Exception as error:
            raise RequestFailed(f"vLLM: {process.one_line(error.__cause__ or error)}") from error
        assert final is not None
        return final

    def describe(self) -> EngineInfo:
        """Return vLLM's version, its hardware, and the versions of its libraries."""
        import torch
        import vllm
        from vllm.platforms import current_platform

        parallel = self._engine.vllm_config.parallel_config
        count = parallel.world_size * parallel.data_parallel_size
        device = cpu_name() if current_platform.is_cpu() else current_platform.get_device_name()
        environment = environment_of("torch", "transformers", "flashinfer-python", "triton")
        environment |= {name: text for name in ("cuda", "hip") if (text := getattr(torch.version, name, None))}
        hardware = device if count == 1 else f"{count} x {device}"
        return EngineInfo("vllm", f"vllm {vllm.__version__}", hardware, environment)

    async def close(self) -> None:
        """End the engine and its processes, with what is in flight."""
        engine, self._engine = self._engine, None
        if engine is not None:
            gc.unfreeze()
            await asyncio.to_thread(engine.shutdown)
        if self._log is not None and self._watch is not None:
            await asyncio.to_thread(self._watch.close)
            self._log.close(failed=self._failed)
            self._log = None
