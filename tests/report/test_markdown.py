"""The Markdown report: the same shape and figures whatever stands in names, prompts and replies."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from accgate import compare
from accgate.cli.main import main
from accgate.report.flips import Flip
from accgate.report.markdown import cell, code, render_markdown
from accgate.report.story import SIGNS
from accgate.text import p_text
from tests.report.hostile import assert_inert, assert_no_command
from tests.report.rendered import Page, page_of
from tests.report.runs import groups_of, result_of, verdict_of
from tests.support.gates import RIGHT, Project, right_but, write_lines


def rendered(text: str, *, html: bool = True) -> Page:
    """A report with this text wherever content can stand."""
    flips = [Flip(text or "id", text, text, text, text), Flip("b", None, None, None, None)]
    verdict = verdict_of(
        "regression", model=text, task=text, flips=(text or "id", "b", "c"), reasons=(text, "second"),
        settings_changed=(text, text), groups=groups_of(text, "plain"),
    )  # fmt: skip
    undecided = verdict_of("error", model="m", task=text, p_value=None, reasons=(text,))
    result = result_of(verdict, undecided)
    markdown = render_markdown(result, {(text, text): flips})
    assert_no_command(markdown)
    return page_of(markdown, html=html)


# The columns of each row of each table: checks, answers, figures, groups, flips.
SHAPE = [[5] * 3, [3] * 2, [8] * 3, [7] * 3, [5] * 3]


@given(text=st.text(max_size=60) | st.text(alphabet="@#<>|`\\[]()!&;:/. \nw1a-*_~$", max_size=30))
def test_any_content_shows_as_text_in_a_table_of_the_same_shape(text: str) -> None:
    assume(text not in ("m", "t"))  # the name of the other check: its flips would stand under both
    page = rendered(text)
    assert_inert(page)
    assert [[len(row) for row in table] for table in page.tables] == SHAPE
    assert [row[0][0] for row in page.tables[0][1:]] == ["✕", "!"]
    assert rendered(text, html=False).tables == page.tables


def test_every_group_has_a_row_in_the_report(messages: SnapshotAssertion) -> None:
    labels, before = [f"s{i % 9}" for i in range(900)], [100.0] * 900
    now = [0.0 if label == "s4" and i % 2 else 100.0 for i, label in enumerate(labels)]
    verdict = compare(before, now, groups=labels)
    page = page_of(render_markdown(result_of(verdict)))
    assert [", ".join(row) for row in page.tables[-1]] == messages
    assert "1 of 9 groups stands out: s4 fell by 50.0 points" in page.text
    assert "All 9 intervals hold together" in page.text


@given(text=st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=80))
def test_printable_text_is_read_as_it_was_written(text: str) -> None:
    page = page_of(f"| a | b |\n|---|---|\n| x{cell(text)}x | {code(text)} |\n")
    ((_, (plain, in_code)),) = page.tables
    assert plain.replace("\u200b", "") == f"x{' '.join(text.split())}x"
    assert in_code.replace("\u200b", "") == (" ".join(text.split()) or "(empty)")


def test_texts_side_by_side_do_not_join_to_something_active() -> None:
    for first, second in ((":", "+1:"), ("http:", "//evil.example"), ("@", "team"), ("#", "12")):
        assert_inert(page_of(f"x {cell(first)}{cell(second)} y"))


def test_a_letter_keeps_a_few_combining_marks() -> None:
    assert cell("e" + "\u0301" * 500 + "x") == "e" + "\u0301" * 4 + "x"
    assert cell("\u0928\u094d\u0926\u0940 é") == "\u0928\u094d\u0926\u0940 é"


def test_long_texts_are_cut_to_what_matters() -> None:
    flip = Flip("i", "start " * 99 + "the question", "right" * 99, "before " * 99, "now " * 99)
    table = page_of(render_markdown(result_of(verdict_of("regression", flips=("i",))), {("m", "t"): [flip]})).tables[-1]
    _, prompt, expected, before, now = table[1]
    assert prompt.endswith("the question")
    assert (expected[:10], before[:6], now[:3]) == ("rightright", "before", "now")
    assert max(map(len, table[1])) <= 160


def test_the_figures_are_those_of_the_json(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=100)
    project.record(right_but(20, 100), right_but(5, 100))
    assert project.run(right_but(35, 100), right_but(6, 100)) == 1
    page = page_of((project.out / "report.md").read_text(encoding="utf-8"))
    checks = [*project.result["checks"], *project.result["overall"]]
    by_name = {check["task"]: check for check in checks}
    assert len(page.tables[0]) - 1 == len(checks)
    for row in page.tables[0][1:]:
        sign, task = row[0].split()
        check = by_name[task]
        assert sign == SIGNS[check["verdict"]]
        means = (check["reference"]["mean"], check["candidate"]["mean"])
        assert [float(text) for text in row[2].split("→")] == pytest.approx(means, abs=0.0501)
        assert row[3] == "none" if check["gamma"] is None else abs(float(row[3]) - check["gamma"]) <= 0.0501
        assert 0.0 <= float(row[4]) - check["theta"] < 0.1001
    figures = next(table for table in page.tables if table[0][0] == "Check" and table[0][3] == "p")
    for row in figures[1:]:
        check = by_name[row[0].split(",")[0]]
        changes = f"{check['lost']}, {check['gained']}"
        assert row[1::2] == [str(check["n"]), p_text(check["p_value"]), changes, check["test"]]
        ends = [float(end) for end in row[2].replace("−", "-").split(" to ")]
        assert ends == pytest.approx(check["interval"]["two_sided"], abs=0.0501)


def test_flips_are_shown_with_their_texts_worst_first_ten_at_most_and_the_rest_is_counted(tmp_path: Path) -> None:
    project = Project(tmp_path, n=60)
    write_lines(project.scores, [{"id": i, "reply": "good", "score": 100} for i in project.ids()])
    project.record()
    scores = [RIGHT] * 30 + [float(i) for i in range(30)]
    random.Random(1).shuffle(scores)
    by_id = dict(zip(project.ids(), scores, strict=True))
    write_lines(project.scores, [{"id": i, "reply": f"bad {i}", "score": score} for i, score in by_id.items()])
    assert project.run() == 1
    page = page_of((project.out / "report.md").read_text(encoding="utf-8"))
    header, *rows = page.tables[-1]
    assert header == ["id", "Prompt", "Expected", "Before", "Now"]
    assert [by_id[row[0]] for row in rows] == list(range(10))
    assert "and 20 more; their ids are in accgate.json." in page.text
    assert all(row[3:] == ["good", f"bad {row[0]}"] for row in rows)


def test_every_check_is_folded_a_passing_one_shows_no_flips_and_reasons_are_said_once() -> None:
    text = render_markdown(result_of(verdict_of(flips=("a",)), verdict_of("regression", task="u")))
    assert text.count("<details>") == 1
    assert "got worse, worst first" not in text
    undecided = verdict_of("no-reference", p_value=None, reasons=("no reference of m",))
    text = render_markdown(result_of(undecided, verdict_of(reasons=("a note",))))
    assert text.count("no reference of m") == text.count("a note") == 1


def test_one_verdict_of_compare_is_reported(tmp_path: Path, capsys) -> None:
    for side, wrong in (("a", 0), ("b", 30)):
        write_lines(tmp_path / side, [{"id": f"<{i}>", "score": s} for i, s in enumerate(right_but(wrong, 100))])
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]) == 1
    (tmp_path / "verdict.json").write_text(capsys.readouterr().out)
    assert main(["report", str(tmp_path / "verdict.json"), "--markdown", "-"]) == 0
    page = page_of(capsys.readouterr().out)
    assert page.tables[0][1][1:3] == ["−30.0", "100.0→70.0"]
    assert [row[0] for row in page.tables[-1][1:]] == [f"<{i}>" for i in range(10)]
    assert "Regression: the candidate fell 30.0 points" in page.text


def test_cost_time_and_what_early_stops_saved_stand_below_where_they_are_known() -> None:
    stopped = verdict_of(n=90, n_max=200, stop="futility", test="gsprt")
    result = replace(result_of(stopped), samples=1319, prompt_tokens=10_000, completion_tokens=345, seconds=61.7)
    assert "1,319 samples, 10,345 tokens, 1 min 2 s; stopping early saved 55%." in render_markdown(result)
    assert "10,345 tokens." in render_markdown(replace(result, seconds=None, checks=(verdict_of(),)))
    assert "tokens" not in render_markdown(result_of(verdict_of()))
