"""A real Slurm of one node in a folder of its own: Debian's packages, unpacked and not installed, with munge."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.runner import KEPT

PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "munge",
    "libmunge2",
    "libhwloc15",
    "liblua5.1-0",
)
FOLDER = KEPT / "slurm"
READY_SECONDS = 300
CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={work}/munge.socket,cred_expire=5
PluginDir={plugins}
StateSaveLocation={work}/state
SlurmdSpoolDir={work}/spool
SlurmctldPidFile={work}/slurmctld.pid
SlurmdPidFile={work}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=gpu Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def slurm_unpacked() -> Path:
    """The folder with Slurm's programs, fetched the first time; skips where they cannot be had, with the reason."""
    if os.geteuid() != 0 or not shutil.which("dpkg-deb") or not shutil.which("apt-get"):
        pytest.skip("Slurm's packages need Debian and root, as slurmd does")
    root = FOLDER / "root"
    if (root / "usr" / "sbin" / "slurmd-wlm").exists():
        return root
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=FOLDER) as fresh:
        done = subprocess.run(
            ["apt-get", "download", *PACKAGES], cwd=fresh, capture_output=True, text=True, check=False, timeout=600
        )
        if done.returncode != 0:
            pytest.skip(f"Slurm's packages cannot be fetched: {done.stderr.strip()[-300:]}")
        unpacked = Path(fresh) / "root"
        for package in Path(fresh).glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", str(package), str(unpacked)], check=True, timeout=600)
        with suppress(OSError):  # another run was first
            unpacked.rename(root)
    return root


def free_ports() -> list[int]:
    sockets = [socket.socket() for _ in range(2)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@contextmanager
def cluster() -> Iterator[Mapping[str, str]]:
    """A running cluster of one node with four processors; the variables with which its commands find it."""
    root = slurm_unpacked()
    libraries = next((root / "usr" / "lib").glob("*/slurm-wlm"))
    # Short, as a socket's path may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        work = Path(name)
        for folder in ("state", "spool"):
            (work / folder).mkdir()
        (work / "munge.key").write_bytes(os.urandom(1024))
        (work / "munge.key").chmod(0o600)
        host = socket.gethostname().partition(".")[0]
        conf = work / "slurm.conf"
        conf.write_text(CONF.format(host=host, ports=free_ports(), work=work, plugins=libraries))
        env = os.environ | {
            "SLURM_CONF": str(conf),
            "LD_LIBRARY_PATH": f"{libraries.parent}:{libraries}",
            "PATH": f"{root}/usr/bin:{root}/usr/sbin:{os.environ['PATH']}",
        }
        munge = ["--key-file", "munge.key", "--socket", "munge.socket", "--pid-file", "munged.pid"]
        munge = [word if word.startswith("--") else f"{work}/{word}" for word in munge]
        stepd = f"{root}/usr/sbin/slurmstepd-wlm"
        commands = (
            ["munged", "--foreground", "--force", *munge, f"--log-file={work}/munged.log", f"--seed-file={work}/seed"],
            ["slurmctld-wlm", "-D", "-i"],
            ["slurmd-wlm", "-D", "-d", stepd],
        )
        started = []
        try:
            for command in commands:
                with (work / f"{command[0]}.out").open("wb") as log:
                    started.append(subprocess.Popen(command, env=env, stdout=log, stderr=log))
                if command[0] == "munged":
                    wait_until((work / "munge.socket").exists, work)
            wait_until(lambda: "idle" in ask(env, "sinfo", "--noheader", "--format=%T"), work)
            yield env
        finally:
            with suppress(subprocess.SubprocessError):
                ask(env, "scancel", "--signal=KILL", "--full", "--state=RUNNING", f"--user={os.geteuid()}")
            for process in reversed(started):
                process.send_signal(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(30)
                process.kill()
                process.wait()


def ask(env: Mapping[str, str], *command: str) -> str:
    """What a command of Slurm's prints."""
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=120)
    return done.stdout.strip()


def wait_until(condition, work: Path) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + READY_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            logs = "\n".join(log.read_text(errors="replace")[-800:] for log in sorted(work.glob("*.out")))
            pytest.skip(f"Slurm does not start here:\n{logs}")
        time.sleep(0.2)
