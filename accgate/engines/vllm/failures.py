"""Why vLLM failed, in one line: the cause is often in the log of a process that it started."""

from __future__ import annotations

import re

from accgate.text import clip

# What stands in the log although the cause is elsewhere.
GENERIC = re.compile(
    r"Engine core initialization failed|WorkerProc initialization failed|EngineCore encountered an issue"
    r"|EngineDeadError|Engine core proc .* died|CancelledError|KeyboardInterrupt|SystemExit|Bad file descriptor"
)
RAISED = re.compile(
    r"^(?:\(.*?\) )?(?:ERROR [^\]]*\] )?((?:\w+\.)*\w*(?:Error|Exception|NotFound)): +(\S.*)$", re.MULTILINE
)
SILENT = "its process ended without a word; was the machine short of memory? The system's log (dmesg) says so"
FIXES = (
    (r"VLLM_CPU_KVCACHE_SPACE",
     "lower options.max_model_len, or set VLLM_CPU_KVCACHE_SPACE to the GiB that the machine can spare"),
    (r"out of memory|[Nn]o available memory|Free memory on device|KV cache is needed|cache blocks"
     r"|Cannot allocate memory|can't allocate memory|[Nn]ot enough memory|Available RAM|larger than the available KV",
     "the model does not fit: lower options.max_model_len, quantise it, or raise options.tensor_parallel_size"),
    (r"World size|tensor[ _]parallel|tp_size|number of available GPUs|pipeline[ _]parallel|placement group",
     "set options.tensor_parallel_size to a number of GPUs that the machine has and that divides the model's heads"),
    (r"No CUDA GPUs|infer device type|NVIDIA driver|CUDA driver|libcuda|no CUDA-capable device|CUDA unknown error",
     "run where a GPU is (in Docker with --gpus all), or use the engine llamacpp"),
    (r"config\.json|not a local folder|Repository Not Found|[Rr]epo(sitory)? id|model weights|couldn't connect to"
     r"|LocalEntryNotFound|cached files|gated repo|outgoing traffic|safetensors|No such file or directory",
     "check `model`: a folder with config.json and weights, or a hub id that this machine may fetch (HF_TOKEN)"),
)  # fmt: skip


def cause(error: BaseException, log: str) -> str:
    """Why vLLM failed, in one line with the fix: from the error, or from the log of the process that it started."""
    chain = [error]
    while (deeper := chain[-1].__cause__ or chain[-1].__context__) is not None and deeper not in chain:
        chain.append(deeper)
    messages = [
        _plain(str(link)) for link in chain if not GENERIC.search(f"{type(link).__name__} {link}") and str(link)
    ]
    logged = [_plain(text) for kind, text in RAISED.findall(log) if not GENERIC.search(f"{kind}: {text}")]
    fact = next(iter(messages), None) or next(reversed(logged), None) or SILENT
    fix = next((fix for pattern, fix in FIXES if re.search(pattern, fact)), None)
    return f"{fact.rstrip('.')}; {fix}" if fix else fact


def _plain(text: str) -> str:
    """An error's words without the frame that pydantic puts around them."""
    inner = re.search(r"Value error, (.*?)(?: \[type=|$)", text, re.DOTALL)
    return one_line(inner[1] if inner else text)


def one_line(error: BaseException | str) -> str:
    """What an error says, on one line of at most 400 characters; its kind where it says nothing."""
    text = " ".join(str(error).split()) or type(error).__name__
    return clip(text, 400)
