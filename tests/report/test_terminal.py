"""What the terminal shows of a result, and of the explanation of a check."""

import io
import re
from dataclasses import replace
from itertools import product
from typing import Any

from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from accgate import compare
from accgate.cli.streams import plain_signs
from accgate.errors import SEVERITY
from accgate.report.ending import guard_ending, print_result
from accgate.report.flips import Flip
from accgate.report.terminal import print_explanation
from accgate.report.words import explanation_of
from accgate.verdict import CandidateSummary, Drift, ReferenceSummary, Verdict
from accgate.verdict.advice import ALONE, advice
from tests.report.kinds import kinds, result_named
from tests.report.runs import groups_of, printed, result_of, verdict_of
from tests.support.cases import each
from tests.support.gates import RIGHT, right_but


def shown(*verdicts: Verdict, flips: Any = None, width: int = 140, **keys: Any) -> str:
    """What is printed for a run of these checks."""
    return printed(lambda console: print_result(console, result_of(*verdicts), flips), width, **keys)


REGRESSION = replace(compare([RIGHT] * 100, right_but(20, 100)), model="m", task="t")
NO_FIGURES = Verdict("m", "t", "error", None, 9, ReferenceSummary(None, None), CandidateSummary(None, 9), 0.05, 0.2)
FLIPS = [Flip(f"id{i}", f"question {i}", "right", "before", f"now {i}") for i in range(7)]


def test_what_is_printed_of_a_run(messages: SnapshotAssertion) -> None:
    same = replace(compare([RIGHT, 0.0] * 50, [RIGHT, 0.0] * 50), model="m", task="t", reasons=("a note",))
    down = replace(NO_FIGURES, reasons=("no answer from the server; is it up?",))
    several = down, replace(down, model="other"), replace(down, model="third", reasons=("is the disk full?",))
    names = ["high_school_government_and_politics_of_the_world", *(f"subject_{i}" for i in range(56))]
    assert {
        "a pass": shown(same),
        "groups": shown(verdict_of(groups=groups_of(*names)), width=80),
        "no group stands out": shown(verdict_of(groups=groups_of(*names, standing_out=0))),
        "answers that got worse": shown(REGRESSION, flips={("m", "t"): FLIPS}),
        "a plot": shown(*result_named("mixed").checks, width=80),
        "undecided": shown(down),
        "several undecided": shown(*several),
    } == messages


def test_answers_are_shown_only_where_their_texts_are_known_and_fit_a_narrow_terminal() -> None:
    for flips in (None, {}, {("m", "t"): [Flip("id0", None, None, None, None)]}):
        assert "Answers that got worse" not in shown(REGRESSION, flips=flips)
    assert max(map(len, shown(REGRESSION, flips={("m", "t"): FLIPS}, width=48).splitlines())) <= 48


def test_every_kind_of_run_ends_with_its_exit_code_within_80_and_60_columns_in_any_characters() -> None:
    runs = {name: kind for name, kind in kinds().items() if kind.result is not None}
    for (name, kind), (width, encoding) in product(runs.items(), ((60, "utf-8"), (80, "ascii"), (60, "latin-1"))):
        assert kind.result is not None
        file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors=plain_signs.__name__)
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


def test_a_gate_that_was_loosened_ends_with_who_must_do_what(messages: SnapshotAssertion) -> None:
    kind = kinds()["loosened"]
    assert kind.guard is not None
    assert "\n".join(guard_ending(kind.result, kind.guard, "4e1c0aa" * 5, 4, commands=False)) == messages
    assert guard_ending(result_named("failed"), kind.guard, "4e1c0aa", 1, commands=False) == []


def test_markup_and_control_characters_are_text() -> None:
    verdict = replace(REGRESSION, model="[red]m[/red]", task="[/]", reasons=("[bold]\x1b[2J\u202e",),
                      settings_changed=("[i]x: 1\x1b[1m",))  # fmt: skip
    flip = Flip("id", "[link=http://x]prompt", "\x1b[31mright", "[/]", "\x07now")
    text = shown(verdict, flips={(verdict.model, "[/]"): [flip]}, width=200)
    parts = "[red]m[/red]", "[bold]\ufffd[2J\ufffd", "[i]x: 1\ufffd[1m", "[link=http://x]prompt", "\ufffdnow"
    assert [part for part in parts if part not in text] == []
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)
    text = explained(verdict, 200)
    assert [part for part in parts[:3] if part not in text] == []


@each(("name", "colour"), [("pass", "32"), ("regression", "31"), ("inconclusive", "33")])
def test_a_terminal_shows_the_verdict_in_colour(name: Any, colour: str) -> None:
    verdict, terminal = replace(REGRESSION, verdict=name), {"force_terminal": True, "color_system": "standard"}
    assert re.search(rf"\x1b\[(1;)?{colour}m", shown(verdict, **terminal))
    explanation = explanation_of(result_of(verdict), verdict)
    assert printed(lambda console: print_explanation(console, explanation), **terminal).startswith(f"\x1b[1;{colour}m")


# An explanation


def explained(verdict: Verdict, width: int = 100) -> str:
    return printed(lambda console: print_explanation(console, explanation_of(result_of(verdict), verdict)), width)


@each("verdict", SEVERITY)
@each("width", [40, 120])
def test_it_fits_the_terminal_and_ends_with_what_to_do(verdict: Any, width: int) -> None:
    check = verdict_of(verdict, drift=Drift("2026-01-02", 5, -3.0, 0.4, 0.05, detected=False))
    text = explained(check, width)
    assert max(map(len, text.splitlines())) <= width
    assert all(line == line.rstrip() for line in text.splitlines())
    assert " ".join(text.split()).endswith(advice(check, ALONE))
