"""What the runner's machine does to the host scripts: its GPUs, memory, disk, users, engine and git."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.cases import each
from tests.support.runner import FakeDocker, Runner, after, again, commit, git, posix_tools

Machine = tuple[Runner, FakeDocker]

pytestmark = posix_tools


def put(runner: Runner, name: str, script: str) -> None:
    """Place a program before this machine's own."""
    (runner.bin / name).write_text(f"#!/bin/sh\n{script}\n")
    (runner.bin / name).chmod(0o755)


ONE = "echo 'GPU 0: H200 (UUID: GPU-1)'"
MANY = """
for gpu in 0 1 2 3 4 5 6 7; do
  echo "GPU $gpu: H200 (UUID: GPU-$gpu)"
  for part in 0 1 2 3 4 5 6; do echo "  MIG 1g.18gb     Device  $part: (UUID: MIG-$gpu$part)"; done
  sleep 0.01
done"""
SEES = [
    (MANY, ""),
    (f"{ONE}; echo 'WARNING: infoROM is corrupted at gpu 0000:18:00.0'; exit 14", "nvidia-smi says: WARNING: infoROM"),
]
FAILS = [
    ("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18", "(code 18): Failed to initialize"),
    ("echo 'Failed to initialize NVML: Unknown Error' >&2; exit 255", "(code 255): Failed to initialize NVML"),
    ("", "it names no GPU"),
    (f"{ONE}; echo 'Unable to determine the device handle for GPU1: 0000:19:00.0: GPU is lost.'", "misses a GPU: Una"),
    ("exec sleep 600", "does not answer within 60 seconds"),
]  # fmt: skip


@pytest.fixture(scope="module")
def impatient(prepared: Machine) -> None:
    """Let a minute's wait for another process be short."""
    hangs = 'grep -q "^exec sleep" "${0%/*}/nvidia-smi"'
    wait = f'{hangs} && limit=0.2 || limit=600; shift; exec /usr/bin/timeout $limit "$@"'
    put(prepared[0], "timeout", f'if [ "$2" = tail ]; then {wait}; fi\nshift 2\nexec "$@"')


@pytest.fixture
def bare(tmp_path: Path) -> Runner:
    """A runner with an empty workspace and a docker."""
    runner = Runner(tmp_path)
    FakeDocker(runner)
    return runner


@pytest.mark.parametrize(("script", "words"), SEES)
def test_all_gpus_are_seen_however_long_their_list_is(machine: Machine, script: str, words: str) -> None:
    put(machine[0], "nvidia-smi", script)
    done = machine[0].evaluate(ACCGATE_GPUS="auto")
    assert after(machine[1].runs[-1], "--gpus") == ["all"]
    assert words in done.text
    assert bool(words) == ("::notice" in done.text)


@pytest.mark.parametrize(("script", "words"), FAILS)
def test_a_driver_that_fails_ends_the_job_with_its_words(
    machine: Machine, impatient: None, script: str, words: str
) -> None:
    put(machine[0], "nvidia-smi", script)
    done = machine[0].evaluate(ACCGATE_GPUS="auto")
    assert (done.code, machine[0].exit_code, machine[1].runs) == (3, 3, [])
    assert words in done.text
    assert "gpus: none" in done.text


NVIDIA, CUDA = "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
GIVEN: list[tuple[str, dict[str, str], list[str] | None]] = [
    ("auto", {NVIDIA: "nvidia.com/gpu=0,nvidia.com/gpu=1:0"}, ["nvidia.com/gpu=0", "nvidia.com/gpu=1:0"]),
    ("nvidia.com/gpu=all", {NVIDIA: "void"}, ["nvidia.com/gpu=all"]),
    ("auto", {NVIDIA: "runtime.nvidia.com/gpu=0,runtime.nvidia.com/gpu=1"}, ['"device=0,1"']),
    ("auto", {NVIDIA: "runtime.nvidia.com/gpu=void"}, []),
    ("auto", {NVIDIA: "MIG-5a-b, GPU-6c"}, ['"device=MIG-5a-b,GPU-6c"']),
    ("auto", {NVIDIA: "/var/run/nvidia-container-devices"}, None),
    ("auto", {NVIDIA: "all", CUDA: "2,3"}, ['"device=2,3"']),
    ("auto", {CUDA: "1,-1,2"}, ['"device=1"']),
    ("auto", {CUDA: "NoDevFiles"}, []),
    ("None", {NVIDIA: "all"}, []),
    ("--privileged=1", {}, None),
]


@pytest.mark.parametrize(("gpus", "variables", "values"), GIVEN)
def test_the_gpus_that_a_runner_was_given_are_the_containers(
    machine: Machine, gpus: str, variables: dict[str, str], values: list[str] | None
) -> None:
    done = machine[0].evaluate(ACCGATE_GPUS=gpus, **variables)
    assert done.code == (2 if values is None else 0)
    options = [value for argv in machine[1].runs for name in ("--gpus", "--device") for value in after(argv, name)]
    assert options == (values or [])
    assert values is not None or f"{NVIDIA} on this runner is '/" in done.text or f"gpus is '{gpus}'" in done.text


def test_a_variable_that_the_container_gets_does_not_choose_its_gpus(machine: Machine) -> None:
    put(machine[0], "nvidia-smi", ONE)
    argv = again(machine, ACCGATE_GPUS="auto", ACCGATE_ENV=f"HF_TOKEN, {CUDA}", CUDA_VISIBLE_DEVICES="1")
    assert after(argv, "--gpus") == ["all"]


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="this machine has GPUs")
def test_no_gpu_and_no_cache_are_told_where_vllm_wants_them(machine: Machine, tmp_path: Path) -> None:
    runner, _ = machine
    (runner.bin / "nvidia-smi").unlink(missing_ok=True)
    config = runner.work / "head/accuracy.toml"
    kept = config.read_text()
    for text, told in (('# engine = "vllm"\n', False), ('model = "org/no-vllm-here"\n', False),
                       ('serve = ["vllm", "serve", "m"]\n', True), ('  "-m", "vllm.entrypoints.openai"\n', True),
                       ("engine = 'vllm'\n", True)):  # fmt: skip
        config.write_text(text)
        done = runner.evaluate(ACCGATE_GPUS="auto")
        assert ("no nvidia-smi, so the container gets no GPU" in done.text) == told, text
        assert ("Set the input cache-dir" in done.text) == told, text
        (runner.work / "exit-code").unlink()
    assert "cache-dir" not in runner.evaluate(ACCGATE_GPUS="none", ACCGATE_CACHE_DIR=str(tmp_path)).text
    config.write_text(kept)


def test_runners_of_one_machine_share_its_memory(machine: Machine, tmp_path: Path) -> None:
    listener = tmp_path / "Runner.Listener"
    listener.write_text("#!/bin/sh\nread line\n")
    listener.chmod(0o755)
    (alone,) = after(again(machine), "--memory")
    (machine[0].work / "exit-code").unlink()
    others = [subprocess.Popen([str(listener)], stdin=subprocess.PIPE) for _ in range(2)]
    (shared,) = after(again(machine), "--memory")
    for other in others:
        other.communicate(b"")
    assert int(shared[:-1]) <= int(alone[:-1]) // 2


def test_a_cache_with_another_users_folders_is_told(machine: Machine, tmp_path: Path) -> None:
    put(machine[0], "find", f"echo {tmp_path}")
    done = machine[0].evaluate(ACCGATE_CACHE_DIR=str(tmp_path))
    (machine[0].bin / "find").unlink()
    assert "give each user a cache-dir of its own" in done.text


NO_DRIVER = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]]'


@pytest.mark.parametrize(
    ("code", "says", "words"),
    [
        (125, NO_DRIVER, "NVIDIA's Container Toolkit"), (126, "", "docker could not start it"),
        (132, "", "built for a newer one"), (135, "", "raise shm-size"), (137, "", "raise memory"),
    ],
)  # fmt: skip
def test_each_way_a_container_dies_is_named(machine: Machine, code: int, says: str, words: str) -> None:
    assert words in machine[0].evaluate(FAKE_CODE=str(code), FAKE_SAYS=says).text


def test_paths_of_the_container_are_those_of_the_repository(machine: Machine) -> None:
    said = "/accgate/head/sub/accuracy.toml:3: none in /accgate/head/references; accgate report /accgate/out/r.json"
    text = machine[0].evaluate(FAKE_SAYS=said).text
    assert "\nsub/accuracy.toml:3: none in references; accgate report r.json\n" in text


DENIED = "cat: /accgate/probe/host: Permission denied"
PROBES = [
    ('exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown', "", "has no /bin/sh"),
    ("crun: executable file `/bin/sh` not found in $PATH: No such file or directory", "", "has no /bin/sh"),
    (DENIED, "[name=seccomp,profile=default name=userns]", "userns-remap"),
    (DENIED, "[name=selinux]", "chcon -Rt container_file_t"),
    (DENIED, "Emulate Docker CLI using podman", "podman stands in"),
    ("cat: /accgate/probe/host: No such file or directory", "[name=selinux]", "Kubernetes runners"),
]


@pytest.mark.parametrize(("words", "engine", "told"), PROBES)
def test_why_a_container_does_not_start_or_sees_no_files_has_its_own_sentence(
    bare: Runner, words: str, engine: str, told: str
) -> None:
    done = bare.step("prepare.sh", FAKE_PROBE=words, FAKE_INFO=engine)
    assert done.code == 3
    assert told in done.text


@pytest.mark.parametrize(
    ("words", "told"),
    [("no matching manifest for linux/arm64/v8 in the manifest list entries", "another processor"),
     ("manifest unknown", "docker said: manifest unknown")],
)  # fmt: skip
def test_an_image_that_cannot_be_pulled_says_why(bare: Runner, words: str, told: str) -> None:
    done = bare.step("prepare.sh", FAKE_PULL=words)
    assert done.code == 3
    assert told in done.text


def test_a_folder_that_cannot_be_written_is_no_regression(bare: Runner) -> None:
    for name in ("RUNNER_TEMP", "GITHUB_OUTPUT"):
        done = bare.step("prepare.sh", **{name: "/proc/nowhere"})
        assert done.code == 3
        assert "::error title=accgate::" in done.text


def test_a_full_disk_during_the_evaluation_ends_with_3(machine: Machine) -> None:
    runner, _ = machine
    (runner.work / "log.txt").symlink_to("/dev/full")
    (runner.work / "exit-code").symlink_to("nowhere/at-all")
    done = runner.evaluate(FAKE_SAYS="words of the engine")
    (runner.work / "exit-code").unlink()
    (runner.work / "log.txt").unlink()
    assert done.code == 3
    assert "words of the engine" in done.text
    assert "::error title=accgate::the script evaluate.sh broke off" in done.text


def test_a_full_disk_does_not_keep_the_check_open(machine: Machine) -> None:
    runner, docker = machine
    (runner.work / "exit-code").touch()  # as a full disk leaves it
    put(runner, "tail", '[ ! -d "$ACCGATE_WORK/workspace" ]')
    moved = runner.work.parent / "kept"
    shutil.copytree(runner.work / "workspace", moved, symlinks=True)
    done = runner.publish()
    (runner.bin / "tail").unlink()
    for name in ("cache", "home"):
        (runner.work / name).mkdir()
    moved.rename(runner.work / "workspace")
    assert done.code == 0
    assert after(docker.runs[-1], "--exit-code") == ["3"]


def test_results_of_another_user_are_not_read_and_the_check_is_closed(machine: Machine) -> None:
    runner, docker = machine
    (runner.work / "exit-code").write_text("0")
    put(runner, "chmod", "exit 1")
    done = runner.publish()
    (runner.bin / "chmod").unlink()
    (runner.work / "out-of-another").rename(runner.folder / "moved")
    assert "where docker-options set another user" in done.text
    assert after(docker.runs[-1], "--exit-code") == ["3"]
    assert list((runner.work / "out").glob("*.json")) == []


@pytest.mark.parametrize("code", [125, 137])
def test_a_publishing_container_that_dies_is_followed_by_one_that_closes_the_check(machine: Machine, code: int) -> None:
    runner, docker = machine
    (runner.work / "exit-code").write_text("0")
    done = runner.publish(FAKE_CODE=str(code))
    assert done.code == 3
    first, second = docker.runs
    assert (after(first, "--exit-code"), after(second, "--exit-code")) == (["0"], ["3"])
    (out,) = [mount for mount in after(second, "--mount") if "target=/accgate/out" in mount]
    assert f"source={runner.work}/empty" in out
    assert first[first.index("--log") :] == second[second.index("--log") :]
    assert f"ended with exit code {code}" in done.text


def test_a_check_that_docker_cannot_open_is_no_verdict(machine: Machine) -> None:
    done = machine[0].step("start.sh", ACCGATE_TOKEN="t", ACCGATE_CHECK_NAME="accgate", FAKE_CODE="125")
    assert done.code == 3
    assert "::error title=accgate::the container that publishes ended with exit code 125" in done.text


@pytest.mark.parametrize("name", ['a"b', "a\nb", "a,b"])
def test_a_folder_that_docker_cannot_mount_is_refused(bare: Runner, name: str) -> None:
    (bare.folder / name).mkdir()
    done = bare.step("prepare.sh", RUNNER_TEMP=str(bare.folder / name))
    assert done.code == 2
    assert "docker's --mount cannot take" in done.text


def test_a_script_that_is_killed_leaves_no_container(machine: Machine) -> None:
    runner, docker = machine
    noted = runner.bin / "calls"
    runner.step(
        "evaluate.sh", send=signal.SIGKILL, when=lambda: noted.exists() and "(['run'" in noted.read_text(),
        ACCGATE_GPUS="none", FAKE_SLEEP="600",
    )  # fmt: skip
    for _ in range(600):
        if any(argv[:2] == ["rm", "--force"] for argv, _ in docker.calls):
            return
        time.sleep(0.1)
    pytest.fail("the container runs on")


COPIES = [
    ("./lock: File removed before we read it", 1, "c", "::notice", "models get them as they were"),
    ("./cache/x: Cannot open: Permission denied", 2, "c", "::error", "give them to that user or remove them"),
    ("./big: Wrote only 4096 of 10240 bytes: No space left on device", 2, "x", "::error", "disk is full"),
    ("./a: Read error at byte 0: Input/output error", 2, "c", "::error", "Input/output error"),
]


@pytest.mark.parametrize(("said", "code", "side", "kind", "words"), COPIES)
def test_a_workspace_that_moves_is_copied_and_a_fault_is_named(
    runner: Runner, docker: FakeDocker, said: str, code: int, side: str, kind: str, words: str
) -> None:
    fault = f"case $* in *-{side}f*) echo 'tar: {said}' >&2; exit {code};; esac"
    put(runner, "tar", f'{shutil.which("tar")} "$@"\n{fault}')
    done = runner.prepare()
    assert done.code == 0
    (line,) = [line for line in done.text.splitlines() if line.startswith(kind)]
    assert words in line
    assert (runner.work / "exit-code").exists() == (kind == "::error")


@each("said", ["fatal: write error: No space left on device", "error: unable to write file big"])
def test_a_commit_that_a_full_disk_does_not_take_says_so_and_makes_room(
    runner: Runner, docker: FakeDocker, said: str
) -> None:
    fault = f'case $* in *checkout-index*) echo "{said}" >&2; exit 128;; esac'
    put(runner, "git", f'{fault}\nexec {shutil.which("git")} "$@"')
    done = runner.prepare()
    assert (done.code, runner.exit_code) == (0, 3)
    assert "the runner's disk is full" in done.text
    assert not (runner.work / "workspace").exists()


def test_a_repository_with_sha_256_is_laid_out(bare: Runner) -> None:
    git(bare.workspace, "init", "--quiet", "--object-format=sha256")
    (bare.workspace / "accuracy.toml").write_text("head\n")
    base = commit(bare.workspace, "head")
    assert bare.prepare(ACCGATE_BASE_SHA=base).code == 0
    assert len((bare.work / "commit").read_text()) == 64
    assert (bare.work / "base/accuracy.toml").read_text() == "head\n"
