"""The comment on a pull request: what it says in each case, what it leaves out, and that nothing in it is active."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from syrupy.assertion import SnapshotAssertion

from accgate.guard.state import Guard, RuleChange
from accgate.report.cause import CauseView
from accgate.report.comment import About, Failure, render_comment
from accgate.report.flips import Flip
from accgate.report.views import HEADINGS, figures_of
from accgate.result import Result
from accgate.stats.result import Interval
from accgate.verdict import CandidateSummary, Drift, ReferenceSummary
from tests.report.hostile import assert_inert, assert_no_command, hostile
from tests.report.kinds import ABOUT, LOOSER, URL, kinds, result_named
from tests.report.rendered import Page, page_of
from tests.report.runs import groups_of, result_of, verdict_of
from tests.support.cases import each

ADDED = RuleChange("tasks.passkey", None, "passkey", "new", "a task that the base does not have")
LOOSENED = Guard("loosened", (*LOOSER[2:], ADDED, *LOOSER[:2]), None, "2 changes loosen the gate.")


def page(result: Result | None, about: About = ABOUT, **keys: Any) -> Page:
    return page_of(render_comment(result, about, **keys))


def first_screen(markdown: str) -> str:
    """What is read before anything is opened or scrolled far: the text above the first fold, without markup."""
    return " ".join(re.sub(r"[`*\u200b\\\\]", "", markdown.partition("<details>")[0]).split())


# What it says


def test_every_kind_of_run_says_in_its_first_lines_what_dropped_by_how_much_and_what_next(
    messages: SnapshotAssertion,
) -> None:
    seen = {name: first_screen(kind.comment()) for name, kind in kinds().items()}
    assert seen == messages
    assert max(len(text.partition("| Check")[0]) for text in seen.values()) < 1_200


@each("name", kinds())
def test_every_kind_of_comment_has_one_heading_and_is_inert(name: str) -> None:
    markdown = kinds()[name].comment()
    found = page_of(markdown)
    (heading,) = found.headings
    assert heading.startswith(("✓ ", "✕ ", "? ", "▽ ", "! ", "○ ", "i "))
    assert markdown.endswith("accgate 0.1.0</sub>\n")
    assert_inert(found, links=(URL,))
    assert_no_command(markdown)


def test_a_search_that_was_made_is_not_advised() -> None:
    result = result_named("failed")
    explained = CauseView(("options.a explains it.",), (("options.a", "1", "2", "9", "9", "explains"),))
    for cause, is_advised in ((None, True), (CauseView(("It took too long.",)), True), (explained, False)):
        text = first_screen(render_comment(result, ABOUT, cause=cause))
        assert "undo the changed settings and push" in text
        assert ("find which one did it with accgate blame" in text) == is_advised


def test_answers_and_settings_are_three_at_most_and_the_rest_is_counted() -> None:
    result = result_named("failed")
    (lost,) = result.checks
    many = replace(lost, settings_changed=tuple(f"options.x{i}: 1 → 2" for i in range(9)))
    flips = {(lost.model, lost.task): [
        Flip(lost.flips[i] if i else "my-17", f"{i} + 1?", "r", "r", "w", 100.0, 0.0) for i in range(10)
    ]}  # fmt: skip
    found = page_of(render_comment(replace(result, checks=(many,)), ABOUT, flips=flips))
    questions = ("my-17: 0 + 1?", "1 + 1?", "2 + 1?")
    assert found.tables[1] == [["Prompt", "Before, right", "Now, wrong"], *[[each, "r", "w"] for each in questions]]
    assert "Answers that got worse: 3 of 23" in found.text
    assert "and 6 more" in found.text
    graded = [Flip("a", "q", "r", "b", "n", 80.0, 20.0)]
    assert page_of(render_comment(result, ABOUT, flips={(lost.model, lost.task): graded})).tables[1][0] == [
        "Prompt", "Before", "Now",
    ]  # fmt: skip


def test_only_a_regression_or_a_missing_reference_can_be_accepted_and_by_command_only_where_one_answers() -> None:
    for name in ("pass", "regression", "inconclusive", "no-reference", "error"):
        text = render_comment(result_of(verdict_of(name)), ABOUT)
        assert ("/accgate accept REASON" in text) == (name == "regression")
        assert ("/accgate record" in text) == (name == "no-reference")
        without = render_comment(result_of(verdict_of(name)), replace(ABOUT, commands=False), guard=LOOSENED)
        assert "/accgate " not in without
        assert ("accgate record" in without) == (name in ("regression", "no-reference"))
        assert ("--reason" in without) == (name == "regression")


UNKNOWN = Guard("unreadable", (), None, "grant it")
GUARDED = (
    (LOOSENED, "pass"), (LOOSENED, "regression"), (LOOSENED, "no-reference"), (LOOSENED, None),
    (Guard("unreadable", LOOSER, None, "grant it"), "pass"), (UNKNOWN, "pass"), (UNKNOWN, "regression"),
    (Guard("approved", LOOSER[:1], "octo-cat"), "pass"), (Guard("tightened", LOOSER[2:]), "pass"),
)  # fmt: skip


def test_a_loosened_gate_leads_where_the_run_passes_and_follows_the_verdict_where_it_does_not(
    messages: SnapshotAssertion,
) -> None:
    said = {}
    for guard, verdict in GUARDED:
        result = None if verdict is None else result_of(verdict_of(verdict))
        text = render_comment(result, ABOUT, guard=guard, failure=Failure(3, "") if result is None else None)
        said[f"{guard.state}, {len(guard.changes)} changes, {verdict}"] = first_screen(text)
        if result is not None and guard.changes:
            assert (text.index("| Rule") < text.index("| Check")) == text.startswith("### ▽")
    assert said == messages


def test_what_the_pull_requests_own_rules_say_stands_beside() -> None:
    result = replace(result_of(verdict_of("regression")), beside=(verdict_of(gamma=60.0),), rules="base")
    found = page(result, guard=LOOSENED)
    assert "What this pull request's own rules say" in found.text
    assert [table[1][3] for table in found.tables if table[0] == list(HEADINGS)] == ["72.5", "60.0"]
    assert "by the rules of the base commit" in found.text
    assert found.headings[0].startswith("✕ Regression: t fell 5.0 points, 75.0 to 70.0.")


def test_a_bootstrap_a_run_without_a_result_and_another_check_s_name_read_right(messages: SnapshotAssertion) -> None:
    """A bootstrap judges by its own rules; a log is shown from its end."""
    bare = replace(result_of(verdict_of("no-reference", p_value=None)), rules="bootstrap")
    log = "".join(f"line {i}\n" for i in range(100)) + " 10%\r 99%\n\x1b[31mout of \x1b[1mmemory\x1b[0m\x07\n\n"
    elsewhere = About("accuracy (a100)", "ci/my accuracy.toml", "f" * 40)
    assert {
        "bootstrap": render_comment(bare, elsewhere, guard=Guard("bootstrap")),
        "bootstrap, cancelled": render_comment(None, ABOUT, guard=Guard("bootstrap"), failure=Failure(130, "stopped")),
        "by its own rules": render_comment(bare, ABOUT),
        "cancelled": render_comment(bare, ABOUT, failure=Failure(130, "")),
        "killed": render_comment(None, ABOUT, failure=Failure(137, log)),
        "nothing": render_comment(None, replace(ABOUT, head_sha="")),
    } == messages


def test_a_report_or_picture_without_a_web_address_is_not_linked() -> None:
    mixed = result_named("mixed")
    for url in (None, "javascript:alert(1)", 'https://a/"onload="x', "https://a b/", "file:///x", ""):
        pictures = None if url is None else (url, url)
        text = render_comment(mixed, replace(ABOUT, report_url=url, pictures=pictures))
        found = page_of(text)
        assert found.links == []
        assert "Full report" not in found.text
        assert "<picture>" not in text
        assert "```text" in text
    shown = page_of(render_comment(mixed, replace(ABOUT, pictures=("https://x/light.svg", "https://x/dark.svg"))))
    assert {"picture", "source", "img"} <= set(shown.tags)
    assert shown.blocks == []


def test_lower_is_better_reads_the_right_way_round() -> None:
    sides = {"reference": ReferenceSummary(5.0, 100), "candidate": CandidateSummary(6.0, 100)}
    verdict = verdict_of("regression", gamma=5.5, difference=1.0, higher_is_better=False, **sides)
    found = page(result_of(verdict))
    assert found.headings == ["✕ Regression: t rose 1.0 points, 5.0 to 6.0"]
    assert "Lower is better." in found.text
    assert "sees a rise of 3.0 points" in found.text


def test_groups_and_drift_are_named_above_the_folds_only_where_they_stand_out(messages: SnapshotAssertion) -> None:
    names = [f"subject_{i}" for i in range(57)]
    assert "subject" not in page(result_of(verdict_of(groups=groups_of(*names, standing_out=0)))).text
    drifts = [Drift("2026-01-02", 5, -3.0, 0.01, 0.05, detected) for detected in (True, False)]
    runs = {
        "groups": result_of(verdict_of(groups=groups_of(*names, standing_out=5))),
        "drift": result_of(verdict_of(drift=drifts[0])),
        "no drift": result_of(verdict_of(drift=drifts[1])),
    }
    assert {name: first_screen(render_comment(run, ABOUT)) for name, run in runs.items()} == messages
    assert "Compared with the first reference" in render_comment(runs["no drift"], ABOUT)
    many = page(result_of(*[verdict_of(groups=groups_of("a"), task=f"t{i}") for i in range(30)]))
    assert "In 10 further checks groups stand out too." in many.text


# Hostile content


def everywhere(text: str, kinds: Iterable[int] = range(4)) -> list[str]:
    """Comments with this text wherever content can stand."""
    flips = [Flip(text or "id", text, text, text, text), Flip("b", None, None, None, None)]
    keys: dict[str, Any] = {"model": text, "task": text, "reasons": (text, "second"), "settings_changed": (text, text)}
    keys["groups"] = groups_of(text, f"a {text}", "b", "c", standing_out=4)
    drift = Drift(text, 3, -5.0, 0.01, 0.05, True)
    bad = verdict_of("regression", flips=("a", "b", "c"), test=f"t{text}", drift=drift, **keys)
    unsure = replace(bad, verdict="inconclusive", statistic=text, settings_changed=(f"{text}: {text} → {text}",))
    undecided = verdict_of("error", **(keys | {"model": "m", "p_value": None}))
    others = {"accgate": text, "correction": text, "samples": 5, "rules": "base"}
    result = replace(result_of(bad, unsure, undecided), beside=(bad,), **others)  # type: ignore[arg-type]
    changes = (RuleChange(text, text, text, "loosening", text), RuleChange(text, None, text, "new", text))
    loosened, by_check = Guard("loosened", changes, text, text), {(text, text): flips}
    runs: list[tuple[Result | None, dict[str, Any]]] = [
        (result, {"guard": loosened, "flips": by_check}),
        (replace(result, rules="bootstrap"), {"guard": replace(loosened, state="bootstrap"), "flips": by_check}),
        (None, {"failure": Failure(3, f"{text}\n{text}")}),
        (result_of(replace(bad, verdict="pass")), {"guard": loosened}),
    ]
    return [render_comment(runs[at][0], About(text, text, text, None), **runs[at][1]) for at in kinds]


# The columns of each row of each table: checks, answers, rules, checks of the other rules, figures.
def test_every_figure_that_a_check_has_is_in_its_table(messages: SnapshotAssertion) -> None:
    whole = verdict_of(
        theta_target=2.5, allowed_drop=1.0, difference=-4.5, difference_raw=-5.0, n_max=200, stop="regression",
        candidate=CandidateSummary(70.0, 100, 3), interval=Interval(-1.0, (-9.0, -1.0)),
    )  # fmt: skip
    alone = replace(whole, p_adjusted=whole.p_value, difference_raw=None, allowed_drop=0.0, lost=None)
    assert [dict(figures_of(verdict)) for verdict in (whole, alone)] == messages
    assert figures_of(replace(whole, p_value=None)) == ()


SHAPES = [
    [[5] * 4, [3] * 2, [4] * 3, [5] * 2, [8] * 4], [[5] * 4, [3] * 2, [5] * 2, [8] * 4], [],
    [[4] * 3, [5] * 2, [2] * 11],
]  # fmt: skip


def test_hostile_content_is_inert_everywhere() -> None:
    """Each text in one kind of comment; by turns, as the mechanism is one."""
    for number, text in enumerate(hostile()):
        (markdown,), shape = everywhere(text, [number % 4]), SHAPES[number % 4]
        assert_no_command(markdown)
        found, plain = page_of(markdown), page_of(markdown, html=False)
        assert_inert(found)
        assert [[len(row) for row in table] for table in found.tables] == shape, text
        assert len(found.headings) == 1, text
        assert plain.tables == found.tables
        assert set(plain.tags) <= set(found.tags)


def test_a_log_cannot_end_its_block() -> None:
    log = "\n".join(["```", "~~~", "````text", "`" * 250, "</pre>", "<!--", "@org/team", "::error::x", "##[group]y"])
    markdown = render_comment(None, ABOUT, failure=Failure(1, log))
    assert_no_command(markdown)
    found = page_of(markdown)
    assert len(found.blocks) == 1
    assert found.blocks[0].replace("\u200b", "").strip() == log


REFERENCES: tuple[tuple[list[dict[str, Any]], str | None], ...] = (
    ([{"runs": 3, "engine": "vllm 0.21.0; 0.22.1"}], "2026-11-26"),
    ([{"engine": "vllm 0.21.0"}], None),
    ([{"runs": 1, "date": "2026-11-25"}], "2026-11-26"),
    ([{"runs": 1}, {"runs": 4, "date": "2026-10-12"}, {"date": "2026-11-01"}], "2026-11-26"),
    ([{}], "2026-11-01"),
    ([{}, {"date": "2026-11-26"}], "2026-11-26"),
    ([{"runs": 2, "date": None}], "2026-11-26"),
)


def test_the_reference_s_line_says_how_old_it_is_and_what_made_it(messages: SnapshotAssertion) -> None:
    made = {"name": "m", "date": "2026-11-12", "commit": "4e1c0aa"}
    said = {}
    for references, started in REFERENCES:
        sides = [ReferenceSummary(75.0, 400, **made | keys) for keys in references]
        result = result_of(*(replace(verdict_of(task=f"t{at}"), reference=side) for at, side in enumerate(sides)))
        text = render_comment(replace(result, started=started and f"{started}T08:00:00+00:00"), ABOUT)
        said[f"{references} on {started}"] = next(line for line in text.splitlines() if line.startswith("**m**"))
    assert said == messages
