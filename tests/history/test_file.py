"""Histories joined in any order, and read after any damage."""

from __future__ import annotations

import hashlib
import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from accgate.history.file import History, history_of, merge_histories, read_content
from accgate.history.run import START, line_of, read_line
from tests.history.made import point, run, runs, season

junk = st.binary(max_size=60).filter(lambda text: b"\n" not in text).map(lambda text: START + text)
FEW = settings(deadline=None, max_examples=20)


@st.composite
def histories(draw: st.DrawFn) -> History:
    """A history as it may be found: runs in any order, some lines cut, some bytes of something else."""
    lines = [line_of(made).text for made in draw(st.lists(runs, max_size=5))]
    cut = [line[: draw(st.integers(0, len(line)))] if draw(st.booleans()) else line for line in lines]
    return read_content(b"\n".join(draw(st.permutations([*cut, *draw(st.lists(junk, max_size=2))]))), "h")


@FEW
@given(histories(), histories(), histories())
@example(*(history_of([run(1, commit=name, result=name)]) for name in "abc"))  # all at one moment
def test_histories_joined_in_any_order_and_grouping_are_the_same_bytes_that_lose_nothing_and_read_back(
    one: History, two: History, three: History
) -> None:
    pair = merge_histories(one, two)
    assert pair.content == merge_histories(two, one).content
    assert merge_histories(pair, three).content == merge_histories(one, merge_histories(two, three)).content
    assert merge_histories(one, one).content == merge_histories(one).content == one.content
    again = read_content(pair.content, "h")
    assert (again.lines, again.damaged) == (pair.lines, pair.damaged)
    assert {line.id for line in pair.lines} == {line.id for line in (*one.lines, *two.lines)}


@FEW
@given(st.lists(runs, max_size=5))
def test_runs_come_back_from_their_lines_with_every_figure(made: list) -> None:
    read = read_content(history_of(made).content, "h")
    assert not read.notes
    assert {line.run for line in read.lines} == set(made)


@given(st.integers(0, 10_000))
@example(len(season(6).lines[0].text) + 2)
def test_a_history_cut_anywhere_reads_up_to_the_cut_and_says_so(at: int) -> None:
    full = season(6)
    cut = full.content[: at % len(full.content)]
    read = read_content(cut, "h.jsonl")
    complete = [line for line in full.lines if line.text in cut]
    assert list(read.lines) == complete
    rest = cut[sum(len(line.text) + 1 for line in complete) :]
    begun = any(line.text.startswith(rest) for line in complete)  # a line that is there whole: nothing is lost
    assert read.damaged == ((rest,) if rest and not begun else ())
    assert [note.partition(" is damaged")[0] for note in read.notes] == [f"h.jsonl:{len(complete) + 1}:"] * bool(rest)
    assert merge_histories(read, full).content == full.content


def test_a_damaged_line_in_the_middle_is_kept_and_said_with_its_number() -> None:
    first, second, third = (line.text for line in season(3).lines)
    changed = second.replace(b"76.5", b"99.5")
    assert changed != second
    read = read_content(b"\n".join((first, changed, third)) + b"\n", "h.jsonl")
    assert [line.text for line in read.lines] == [first, third]
    assert read.damaged == (changed,)
    (note,) = read.notes
    assert note.startswith("h.jsonl:2: is damaged")
    assert changed + b"\n" in merge_histories(read, season(3)).content
    read = read_content(first[:70] + second + b"\n", "h")  # right behind a torn one
    assert [line.text for line in read.lines] == [second]
    assert read.damaged == (first[:70],)


def test_line_ends_of_windows_and_empty_lines_change_nothing() -> None:
    whole = season(4)
    assert read_content(b"\r\n\r\n".join(line.text for line in whole.lines) + b"\r\n", "h").content == whole.content


def test_a_line_of_a_later_version_is_kept_with_its_keys_and_one_it_cannot_understand_is_said() -> None:
    row = json.loads(line_of(run(1)).text)
    row.pop("id")

    def written(**more: str) -> bytes:
        text = json.dumps(row | more, sort_keys=True, separators=(",", ":"))
        return START + f'{hashlib.sha256(text.encode()).hexdigest()[:16]}",{text[1:]}'.encode()

    later = read_content(written(mood="fine"), "h")
    assert (later.runs, later.content) == ((run(1),), written(mood="fine") + b"\n")
    other = read_content(written(checks="none"), "h")
    assert (other.runs, other.content) == ((), written(checks="none") + b"\n")
    assert "from another version of accgate" in other.notes[0]


def test_lines_stand_by_time_and_not_as_they_were_added() -> None:
    days = [run(day) for day in (3, 1, 2)]
    assert [made.started[8:10] for made in history_of(days).runs] == ["01", "02", "03"]


def test_one_result_under_two_names_is_shown_once() -> None:
    named, bare = run(1), run(1, point(model="m"))
    assert len(history_of([named, bare]).lines) == 2
    assert len(history_of([named, bare]).runs) == 1
    assert history_of([named]).has(bare)
    assert not history_of([named]).has(run(2))


def test_what_no_json_holds_is_no_line() -> None:
    for text in (b"", b"[]", b'{"id":"x"}', START, b"\xff\xfe", b"[" * 100_000, b'{"started":1e999}'):
        assert read_line(text) is None


def test_a_figure_that_is_not_finite_becomes_null() -> None:
    (check,) = json.loads(line_of(run(1, point(float("nan"), error=float("inf")))).text)["checks"]
    assert (check["candidate"]["mean"], check["error"]) == (None, None)
