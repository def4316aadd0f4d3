"""The HTML report: one file, valid, that loads nothing and runs only its own script whatever stands in it."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from accgate import compare
from accgate.errors import BadInput
from accgate.records.file import paths_of
from accgate.report import words
from accgate.report.flips import Flip
from accgate.report.html.checks import why
from accgate.report.html.page import DRAWN, html_report, sort_keys
from accgate.report.result_file import read_result
from accgate.report.story import headline_of
from accgate.verdict import Verdict, sentence
from tests.gates import Project, right_but
from tests.report.hostile import hostile
from tests.report.html_pages import Document, changed, document, keep_reference_scores, page_of, written_run
from tests.report.runs import groups_of, result_of, verdict_of

SVG = {"svg", "g", "line", "path", "rect", "circle", "text", "title", "desc"}
TAGS = {"html", "head", "meta", "title", "style", "body", "header", "main", "section", "h1", "h2", "h3", "h4", "h5",
        "p", "div", "span", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "code", "ul", "ol", "li",
        "dl", "dt", "dd", "strong",
        "footer", "a", "button", "label", "input", "select", "option", "figure", "figcaption", "del", "ins", "template",
        "script", "noscript"} | SVG  # fmt: skip
ATTRIBUTES = {"lang", "charset", "http-equiv", "content", "name", "class", "open", "id", "hidden", "type", "value",
              "autocomplete", "spellcheck", "role", "tabindex", "scope", "href", "viewbox", "d", "x", "y", "x1", "x2",
              "y1", "y2", "cx", "cy", "r", "width", "height", "text-anchor", "transform"}  # fmt: skip


def read(text: str) -> Document:
    """A page, of which everything that could do something is known."""
    assert text.startswith("<!DOCTYPE html>\n<html lang")
    found = document(text)
    assert not re.search(r"url\s*\(|@import|//", found.style)
    assert set(found.tags) <= TAGS
    assert {name for name in found.attributes if not name.startswith(("data-", "aria-"))} <= ATTRIBUTES
    assert [found.tags.count(tag) for tag in ("html", "head", "body", "h1", "style")] == [1] * 5
    assert len(found.ids) == len(set(found.ids))
    return found


@cache
def harmless() -> Document:
    bad = verdict_of(
        "regression", flips=("a", "b", "c"), settings_changed=("options.x: 1 → 2",), groups=groups_of("a", "b")
    )
    return read(html_report(result_of(bad, verdict_of("error", p_value=None)), {("m", "t"): []}))


@pytest.mark.parametrize("text", hostile()[::3])
def test_hostile_content_is_text_in_a_page_of_the_same_shape(text: str) -> None:
    flips = [Flip(text or "id", text, text, text, text[::-1]), Flip("b", None, None, None, None)]
    keys: dict[str, Any] = {"model": text, "task": text, "reasons": (text, "second"), "settings_changed": (text, text)}
    keys["groups"] = groups_of(text, "plain")
    bad = verdict_of("regression", flips=("a", "b", "c"), **keys)
    result = replace(result_of(bad, verdict_of("error", task=text, p_value=None)), beside=(bad,), correction=text)
    page = html_report(result, {(text, text): flips})
    found, plain = read(page), harmless()
    assert [len(row) for row in found.rows[:3]] == [10] * 3
    assert found.tags.count("script") == plain.tags.count("script") == 2
    assert found.tags.count("svg") == plain.tags.count("svg")
    assert found.script == plain.script
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x1b\ud800-\udfff]", found.text + str(found.flips))
    assert set(found.data).isdisjoint("<>&")
    assert page.encode()


def test_groups_are_a_table_with_a_drawing_of_each_interval() -> None:
    groups = groups_of("law", "art", "bio")
    better = replace(groups.rows[1], difference=10.0, interval=(2.0, 18.0), stands_out=True)
    groups = replace(groups, rows=(groups.rows[0], better, replace(groups.rows[2], interval=None)))
    found = read(html_report(result_of(verdict_of(groups=groups))))
    table = [row for row in found.rows if row[0] in ("law", "art", "bio")]
    assert [row[0] for row in table] == ["law", "art", "bio"]
    assert table[0][4] == "-20.00 *"
    assert table[2][6] == "-"
    text = html_report(result_of(verdict_of(groups=groups)))
    assert text.count('class="reach"') == 2
    assert [part.split('"')[0] for part in text.split('data-difference="')[1:]] == ["-20.0", "10.0", "-20.0"]
    assert '<tr class="worse"><td class="text">law' in text
    assert '<tr class="better"><td class="text">art' in text
    lower = html_report(result_of(verdict_of(groups=groups, higher_is_better=False)))
    assert '<tr class="better"><td class="text">law' in lower  # a fall is good there, and left is worse still
    assert "<span>+40</span><span>no change</span><span>-40</span>" in lower


def test_the_policy_names_the_only_style_and_script_by_their_hash() -> None:
    found = read(html_report(result_of(verdict_of())))
    style, script = (
        "'sha256-" + base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() + "'"
        for part in (found.style, found.script)
    )
    assert found.policy.split("; ") == [
        "default-src 'none'", f"script-src {script}", f"style-src {style}", "base-uri 'none'", "form-action 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ]  # fmt: skip


def test_the_page_shows_headline_table_reasons_and_flips(tmp_path: Path) -> None:
    project = Project(tmp_path, tasks=("one", "two"), n=100)
    project.record(right_but(0, 100), right_but(5, 100))
    assert project.run(right_but(30, 100), right_but(6, 100)) == 1
    checks, found = page_of(project)
    result = read_result(project.out / "accgate.json")
    assert headline_of(result).text in found.text
    assert found.rows[0] == list(words.HEADINGS)
    assert found.rows[1:3] == [list(words.row(verdict)) for verdict in checks]
    for verdict in checks:
        assert sentence(verdict) in found.text
        assert why(verdict) in found.text
    assert [row["i"] for row in found.flips["0"]] == list(checks[0].flips)
    assert [row["i"] for row in found.flips["1"]] == list(checks[1].flips)  # of a check that passed, too
    assert found.flips["0"][0]["p"].startswith("What is")
    assert "and 25 more, which this page shows with JavaScript" in found.text


def test_rows_sort_by_whole_figures_and_verdicts_by_how_bad_they_are() -> None:
    close = [verdict_of(p_adjusted=1e-9), verdict_of("regression", p_adjusted=2e-9, gamma=None)]
    keys = [sort_keys(verdict) for verdict in close]
    assert words.row(close[0])[8] == words.row(close[1])[8]
    assert float(keys[0][8]) < float(keys[1][8])
    assert keys[1][6] == ""
    assert int(keys[0][9]) < int(keys[1][9])


def test_checks_that_did_not_pass_are_unfolded() -> None:
    text = html_report(result_of(verdict_of(), verdict_of("regression", task="u")))
    assert re.findall(r'<details class="check (\S+)" id="check-\d"( open)?>', text) == [
        ("pass", ""),
        ("regression", " open"),
    ]


def test_both_colour_schemes_and_paper_are_there() -> None:
    text = html_report(result_of(verdict_of()))
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert 'content="light dark"' in text


@pytest.mark.parametrize(
    ("name", "keys", "said"),
    [
        ("regression", {}, "That is no more than 5% (alpha), so the check fails."),
        (
            "pass",
            {"p_adjusted": 0.4},
            "the check fails at 5% (alpha) or less, so it passes. "
            "It would have detected a drop of 3.00 points in 80% of runs.",
        ),
        ("inconclusive", {"p_adjusted": 0.4, "theta_target": 1.0}, "you asked for 1.00: it needs more samples."),
        (
            "pass",
            {"p_adjusted": 0.4, "higher_is_better": False},
            "would have detected a rise of 3.00 points in 80% of runs",
        ),
    ],
)
def test_the_reason_is_said_in_a_sentence_with_the_figures(name: str, keys: dict[str, Any], said: str) -> None:
    text = why(verdict_of(name, p_value=0.01, **keys))
    p = keys.get("p_adjusted", 0.02)
    assert f"A harmless change would look this bad in {100 * p:g}% of runs (p = {p:.4f})" in text
    assert "The mean was 75.00 and is now 70.00 (-5.00 points) on 100 samples." in text
    assert said in text


def test_a_check_without_figures_has_its_reason_and_no_chart() -> None:
    found = read(html_report(result_of(verdict_of("no-reference", p_value=None, reasons=("record one first",)))))
    assert "record one first" in found.text
    assert found.pictures == []


def test_without_the_run_folder_the_charts_of_the_json_remain() -> None:
    found = read(html_report(result_of(verdict_of())))
    assert [picture.kind for picture in found.pictures] == ["distribution", "power"]
    assert "the run's folder was not given" in found.text


def test_of_very_many_checks_the_worst_have_charts() -> None:
    many = [verdict_of(task=f"t{at}") for at in range(DRAWN + 5)]
    found = read(html_report(result_of(*many, verdict_of("regression"))))
    assert len(found.pictures) == 2 * DRAWN
    assert found.pictures[-1].attributes["aria-labelledby"].startswith(f"c{DRAWN + 5}-")
    assert found.text.count(f"Only {DRAWN} checks have charts") == 6


def test_ten_checks_of_1319_samples_take_less_than_a_megabyte(tmp_path: Path) -> None:
    result = written_run(tmp_path, 10, 1319, lost=0.10, words=60)
    assert sum(len(verdict.flips) for verdict in result.checks) > 1_200
    text = html_report(result, folder=tmp_path)
    assert len(text.encode()) < 1_000_000
    flips = read(text).flips
    assert [[row["i"] for row in flips[str(at)]] for at in range(10)] == [list(v.flips) for v in result.checks]
    assert all(row.keys() >= {"p", "e", "d"} for rows in flips.values() for row in rows)


def test_records_of_another_run_are_not_shown_as_this_ones(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.record(right_but(0))
    project.run(right_but(30))
    keep_reference_scores(project)
    result = read_result(project.out / "accgate.json")
    assert "scores" in [picture.kind for picture in page_of(project)[1].pictures]
    records = paths_of(project.out, "m", "sums").records
    records.write_text(
        records.read_text(encoding="utf-8").replace('"score": 0.0', '"score": 100.0', 1), encoding="utf-8"
    )
    found = read(html_report(result, folder=project.out))
    assert "scores" not in [picture.kind for picture in found.pictures]
    assert "the records beside accgate.json are of another run" in found.text


def test_damaged_files_beside_the_result_are_errors_that_name_them(tmp_path: Path) -> None:
    result = written_run(tmp_path, 1, 50)
    paths = paths_of(tmp_path, "model", "task-0")
    paths.records.write_bytes(paths.records.read_bytes() + b"{}\n")
    with pytest.raises(BadInput, match=re.escape(f"{paths.records}:51")):
        html_report(result, folder=tmp_path)


def test_the_data_is_json_in_ascii(tmp_path: Path) -> None:
    flips = [Flip("a", "</script><script>alert(1)</script>", "é\u2028", "x", "y")]
    text = html_report(result_of(verdict_of("regression", flips=("a",))), {("m", "t"): flips})
    found = read(text)
    assert found.data.isascii()
    assert json.loads(found.data)["0"][0]["p"] == "</script><script>alert(1)</script>"


def test_an_early_stop_says_its_interval_and_that_all_its_looks_count() -> None:
    verdict = compare(*changed(900, 0.15, 0.02), theta=4.0, early_stopping=True)
    assert verdict.verdict == "regression"
    assert verdict.interval is not None
    low, high = (f"{end:+.2f}" for end in verdict.interval.two_sided)
    text = why(verdict)
    assert f" points; 90% interval {low} to {high}) on {verdict.n:,} samples." in text
    assert re.search(r"\(p [=<] [\d.]+, all looks counted\)\.", text)


def test_of_one_check_the_page_shows_all_and_of_several_those_that_did_not_pass() -> None:
    def opened(*verdicts: Verdict) -> list[bool]:
        page = html_report(result_of(*verdicts))
        return [" open" in tag for tag in re.findall(r'<details class="check[^>]*>', page)]

    passed, failed = verdict_of(), verdict_of("regression", task="u")
    assert opened(passed) == [True]
    assert opened(passed, failed) == [False, True]
