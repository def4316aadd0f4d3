"""What vLLM's watch leaves of shared memory, with another process in vLLM's place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest

from accgate.engines.vllm.watch import MEMORY, living, mapped, processes, remove

HOLD = """
import time
from multiprocessing.shared_memory import SharedMemory
segment = SharedMemory(create=True, size=4096)
print(segment.name, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the watch")
def test_only_shared_memory_that_nobody_has_any_more_is_removed(tmp_path: Path) -> None:
    other, old = SharedMemory(create=True, size=4096), SharedMemory(create=True, size=4096)
    try:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert holder.stdout is not None
        segment = MEMORY / holder.stdout.readline().strip()
        inode = str(segment.stat().st_ino)
        memory = mapped([holder.pid])
        assert memory == {inode}
        assert inode in mapped(processes())
        started = {holder.pid: processes()[holder.pid][0]}
        assert living(started) == [holder.pid]
        memory |= {str((MEMORY / other.name).stat().st_ino)}  # this process has it
        remove({*memory})
        assert segment.exists()
        os.killpg(holder.pid, signal.SIGKILL)  # and Python's tracker of its memory
        holder.communicate(timeout=60)
        assert living(started) == []
        assert segment.exists()
        old.close()  # nobody maps it, but no process of vLLM ever did
        remove({*memory})
        assert not segment.exists()
        assert (MEMORY / other.name).exists()
        assert (MEMORY / old.name).exists()
    finally:
        holder.kill()
        other.close()
        for left in (other, old):
            left.unlink()
