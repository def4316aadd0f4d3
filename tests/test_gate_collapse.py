"""Samples that all runs of the reference had right and all of the candidate wrong, from the scores to every report."""

from dataclasses import replace

import numpy as np
import pytest

from accgate.cli.main import main
from accgate.decision.comparison import compare_scores
from accgate.design import Design
from accgate.records.scores import Scores
from accgate.report.comment import render_comment
from accgate.report.flips import flips_of_result
from accgate.report.markdown import render_markdown
from accgate.report.result_file import read_result
from accgate.report.samples import COLLAPSED
from accgate.verdict.figures import Collapse
from accgate.verdict.findings import collapse_sentence
from tests.report.html_pages import page_of
from tests.report.kinds import ABOUT
from tests.support.cases import each
from tests.support.gates import Project, write_lines

N = 60
SIDES = {"1": 100.0, "0": 0.0, "h": 50.0, "?": np.nan}


def scores_of(*patterns: tuple[str, int]) -> Scores:
    """Scores of samples by pattern: right, wrong, half right, or without an answer."""
    values = np.array([[SIDES[c] for c in pattern] for pattern, count in patterns for _ in range(count)])
    return Scores(tuple(f"s{i}" for i in range(len(values))), values)


BEFORE = scores_of(("1100", 10), ("1111", 80), ("0000", 10))
NOW = (("010", 10), ("000", 6), ("111", 74), ("111", 1), ("000", 9))
LOST = tuple(f"s{i}" for i in range(10, 16))
LOSSES = Collapse(6, 1, LOST, pytest.approx(6 / 35), pytest.approx(8 / 128), (4, 3))


def opposite(scores: Scores) -> Scores:
    return Scores(scores.ids, 100.0 - scores.values)


@each(
    ("before", "now", "design", "keys", "collapse"),
    [
        (BEFORE, scores_of(*NOW), Design(), {}, LOSSES),
        (opposite(BEFORE), opposite(scores_of(*NOW)), Design(higher_is_better=False), {},
         LOSSES),
        (BEFORE, scores_of(*NOW), Design(), {"clusters": [i // 2 for i in range(100)]},
         replace(LOSSES, p_value=None, lack="clusters")),
        (BEFORE, scores_of(("010", 10), ("0?0", 6), ("111", 84)), Design(), {"bounds": (0.0, 100.0)},
         Collapse(0, 10, (), 0.0, 1.0, (4, 3))),
        (BEFORE, scores_of(*((pattern[:1], count) for pattern, count in NOW)), Design(), {}, None),
        (BEFORE, scores_of(("h10", 10), *NOW[1:]), Design(), {}, None),
        (BEFORE, scores_of(*NOW), Design("two-sample"), {}, None),
    ],
)  # fmt: skip
def test_a_verdict_has_the_samples_that_all_runs_lost(before: Scores, now: Scores, design, keys, collapse) -> None:
    verdict = compare_scores(before, now, design, **keys)  # type: ignore[arg-type]
    assert verdict.collapse == collapse
    if collapse is not None:
        assert verdict.flips[: collapse.lost] == collapse.ids


def test_failed_samples_do_not_stand_before_those_that_all_runs_lost() -> None:
    now = scores_of(("010", 10), ("?00", 3), ("000", 3), ("111", 84))
    verdict = compare_scores(BEFORE, now, Design(), bounds=(0.0, 100.0))
    assert verdict.flips[:6] == ("s13", "s14", "s15", "s10", "s11", "s12")


@each("theta", [4.0, 8.0])
def test_after_an_early_stop_only_the_samples_used_count(theta: float) -> None:
    now = scores_of(*NOW)
    mixed = Scores(now.ids, np.roll(now.values, 40, axis=0))
    before = Scores(now.ids, np.roll(BEFORE.values, 40, axis=0))
    verdict = compare_scores(before, mixed, Design(theta=theta, early_stopping=True), order="given")
    whole = compare_scores(before, mixed, Design())
    used = set(now.ids[: verdict.n])
    assert verdict.collapse.ids == tuple(id_ for id_ in whole.collapse.ids if id_ in used)
    assert verdict.collapse.p_value > whole.collapse.p_value  # evidence wherever one stops is weaker


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A run of three answers a sample: five flicker, and behind them eight are wrong in every run."""
    project = Project(tmp_path_factory.mktemp("collapse"), n=N, repeats=3)
    ids = project.ids()
    rows = [{"id": i, "repeat": r, "score": 100, "reply": "good"} for i in ids for r in range(3)]
    write_lines(project.scores, rows)
    assert project.record() == 0
    for at, row in enumerate(rows):
        if at // 3 in range(20, 28) or (at // 3 < 5 and at % 3 < 2):
            row |= {"score": 0, "reply": "bad"}
    write_lines(project.scores, rows)
    assert project.run() == 1
    return project


SENTENCE = "■ 8 samples are wrong in all 3 runs, right in all 3 of the reference, 0 the reverse; flicker explains 0.4"


def test_the_result_names_them_first_and_can_be_verified(project: Project) -> None:
    ids, check = project.ids(), project.check
    assert check["collapse"] == {
        "lost": 8, "recovered": 0, "ids": ids[20:28], "expected": pytest.approx(8 / 20), "p_value": 0.5**8, "lack": "",
        "runs": [3, 3],
    }  # fmt: skip
    assert check["flips"] == [*ids[20:28], *ids[:5]]
    assert main(["verify", str(project.out), "--config", str(project.config)]) == 1


def test_every_report_says_how_many_and_marks_each(project: Project, capsys) -> None:
    result = read_result(project.out / "accgate.json")
    flips = flips_of_result(result, project.out)
    for text in (render_markdown(result, flips), render_comment(result, ABOUT, flips=flips)):
        assert f"{SENTENCE} (p = 0.0039)." in text
        assert "| ■ What is " in text
    whole = render_markdown(result, flips)
    assert whole.index("■ What is") < whole.rindex("■ What is") < whole.rindex("| What is")
    assert main(["report", str(project.out)]) == 0
    printed = capsys.readouterr().out
    assert SENTENCE in " ".join(printed.split())
    assert "    ■ What is " in printed
    assert main(["report", str(project.out), "--check", "sums"]) == 0
    assert "They decide nothing by themselves." in " ".join(capsys.readouterr().out.split())


def test_the_page_has_a_filter_of_them_and_lists_them_first(project: Project) -> None:
    _, page = page_of(project)
    assert SENTENCE in page.text
    (check,) = page.samples.values()
    kinds = [row[4] for row in check["rows"]]
    assert [bool(kind & COLLAPSED) for kind in kinds] == [True] * 8 + [False] * (N - 8)


def test_without_a_sample_that_all_runs_lost_nothing_is_said() -> None:
    same = scores_of(("111", 40))
    verdict = compare_scores(same, same, Design())
    assert verdict.collapse == Collapse(0, 0, (), 0.0, 1.0, (3, 3))
    assert collapse_sentence(verdict) is None
