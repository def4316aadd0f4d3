"""What a search for the cause says in words, and as HTML."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from accgate.decision.bisection import Bisection, Commit, Culprit
from accgate.decision.cause import Change, trial_of
from accgate.report.cause import CauseView, blame_html, blame_markdown
from accgate.report.html.inline import policy_hash
from accgate.report.limits import LIMITS
from accgate.report.markdown import fill_template
from accgate.report.repetition import print_bisection
from tests.github.test_cause import blame_of
from tests.report.runs import printed

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion


def test_a_bar_shows_how_many_lost_answers_a_setting_explains_and_the_range() -> None:
    page = blame_html(blame_of())
    drawings = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page)]
    assert [svg.get("aria-label") for svg in drawings] == [
        "options.k: 11 of 20 (6 to 16)", "options.v: 0 of 20 (0 to 4)", "all of them: 20 of 20 (16 to 20)",
    ]  # fmt: skip
    first = drawings[0]
    assert [rect.get("width") for rect in first.iter("rect")] == ["55%"]
    assert [line.get("x1") for line in first.iter("line")] == ["0", "30%", "30%", "80%"]
    assert all(svg.get("role") == "img" and svg.get("viewBox") is None for svg in drawings)
    assert "options.k = q4_0 explains 11 of the 20 lost answers" in page
    assert "<td>explains</td>" in page


def test_the_page_runs_and_loads_nothing_and_shows_names_as_text() -> None:
    hostile = "</style><script>alert(1)</script><img src=//x>\u202e\x1b[31m"
    blame = blame_of(value=hostile)
    page = blame_html(replace(blame, fixed=(Change("version", "1", "2", hostile),), ended_early=hostile))
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert policy_hash(style) in page.replace("&#39;", "'")
    assert "default-src 'none'" in page.replace("&#39;", "'")
    for words in ("<script", "<img", "style=", "\u202e", "\x1b", "http:", "https:"):
        assert words not in page


def test_in_a_comment_with_little_room_one_short_sentence_is_left() -> None:
    sides = CauseView(tuple("@<|" * 200 for _ in range(9)), (("@<|" * 200,) * 6,) * 40, "method", "origin")
    sizes = [len(fill_template({"cause": sides.cut(limits)}, "cause.md.j2")) for limits in LIMITS]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] < 40_000
    assert sizes[-1] < 300


def test_words_say_what_flips_what_cannot_be_put_back_what_failed_and_that_nothing_explains_the_loss(
    messages: SnapshotAssertion,
) -> None:
    blame, ids = blame_of(), [str(number) for number in range(44)]
    fixed = (Change("version", "1", "2", "only this version is installed here"),)
    failed = tuple(replace(trial, problem="no memory") for trial in blame.trials if trial.settings == ("options.v",))
    lost, gained = frozenset(ids[:22]), frozenset(ids[22:])
    now = {id_: 0.0 if id_ in lost else 100.0 for id_ in ids}
    flipped = trial_of("put back", ("options.v",), 0.01, now, {id_: 100.0 - now[id_] for id_ in ids}, lost, gained)
    assert flipped.finding == "either way"
    whole = replace(blame.trials[2], kind="all back", settings=("options.k",))
    outcomes = {
        "fixed": replace(blame, fixed=fixed, trials=(*blame.trials[:2], *failed)),
        "nothing": replace(blame, causes=(), trials=(whole,)),
        "either way": replace(blame, gained=22, trials=(*blame.trials[:2], flipped)),
    }
    assert {name: html.unescape(blame_markdown(each)) for name, each in outcomes.items()} == messages


def test_a_search_that_names_no_commit_says_so_and_which_flip_answers_either_way(messages: SnapshotAssertion) -> None:
    flips = Culprit(Commit("a" * 40, "kernel"), 0.0, 20, 60, (), 19)
    search = Bisection("m", "t", 9, 60, (), (), 300, (flips,))
    assert printed(lambda console: print_bisection(console, search, Path("out"))) == messages
