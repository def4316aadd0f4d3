"""The browser's flips: a word-level diff from which both replies can be read, cut to the room there is."""

from difflib import ndiff

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.report.flips import Flip
from accgate.report.html.flips import (
    ADDED,
    MOST,
    REMOVED,
    ROOM,
    SAME,
    TOKEN,
    WITH_TEXT,
    flips_of_report,
    plain,
    shorten,
    word_diff,
    words_to_compare,
)

replies = st.lists(st.sampled_from(["the", "answer", "is", "42", "41", ".", ",", "\n"]), max_size=30).map(" ".join)


def side(parts: list[tuple[int, str]], kind: int) -> str:
    return "".join(text for given, text in parts if given in (SAME, kind))


@given(before=replies | st.text(max_size=60), after=replies | st.text(max_size=60))
def test_both_replies_can_be_read_from_the_diff(before: str, after: str) -> None:
    parts = word_diff(before, after)
    assert side(parts, REMOVED) == before
    assert side(parts, ADDED) == after


@given(before=replies, after=replies)
def test_the_diff_marks_no_more_words_than_the_standard_librarys(before: str, after: str) -> None:
    found = word_diff(before, after)
    marked = sum(len(TOKEN.findall(text)) for kind, text in found if kind != SAME)
    lines = list(ndiff(TOKEN.findall(before), TOKEN.findall(after), charjunk=None))
    assert marked <= sum(line[0] in "+-" for line in lines)


def test_only_whole_words_are_marked() -> None:
    assert word_diff("It is 1234 m.", "It is 1235 m.") == [
        (SAME, "It is "), (REMOVED, "1234"), (ADDED, "1235"), (SAME, " m."),
    ]  # fmt: skip


def test_replies_too_long_to_compare_count_as_changed_between_what_they_share() -> None:
    before, after = ("head " + " ".join(f"{x}{i}" for i in range(MOST)) + " tail" for x in "ab")
    kinds = [kind for kind, _ in word_diff(before, after)]
    assert kinds == [SAME, REMOVED, ADDED, SAME]


def test_long_stretches_that_are_the_same_are_left_out_around_the_change() -> None:
    same = "word " * 300
    parts = shorten(word_diff(f"{same}yes {same}", f"{same}no {same}"), 1_500)
    assert [kind for kind, _ in parts] == [SAME, REMOVED, ADDED, SAME]
    assert parts[0][1].startswith("… ")
    assert parts[-1][1].endswith(" …")
    assert len(parts[0][1]) < 200


@pytest.mark.parametrize("length", [10, 120, 700])
def test_no_side_is_much_longer_than_there_is_room_for(length: int) -> None:
    before, after = " ".join(map(str, range(0, 900, 3))), " ".join(map(str, range(0, 900, 2)))
    parts = shorten(word_diff(before, after), length)
    assert all(len(side(parts, kind)) <= length + 4 for kind in (REMOVED, ADDED))


def test_many_flips_are_cut_short_but_each_keeps_its_texts() -> None:
    texts = [" ".join(f"w{(at * 7 + k) % 50}" for k in range(200)) for at in range(1_500)]
    flips = {0: [Flip(f"{at:016x}", text, "42", text, text[::-1]) for at, text in enumerate(texts)]}
    cut, data = flips_of_report(flips)
    assert len(data) < 1.5 * ROOM
    assert all(flip.prompt and flip.parts and flip.before and flip.got for flip in cut[0])


def test_past_the_limit_flips_have_their_id_alone() -> None:
    flips = {check: [Flip(f"{check}-{at}", "p", "e", "b", "g") for at in range(WITH_TEXT)] for check in (0, 1)}
    cut, _ = flips_of_report(flips)
    for check in (0, 1):
        rows = cut[check]
        assert [flip.id for flip in rows] == [flip.id for flip in flips[check]]
        assert sum(flip.prompt is not None for flip in rows) == WITH_TEXT // 2
        assert rows[-1].row == {"i": f"{check}-{WITH_TEXT - 1}", "k": [False, False], "b": 1}


@pytest.mark.parametrize(("before", "got"), [(None, "now"), ("then", None), (None, None)])
def test_an_unknown_reply_is_told_from_an_empty_one(before: str | None, got: str | None) -> None:
    (flip,) = flips_of_report({0: [Flip("a", "p", "e", before, got)]})[0][0]
    assert (flip.side(REMOVED), flip.side(ADDED)) == (
        None if before is None else [(REMOVED, before)], None if got is None else [(ADDED, got)],
    )  # fmt: skip
    (empty,) = flips_of_report({0: [Flip("a", "p", "e", "", "")]})[0][0]
    assert (empty.side(REMOVED), empty.side(ADDED)) == ([], [])


def test_work_is_bounded_whatever_the_number_of_flips() -> None:
    assert all(flips * words_to_compare(flips) ** 2 <= 17_000_000 for flips in (1, 100, 1_000, 20_000))


def test_line_breaks_stay_and_controls_do_not() -> None:
    assert plain("a\r\n\tb\x07\u202ec") == "a\n\tb\ufffd\ufffdc"


def test_replies_that_share_nothing_are_shown_without_marks_of_what_differs() -> None:
    flips = [Flip("a", "p", "20", "20", "18"), Flip("b", "p", "20", "It is 20.", "It is 18.")]
    one, two = flips_of_report({0: flips})[0][0]
    assert (one.alike, two.alike) == (False, True)
    assert (one.brief, flips_of_report({0: [Flip("c", "p", "e", "b" * 61, "g")]})[0][0][0].brief) == (True, False)


def test_both_scores_are_texts_in_points_where_they_are_known() -> None:
    flips = [Flip("a", "p", "e", "b", "g", 100.0, 33.333333), Flip("b", "p", "e", "b", "g")]
    one, two = flips_of_report({0: flips})[0][0]
    assert (one.scores, one.row["s"]) == (("100 points", "33.33 points"), ["100 points", "33.33 points"])
    assert (two.scores, "s" in two.row) == (("", ""), False)
