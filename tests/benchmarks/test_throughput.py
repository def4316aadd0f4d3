"""The benchmark of throughput beside a server runs from anywhere, on the same prompts for both sides."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.overhead import instant_server

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "throughput.py"


def ended(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The script in a process of its own, which does not find the checkout by its working folder."""
    command = [sys.executable, "-I", str(SCRIPT), "--engine", "openai", "--model", "instant", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_a_server_is_asked_by_both_sides_for_the_same_prompts(tmp_path: Path) -> None:
    with instant_server() as server:
        small = ["--chats", "30", "--pairs", "2", "--connections", "4", "--shots", "1", "--json"]
        done = ended(tmp_path, "--base-url", server.url, *small)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["beside"] == "bare client"
    assert len(figures["ratios"]) == 2
    assert figures["ratio"] == pytest.approx(sum(figures["ratios"]) / 2)
    for side in ("accgate", "engine"):
        samples, prompts = (figures[f"{side}_{unit}_per_s"] for unit in ("samples", "prompt_tokens"))
        assert prompts == pytest.approx(8 * samples)  # the server counts 8 tokens for each prompt


def test_a_server_that_is_to_be_started_is_started_and_one_that_does_not_start_is_named(tmp_path: Path) -> None:
    done = ended(tmp_path, "--serve", "no-such-command --port {port}", "--chats", "1")
    assert done.returncode == 2
    assert "no-such-command" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_of_a_server_and_a_command_must_be_given(tmp_path: Path) -> None:
    for arguments in ([], ["--serve", "--base-url", "http://127.0.0.1:9/v1"]):
        done = ended(tmp_path, *arguments)
        assert done.returncode == 2
        assert "needs one of --base-url and --serve" in done.stderr
