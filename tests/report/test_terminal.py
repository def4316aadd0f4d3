"""What the terminal shows: the result, and progress in a terminal and in a log."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console
from scipy.stats import binom

from accgate import compare
from accgate.errors import SEVERITY, exit_code, worst
from accgate.records.file import Record
from accgate.report.ending import guard_ending, print_result
from accgate.report.flips import Flip
from accgate.report.progress import ProgressBar
from accgate.report.terminal import print_explanation
from accgate.report.words import explanation_of
from accgate.result import Result
from accgate.verdict import CandidateSummary, Drift, ReferenceSummary, Verdict
from accgate.verdict.advice import ALONE, advice
from tests.gates import RIGHT, right_but
from tests.report.kinds import kinds
from tests.report.runs import groups_of, result_of, verdict_of


def shown(*verdicts: Verdict, flips: Any = None, width: int = 140, **keys: Any) -> str:
    """What is printed for a run of these checks."""
    names = [verdict.verdict for verdict in verdicts]
    console = Console(file=io.StringIO(), width=width, **keys)
    print_result(console, Result(worst(names), exit_code(names), verdicts), flips)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


REGRESSION = replace(compare([RIGHT] * 100, right_but(20, 100)), model="m", task="t")
NO_FIGURES = Verdict("m", "t", "error", None, 9, ReferenceSummary(None, None), CandidateSummary(None, 9), 0.05, 0.2)
FLIPS = [Flip(f"id{i}", f"question {i}", "right", "before", f"now {i}") for i in range(7)]


def test_a_pass_is_a_headline_a_sentence_and_its_figures() -> None:
    verdict = replace(compare([RIGHT, 0.0] * 50, [RIGHT, 0.0] * 50), model="m", task="t", reasons=("a note",))
    text = shown(verdict)
    assert text.lstrip().startswith("✓ Passed: t stayed at 50.0, no drop\n")
    assert binom.sf(3, 100, 0.0545) == pytest.approx(0.8, abs=2e-3)  # four losses and no gain are the least that fail
    assert "This run sees a drop of 5.5 points with 80% probability." in " ".join(text.split())
    assert "Figures  gamma 47.0, theta 5.5, p 1.0000, n 100\n  Answers  0 got worse, 0 better\n" in text
    assert "- a note" in text
    assert text.endswith("Exit code 0.\n")


def test_groups_are_listed_where_one_stands_out_five_of_them_within_80_columns() -> None:
    names = ["high_school_government_and_politics_of_the_world", *(f"subject_{i}" for i in range(56))]
    text = shown(verdict_of(groups=groups_of(*names)), width=80)
    assert "1 of 57 groups stands out" in " ".join(text.split())
    rows = [line for line in text.splitlines() if line.startswith(("high_school", "subject_"))]
    assert len(rows) == 5
    assert max(map(len, rows)) <= 80
    assert " and 52 more, which `accgate report --check MODEL/TASK` lists" in text
    quiet = shown(verdict_of(groups=groups_of(*names, standing_out=0)))
    assert "subject_1" not in quiet


def test_a_regression_shows_three_answers_and_counts_them() -> None:
    text = shown(REGRESSION, flips={("m", "t"): FLIPS})
    assert "Regression: t fell 20.0 points, 100.0 to 80.0" in text
    assert "Answers that got worse, 3 of 20" in text
    assert re.search(r"question 0\s+before\s+now 0", text)
    assert "question 2" in text
    assert "question 3" not in text
    assert text.endswith("Exit code 1.\n")


def test_every_kind_of_run_ends_with_its_exit_code_within_80_and_60_columns_in_any_characters() -> None:
    for name, kind in kinds().items():
        if kind.result is None:
            continue
        for width, encoding in ((80, "utf-8"), (60, "utf-8"), (80, "ascii"), (60, "latin-1")):
            file = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
            print_result(Console(file=file, width=width), kind.result, kind.flips, report="out/report.html")
            file.flush()
            text = file.buffer.getvalue().decode(encoding)
            lines = text.splitlines()
            assert max(map(len, lines)) <= width, (name, width)
            assert text.rstrip().endswith(f"xit code {kind.result.exit_code}."), name
            assert all(line == line.rstrip() for line in lines)
            if encoding == "ascii" and name == "mixed":
                assert text.lstrip().startswith("x Regression: mmlu_pro fell 3.6 points")
                assert "auto -> fp8_e4m3" in text


def test_the_plot_puts_each_check_where_its_figures_are() -> None:
    text = shown(*kinds()["mixed"].result.checks, width=80)  # type: ignore[union-attr]
    rows = {line.split()[1]: line for line in text.splitlines() if line.startswith(("  ✕", "  ?"))}
    zero = next(line.index("┊") for line in text.splitlines() if "┊" in line)
    regression = rows["mmlu_pro"]
    assert regression.index("├") < regression.index("◆") < regression.index("▕") < regression.index("┊") == zero
    assert regression.split()[-4:] == ["−3.6", "−6.0", "to", "−1.3"]
    assert rows["humaneval"].index("├") < rows["humaneval"].index("○") < zero < rows["humaneval"].index("┤")


def test_a_gate_that_was_loosened_ends_with_who_must_do_what() -> None:
    kind = kinds()["loosened"]
    assert kind.guard is not None
    lines = guard_ending(kind.result, kind.guard, "4e1c0aa" * 5, 4, commands=False)
    assert lines[0] == "▽ Waiting for approval: this pull request loosens the gate"
    assert "    ▽ loosens    tasks.gsm8k.theta           3.0 → 6.0" in lines
    assert any("approves commit 4e1c0aa in a review; then run the job again" in line for line in lines)
    assert lines[-1] == "  Exit code 4."
    failed = kinds()["failed"].result
    assert guard_ending(failed, kind.guard, "4e1c0aa", 1, commands=False) == []


@pytest.mark.parametrize("flips", [None, {}, {("m", "t"): [Flip("id0", None, None, None, None)]}])
def test_without_prompts_there_is_no_table_of_flips(flips: Any) -> None:
    assert "Answers that got worse" not in shown(REGRESSION, flips=flips)


def test_an_error_says_its_reasons_once() -> None:
    text = shown(replace(NO_FIGURES, reasons=("the server is down",)))
    assert "! Error: t could not be decided" in text
    assert text.lower().count("the server is down") == 1
    step = "go on with accgate run --resume, other options as before"  # the run may have had --out
    assert step in " ".join(text.split())


def test_checks_of_several_models_with_one_reason_name_the_model_and_not_the_reason_again() -> None:
    down = replace(NO_FIGURES, reasons=("no answer from the server; is it up?",))
    text = shown(down, replace(down, model="other"), replace(down, model="third", reasons=("a full disk",)))
    assert "t on other  for the same reason." in text
    assert "t on third  a full disk." in text
    assert text.lower().count("is it up?") == 1
    assert "?." not in shown(down, replace(down, reasons=("is the other one up?",), model="other"))


def test_a_missing_reference_says_how_to_record_one() -> None:
    text = shown(replace(NO_FIGURES, verdict="no-reference", reasons=("record one with `accgate record`",)))
    assert "○ No reference: there is nothing to compare t with" in text
    assert "ecord one with `accgate record`" in text


def test_markup_and_control_characters_are_text() -> None:
    verdict = replace(REGRESSION, model="[red]m[/red]", task="[/]", reasons=("[bold]\x1b[2J\u202e",),
                      settings_changed=("[i]x: 1\x1b[1m",))  # fmt: skip
    flip = Flip("id", "[link=http://x]prompt", "\x1b[31mright", "[/]", "\x07now")
    text = shown(verdict, flips={(verdict.model, "[/]"): [flip]}, width=200)
    for part in (
        "[red]m[/red]",
        "[bold]\ufffd[2J\ufffd",
        "[i]x: 1\ufffd[1m",
        "[link=http://x]prompt",
        "\ufffdnow",
    ):
        assert part in text
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)


@pytest.mark.parametrize(("name", "colour"), [("pass", "32"), ("regression", "31"), ("inconclusive", "33")])
def test_a_terminal_shows_the_verdict_in_colour(name: Any, colour: str) -> None:
    text = shown(replace(REGRESSION, verdict=name), force_terminal=True, color_system="standard")
    assert re.search(rf"\x1b\[(1;)?{colour}m", text)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_narrow_terminal_wraps_and_does_not_fail(width: int) -> None:
    text = shown(REGRESSION, flips={("m", "t"): FLIPS}, width=width)
    assert max(map(len, text.splitlines())) <= width


def record_of(score: float | None) -> Record:
    return Record("id", 0, score, "", None, None, None, None, None, 0.0, None if score is not None else "failed")


def observed(console: Console, kept: list[Record], finished: list[Record]) -> str:
    bar = ProgressBar(console)
    for task in ("first", "second"):
        bar.started("m", task, len(kept) + len(finished), kept)
        for record in finished:
            bar.finished(record)
        bar.ended()
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_log_has_a_line_at_the_start_and_one_at_the_end_of_each_check() -> None:
    finished = [record_of(RIGHT), record_of(0.0), record_of(None)]
    text = observed(Console(file=io.StringIO(), width=120), [record_of(RIGHT)] * 1200, finished)
    assert text.splitlines() == [
        "m / first: 1,203 samples, 1,200 of them already recorded", "m / first: mean 99.92, 1 failed",
        "m / second: 1,203 samples, 1,200 of them already recorded", "m / second: mean 99.92, 1 failed",
    ]  # fmt: skip


def test_a_log_without_scores_has_no_mean() -> None:
    text = observed(Console(file=io.StringIO(), width=120), [], [])
    assert text.splitlines()[:2] == ["m / first: 0 samples", "m / first: mean -"]


def test_a_terminal_has_a_bar_with_count_mean_and_failures() -> None:
    console = Console(file=io.StringIO(), width=140, force_terminal=True, force_interactive=True)
    text = observed(console, [record_of(RIGHT)], [record_of(0.0), record_of(None), record_of(RIGHT)])
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    last = plain.rstrip().splitlines()[-1]
    assert "m / second" in last
    assert "4/4" in last
    assert "mean 66.67" in last
    assert "1 failed" in last
    assert "m / first" in plain
    assert text.endswith(("\n", "\x1b[?25h"))
    assert text.rstrip("\n").rfind("\x1b[?25h") > text.rfind("\x1b[?25l")  # the cursor is back


def test_names_are_not_markup_in_the_bar() -> None:
    console = Console(file=io.StringIO(), width=140, force_terminal=True, force_interactive=True)
    bar = ProgressBar(console)
    bar.started("[red]m", "[/]", 1, [])
    bar.ended()
    assert isinstance(console.file, io.StringIO)
    assert "[red]m / [/]" in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", console.file.getvalue())


# An explanation


def explained(verdict: Verdict, width: int = 100, **keys: Any) -> str:
    console = Console(file=io.StringIO(), width=width, **keys)
    print_explanation(console, explanation_of(result_of(verdict), verdict))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("verdict", SEVERITY)
@pytest.mark.parametrize("width", [40, 60, 120])
def test_it_fits_the_terminal_and_ends_with_what_to_do(verdict: Any, width: int) -> None:
    check = verdict_of(verdict, drift=Drift("2026-01-02", 5, -3.0, 0.4, 0.05, detected=False))
    text = explained(check, width)
    assert max(map(len, text.splitlines())) <= width
    assert all(line == line.rstrip() for line in text.splitlines())
    assert " ".join(text.split()).endswith(advice(check, ALONE))


def test_control_characters_and_markup_of_reasons_are_text() -> None:
    text = explained(verdict_of(reasons=("[red]x\x1b[2J",), model="[b]m"))
    assert "[red]x\ufffd[2J" in text
    assert "[b]m / t: pass" in text


def test_the_title_has_the_verdicts_colour_in_a_terminal() -> None:
    text = explained(verdict_of("regression"), force_terminal=True, color_system="standard")
    assert re.match("\x1b\\[1;31m", text)
