"""The HTML report: one file, valid, that loads nothing and runs only its own script whatever stands in it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate.errors import BadInput
from accgate.records.file import paths_of
from accgate.report.flips import Flip
from accgate.report.html.inline import policy_hash
from accgate.report.html.overview import forest_of, group_table, stats_of
from accgate.report.html.page import DRAWN, html_report, outcome_text
from accgate.report.result_file import read_result
from accgate.report.story import story_of
from accgate.stats.result import Interval
from accgate.verdict import CandidateSummary, Cost, Verdict
from tests.report.hostile import hostile
from tests.report.html_pages import Document, document, page_of, write_samples, written_run
from tests.report.runs import groups_of, result_of, verdict_of
from tests.support.gates import Project, right_but

ACTIVE = {"iframe", "img", "form", "object", "embed", "link", "base", "image", "foreignobject"}


def read(text: str) -> Document:
    """A page in which nothing loads or runs but its own script."""
    assert text.startswith("<!DOCTYPE html>\n<html lang")
    found = document(text)
    assert not re.search(r"url\s*\(|@import|//", found.style)
    assert not ACTIVE & set(found.tags)
    assert not {name for name in found.attributes if name.startswith("on") or name in ("style", "action", "srcdoc")}
    assert [found.tags.count(tag) for tag in ("html", "head", "body", "h1", "style")] == [1] * 5
    assert len(found.ids) == len(set(found.ids))
    return found


def test_hostile_content_is_text_in_a_page_of_the_same_shape(tmp_path: Path) -> None:
    plain_pages = pages_with("plain", tmp_path)
    for text in hostile()[::4]:
        for plain, found in zip(plain_pages, pages_with(text, tmp_path), strict=True):
            assert [len(row) for row in found.rows] == [len(row) for row in plain.rows], text
            assert [found.tags.count(tag) for tag in ("script", "svg")] == [2, plain.tags.count("svg")], text
            assert set(found.tags) - {"wbr"} <= set(plain.tags), text
            assert found.attributes <= plain.attributes, text
            assert found.script == plain.script
            shown = found.text + str(found.samples)
            assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b\ud800-\udfff]", shown)
            assert found.data.isascii()
            assert set(found.data).isdisjoint("<>&")


def pages_with(text: str, folder: Path) -> tuple[Document, Document]:
    """A page in which the text is every name and reason, and one in which it is all that a sample has."""
    keys: dict[str, Any] = {"model": text, "task": text, "reasons": (text, "second"), "settings_changed": (text, text)}
    keys["groups"] = groups_of(text, "plain")
    bad = verdict_of("regression", flips=("a", "b", "c"), **keys)
    result = replace(result_of(bad, verdict_of("error", task=text, p_value=None)), beside=(bad,), correction=text)
    sample = Flip(text or "id", text, text, text, f"{text} ", 100.0, 0.0, text)
    write_samples(folder, [sample, Flip("b", None, None, None, None)], own_id=text, group=text)
    listed = html_report(result_of(verdict_of("regression", flips=(sample.id,))), folder)
    return read(html_report(result)), read(listed)


def test_groups_are_a_table_with_a_bar_for_each_and_those_that_stand_out_are_in_the_overview() -> None:
    groups = groups_of("law", "art", "bio")
    better = replace(groups.rows[1], difference=10.0, interval=(2.0, 18.0), stands_out=True)
    groups = replace(groups, rows=(groups.rows[0], better, replace(groups.rows[2], interval=None)))
    bad = verdict_of("regression", groups=groups)
    text = html_report(result_of(bad))
    rows = [[row[0], *row[2:4]] for row in read(text).rows if row[0] in ("law", "art", "bio")]
    both = [["law", "\u221220.0", "\u221240.0 to \u22125.0"], ["art", "+10.0", "+2.0 to +18.0"]]
    assert rows == [*both, *both, ["bio", "\u221220.0", ""]]
    assert text.count('class="span"') == 2
    assert re.findall(r'class="bar( worse)?"', text) == [" worse", "", ""]
    lower = html_report(result_of(replace(bad, higher_is_better=False)))
    assert re.findall(r'class="bar( worse)?"', lower) == ["", " worse", ""]  # a fall is good there


def test_the_policy_names_the_only_style_and_script_by_their_hash() -> None:
    found = read(html_report(result_of(verdict_of())))
    assert found.policy.split("; ") == [
        "default-src 'none'", f"script-src {policy_hash(found.script)}", f"style-src {policy_hash(found.style)}",
        "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
    ]  # fmt: skip


def test_the_page_tells_the_runs_story_then_every_check_worst_first(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=100).recorded(right_but(0, 100), right_but(5, 100))
    assert project.run(right_but(2, 100), right_but(35, 100)) == 1
    (passed, failed), found = page_of(project)
    story = story_of(read_result(project.out / "accgate.json"))
    texts = *story.headline.text.split(": ", 1), *(words[1:] for words in (*story.sentences, *map(str, story.steps)))
    outcomes = outcome_text(failed, first=True), outcome_text(passed, first=False)
    assert [words for words in (*texts, *outcomes) if words not in found.text] == []
    assert [row[0] for row in found.rows[1:4]] == ["twom", "overallm", "onem"]
    for check, verdict, task in (("0", failed, "two"), ("2", passed, "one")):
        ids = [row[0] for row in found.samples[check]["rows"]]
        assert ids[: len(verdict.flips)] == list(verdict.flips)
        assert sorted(ids) == sorted(project.ids(task))
    assert found.samples["0"]["texts"][0][0].startswith("What is")
    assert f"{len(failed.flips)} samples got worse. This page lists all samples with JavaScript" in found.text


def test_a_check_that_did_not_pass_is_a_section_and_a_pass_is_one_line_that_opens() -> None:
    names = ("pass", "regression", "error", "inconclusive", "no-reference", "pass")
    text = html_report(result_of(*(verdict_of(name, task=f"t{at}") for at, name in enumerate(names))))
    assert re.findall(r'<section class="check (\S+)" id="(check-\d)"', text) == [
        ("regression", "check-0"), ("error", "check-1"), ("no-reference", "check-2"), ("inconclusive", "check-3"),
    ]  # fmt: skip
    assert re.findall(r'<details id="(check-\d)"( open)?>', text) == [("check-4", ""), ("check-5", "")]
    assert re.findall(r'<section class="check (\S+)"', html_report(result_of(verdict_of()))) == ["pass"]  # the only one


def test_a_group_of_few_samples_does_not_squeeze_the_others() -> None:
    usual = groups_of(*"abcdefgh")
    wide = replace(usual, rows=(*usual.rows[:-1], replace(usual.rows[-1], interval=(-95.0, 95.0))))
    plots = [group_table(verdict_of(groups=groups)) for groups in (usual, wide)]
    scales = [plot.x.high - plot.x.low for plot in plots if plot is not None]
    assert scales[0] == scales[1]


def drawings(*checks: Verdict) -> list[str]:
    """The drawing of each check in the list of all."""
    return re.findall(r'<svg[^>]*class="plotted">.*?</svg>', html_report(result_of(*checks)), re.DOTALL)


def test_tokens_and_seconds_stand_beside_accuracy() -> None:
    costs = (
        Cost("tokens", 100, 50.0, 65.0, 0.3, (0.28, 0.32), 0.05, 0.1, 1e-9, "regression"),
        Cost("seconds", 100, 1.0, 0.9, -0.1, (-0.2, 0.0), 0.05, note="the hardware of one side is not known"),
    )
    slow = verdict_of("regression", costs=costs, by_scores="pass", p_value=0.4, alpha_applied=0.05)
    found = read(html_report(result_of(slow)))
    assert ["Completion tokens", "50.0", "65.0", "+30.0%", "+28.0% to +32.0%", "10%: exceeded"] in found.rows
    assert ["Seconds", "1.00", "0.90", "\u221210.0%", "\u221220.0% to 0.0%", "\u2013"] in found.rows
    for words in (" takes 30.0% more tokens", "the gate allows 500", "Seconds: the hardware of one side is not known."):
        assert words in found.text
    (drawing,) = drawings(slow)
    assert "zone" not in drawing  # the mean is not beyond its limit
    assert "at pass" in drawing
    assert "Beside accuracy" not in read(html_report(result_of(verdict_of()))).text


def test_every_check_has_a_place_on_one_scale_and_worse_is_left_whatever_the_metric() -> None:
    interval = Interval(-1.0, (-9.0, -1.0))
    up = verdict_of("regression", interval=interval)
    down = replace(
        up, task="u", interval=interval.negate(), difference=5.0, higher_is_better=False, gamma=77.5,
        candidate=CandidateSummary(80.0, 100),
    )  # fmt: skip
    first, second = (re.findall(r'(?:x|x1|x2|cx)="[^"]*"', drawing) for drawing in drawings(up, down))
    assert first == second
    checks = (up, down, verdict_of("pass", task="v", interval=Interval(9.0, (-400.0, 400.0))))
    forest = forest_of(checks)
    words = [words for _, words in forest.labels]
    assert "20 worse" in words  # a sign would mean two things
    assert "no change" in words
    assert [row.change for row in forest.rows] == ["\u22125.0", "+5.0", "\u22125.0"]
    assert "100%" in drawings(*checks)[2]  # one check of few samples does not squeeze all others
    undecided = verdict_of("error", difference=None, reasons=("why",))
    assert ">why</td>" in html_report(result_of(undecided))
    assert "smallest visible change" not in html_report(result_of(verdict_of(theta=None)))


def test_sixty_checks_fit_and_a_page_of_twelve_is_small(tmp_path: Path) -> None:
    keys = {"interval": Interval(-1.0, (-9.0, -1.0))}
    many = [verdict_of("regression" if at < 3 else "pass", task=f"t{at}", **keys) for at in range(60)]
    found = read(html_report(result_of(*many)))
    assert sum(row[-1] in ("regression", "pass") and len(row) == 6 for row in found.rows) == 60
    result = written_run(tmp_path, 12, 100)
    passes = tuple(replace(verdict, verdict="pass") for verdict in result.checks[3:])
    text = html_report(replace(result, checks=(*result.checks[:3], *passes)), folder=tmp_path)
    assert len(text.encode()) - len(read(text).data) < 120_000


def test_a_check_that_could_not_be_evaluated_has_its_reason_no_chart_and_decides_nothing() -> None:
    bare = verdict_of("no-reference", p_value=None, reasons=("record one first",))
    found = read(html_report(result_of(bare)))
    assert "record one first" in found.text
    assert found.pictures == []
    lost = verdict_of("error", test=None, reasons=("the server is away",), n=60)
    assert stats_of(result_of(replace(lost, n=0)))[0] == ("Samples", "0", "")
    about = "60 of them in checks without a verdict"
    assert stats_of(result_of(lost, verdict_of()))[0] == ("Samples", "160", about)
    assert forest_of([lost]).rows[0].samples == ""
    early = verdict_of(n=90, n_max=200, stop="futility", test="gsprt")
    saved = "200 without early stopping; stopping early saved 55%"
    assert stats_of(result_of(early))[0] == ("Samples", "90", saved)


def test_without_the_run_folder_the_worst_checks_have_charts() -> None:
    found = read(html_report(result_of(verdict_of())))
    assert [picture.kind for picture in found.pictures] == ["distribution"]
    assert "the run's folder was not given" in found.text
    many = [verdict_of("inconclusive", task=f"t{at}") for at in range(DRAWN + 5)]
    found = read(html_report(result_of(*many, verdict_of("regression"))))
    assert len(found.pictures) == DRAWN
    assert found.text.count(f"Only {DRAWN} checks have charts") == 6


def test_records_of_another_run_are_not_shown_as_this_ones_and_damaged_ones_are_named(tmp_path: Path) -> None:
    result = written_run(tmp_path, 1, 50)
    assert "evidence" in [picture.kind for picture in document(html_report(result, tmp_path)).pictures]
    records = paths_of(tmp_path, "model", "task-0").records
    content = records.read_bytes()
    records.write_bytes(content.replace(b'"score":0.0', b'"score":100.0', 1))
    found = document(html_report(result, tmp_path))
    assert "evidence" not in [picture.kind for picture in found.pictures]
    assert "the records beside accgate.json belong to another run" in found.text
    records.write_bytes(content + b"{}\n")
    with pytest.raises(BadInput, match=re.escape(f"{records}:51")):
        html_report(result, tmp_path)
