"""The first minutes: init at a terminal, the walk to a passing gate, explain, and completion."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate import load_config
from accgate.cli.main import main
from accgate.cli.starter.files import Answers
from accgate.cli.starter.questions import ask_answers
from accgate.tasks.definition import library_names
from tests.support.cases import each
from tests.support.gates import RIGHT, right_but, write_lines
from tests.support.launcher import Launched
from tests.support.loading import load_task

INTERRUPT = b"\x03"


def conversation(*typed: str, there: Sequence[str] = (), serving: Sequence[str] = ()) -> tuple[Answers, str]:
    """The answers of somebody who types these lines, and everything that was shown."""
    lines, shown = iter(typed), []

    def ask(question: str) -> str:
        shown.append(question)
        return next(lines)

    def missing(engine: str, model: str) -> str | None:
        return None if engine == "openai" or model in there else f"{engine} has no {model}"

    def serves(url: str) -> tuple[str, Sequence[str], str]:
        return url, serving, f"{url} was asked"

    def reads(name: str) -> str | None:
        return None if name in there else f"there is no {name}"

    answers = ask_answers(ask, shown.append, library_names(), missing=missing, reads=reads, serves=serves)
    assert next(lines, None) is None
    return answers, "\n".join(shown)


ENTER = ("",) * 6
USUAL = Answers(theta=4.0)


@each(
    ("typed", "keys", "answers", "shown"),
    [
        (ENTER, {}, USUAL, ("Engine [openai]: ", "Model [HuggingFaceTB/SmolLM2-135M-Instruct]: ")),
        (("llamacpp", "my.gguf", "gsm8k, mmlu", "2.5", "n"), {"there": ["my.gguf"]},
         Answers("llamacpp", "my.gguf", tasks=("gsm8k", "mmlu"), theta=2.5, workflow=False), ()),
        (("llamacpp", "gone.gguf", "here.gguf", "", "", ""), {"there": ["here.gguf"]},
         replace(USUAL, engine="llamacpp", model="here.gguf"), ("  llamacpp has no gone.gguf\n",)),
        (("", "localhost:8000", "http://localhost:8000/v1", *ENTER[:4]), {},
         replace(USUAL, base_url="http://localhost:8000/v1"), ("the address is 'localhost:8000', which does not",)),
        (ENTER, {"serving": ["qwen3-8b"]}, replace(USUAL, model="qwen3-8b"), ("v1 was asked", "[qwen3-8b]: ")),
        (("llamacpp", "m", "gone.jsonl", "own.jsonl", "n"), {"there": ["m", "own.jsonl"]},
         Answers("llamacpp", "m", tasks=(), data="own.jsonl", workflow=False), ("  there is no gone.jsonl\n",)),
    ],
)  # fmt: skip
def test_answers_are_those_typed_or_the_usual_ones_and_asked_for_again_until_they_can_be_used(
    typed: Sequence[str], keys: dict[str, Any], answers: Answers, shown: Sequence[str]
) -> None:
    found, screen = conversation(*typed, **keys)
    assert found == answers
    assert [text for text in shown if text not in screen] == []
    assert ("Address" in screen) == (answers.engine == "openai"), "only a server has one"
    assert ("Drop in points" in screen) == (not answers.data), "of ones own data none is asked for"


def test_a_question_comes_again_until_its_answer_can_be_used_and_a_question_mark_lists_what_can() -> None:
    answers, shown = conversation(
        "?", "vlm", "vllm", "a\x1bb", "m", "gsmk8, arithmetic", "?", ",", "gsm8k", "much", "0", "800", "2", "perhaps",
        "YES", there=["m"],
    )  # fmt: skip
    assert (answers.engine, answers.model, answers.tasks, answers.theta) == ("vllm", "m", ("gsm8k",), 2.0)
    assert answers.workflow
    for fault in (
        "there is no engine 'vlm'; did you mean 'vllm'?", "write printable characters only",
        "there is no task 'gsmk8'; did you mean 'gsm8k'?", "name a task",
        "give a number above 0 and up to 100, such as 2.5", "answer y or n", "zero_scrolls_quality",
    ):  # fmt: skip
        assert fault in shown
    assert shown.count("  give a number above 0 and up to 100\n") == 2
    for line in ("  llamacpp  llama.cpp in this process\n", "  openai    a server that speaks OpenAI's API\n"):
        assert shown.count(line) == 2


def at_a_terminal(arguments: Sequence[str], folder: Path, *typed: bytes, width: int = 80) -> tuple[int, str]:
    """Exit code and screen of a command in a pseudo-terminal; each of the keys is typed at a question of its own."""
    terminal, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    own = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with Launched(*arguments, cwd=folder, env=own, files=[other] * 3) as child:
        os.close(other)
        screen, keys, asked_before, key, silent = b"", list(typed), 0, b"", 0
        while silent < 60:
            if not select.select([terminal], [], [], 1)[0]:
                silent += 1
                if key == INTERRUPT:  # it may have come between the question and the wait for its answer
                    child.send_signal(signal.SIGINT)
                continue
            try:
                chunk = os.read(terminal, 65536)
            except OSError:  # Linux says so where the other end has gone
                break
            if not chunk:
                break
            screen += chunk
            if keys and screen.count(b"]: ") > asked_before:
                asked_before, key = screen.count(b"]: "), keys.pop(0)
                if key == INTERRUPT:
                    child.send_signal(signal.SIGINT)
                else:
                    os.write(terminal, key)
        os.close(terminal)
    return child.wait(), screen.decode().replace("\r\n", "\n")


def test_at_a_terminal_without_flags_it_asks(tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text('{"id": "a", "score": 100}\n')
    typed = (b"recorded\n", b"gone.jsonl\n", b"own.jsonl\n", b"?\n", b"json_extraction\n", b"3\n", b"n\n")
    code, screen = at_a_terminal(["init"], tmp_path, *typed)
    assert code == 0, screen
    assert "there is no file 'gone.jsonl' in .; give the path of a JSONL or CSV file with id and score" in screen
    assert "Engine [openai]: " in screen
    assert "valid: accuracy.toml" in screen
    config = load_config(tmp_path / "accuracy.toml")
    assert {name: task.theta for name, task in config.tasks.items()} == {"json_extraction": 3.0}
    assert not (tmp_path / ".github").exists()


def test_at_a_terminal_a_flag_is_answer_enough(tmp_path: Path) -> None:
    code, screen = at_a_terminal(["init", "--task", "arithmetic"], tmp_path)
    assert (code, "Engine" in screen) == (0, False)
    config = (tmp_path / "accuracy.toml").read_bytes()
    code, screen = at_a_terminal(["init"], tmp_path)  # nor is anything asked where there is a config
    assert (code, "Engine" in screen) == (2, False)
    assert "accuracy.toml and " in screen
    assert (tmp_path / "accuracy.toml").read_bytes() == config


@pytest.mark.parametrize(("keys", "code"), [(b"\x04", 2), (INTERRUPT, 130)])
def test_who_leaves_the_questions_has_nothing_written(tmp_path: Path, keys: bytes, code: int) -> None:
    ended, screen = at_a_terminal(["init"], tmp_path, b"\n", keys)
    assert re.search("\naccgate: .*; nothing was written\n$", re.sub("\x1b\\[[0-9]+m", "", screen))
    assert "Traceback" not in screen
    assert ended == code
    assert list(tmp_path.iterdir()) == []


def test_a_newcomers_walk_from_an_empty_repository_to_a_gate_that_passes_and_fails(folder: Path, capsys, ends) -> None:
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    samples = load_task("arithmetic", seed=0, count=601).samples[:601]

    def answer(wrong: int) -> None:
        rows = [{"id": s.id, "score": v} for s, v in zip(samples, right_but(wrong, 601), strict=True)]
        write_lines(folder / "scores.jsonl", rows)

    answer(wrong=9)
    assert "valid: accuracy.toml" in ends(0, "init", "--engine", "recorded")
    assert main(["validate"]) == 0
    assert "at most 601 samples see a drop of 4.0 points" in ends(0, "plan")
    assert "accgate record" in ends(4, "run")
    assert main(["record"]) == 0
    assert "✓ Passed: " in ends(0, "run")
    assert main(["report", "--check", "arithmetic"]) == 0
    assert capsys.readouterr().out.startswith("model / arithmetic: pass\n")
    answer(wrong=200)
    assert main(["run"]) == 1
    capsys.readouterr()
    assert main(["report", "--check", "arithmetic"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("model / arithmetic: regression The drop is larger than chance explains.")
    assert "of 601 samples were used: the loss was clear" in told


def test_report_explains_a_check_and_refuses_what_is_not_there(folder: Path, capsys, ends) -> None:
    write_lines(folder / "a.jsonl", [{"id": str(i), "score": RIGHT} for i in range(50)])
    assert main(["compare", "a.jsonl", "a.jsonl", "--json"]) == 0
    (folder / "verdict.json").write_text(capsys.readouterr().out)
    assert main(["report", "verdict.json", "--check", "candidate"]) == 0
    assert capsys.readouterr().out.startswith("candidate against reference: pass\n")
    assert "accgate-out/accgate.json: there is no result" in ends(2, "report", "--check", "gsm8k")
    assert "no check 'gsm8k'" in ends(2, "report", "verdict.json", "--check", "gsm8k")


@each("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_parses_there(shell: str, capsys, tmp_path: Path) -> None:
    assert main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    assert "questionnaire" in script.read_text()
    if shell == "bash":  # where a file or a folder is meant
        for place in ("validate_pos_0_COMPGEN=_shtab_compgen_files", "run___out_COMPGEN=_shtab_compgen_dirs"):
            assert f"_shtab_accgate_{place}" in script.read_text()
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
