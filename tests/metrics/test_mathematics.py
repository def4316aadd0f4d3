"""Mathematical answers: equal where they are, never by a hang, a crash or a silent 0."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from accgate.metrics import get
from accgate.metrics.equality import box_content
from accgate.metrics.mathematics import Comparer, NoDecision
from tests.metrics.readings import LENIENT, MATHEMATICS, READINGS, WORD_PROBLEMS
from tests.support.cases import each


def test_a_person_and_the_metric_say_the_same_of_every_pair() -> None:
    pytest.importorskip("math_verify")
    metric = get("math")
    wrong = [pair for *pair, truth in MATHEMATICS if metric(*pair) != 100 * truth]  # type: ignore[call-arg]
    assert len(MATHEMATICS) == 36
    assert wrong == []
    missed = [reply for reply, target, truth in WORD_PROBLEMS if metric(reply, target) != 100 * truth]
    assert missed == ["The answer is 21 (see step 3)."]
    assert [pair for pair in LENIENT if metric(*pair) != 100] == []  # docs/tasks.md lists them


@pytest.mark.slow
def test_the_library_alone_reads_fewer() -> None:
    library = pytest.importorskip("math_verify")

    def says(answer: str, target: str) -> bool:
        gold = library.parse(target if set(target).isdisjoint("\\^_[({") else f"${target}$")
        return bool(library.verify(gold, library.parse(answer)))

    missed = [answer for answer, target, truth in MATHEMATICS if says(answer, target) != truth]
    assert len(missed) == 9  # the figures of docs/tasks.md
    assert len([reply for reply, target, truth in WORD_PROBLEMS if says(reply, target) != truth]) == 12


def test_notations_of_one_number_are_equal_and_small_or_related_numbers_are_not() -> None:
    pytest.importorskip("math_verify")
    metric = get("math")
    assert [pair for pair in READINGS["equal notations"] if metric(rf"\boxed{{{pair[0]}}}", pair[1]) != 100] == []
    assert [pair for pair in READINGS["unequal notations"] if metric(rf"\boxed{{{pair[0]}}}", pair[1]) != 0] == []
    assert metric(r"Either \boxed{1} or \boxed{2}.", "2,1") == metric("It is 5!", "5") == 100


HOSTILE = [r"\boxed{10^{10^{10}}}", r"\boxed{99999999!}"]


@pytest.mark.slow
def test_what_cannot_be_decided_in_time_fails_and_the_next_pair_is_compared() -> None:
    pytest.importorskip("math_verify")
    metric = get("math", timeout=0.5)
    for answer in HOSTILE:
        with pytest.raises(NoDecision, match=r"more than 0\.5 s of processor time"):
            metric(answer, "5")
        assert metric(answer, answer) == 100  # the same text needs no decision
    assert metric(r"\boxed{\frac{1}{2}}", "0.5") == 100


def test_nothing_that_a_reply_holds_is_run() -> None:
    pytest.importorskip("math_verify")
    mark = Path("ran")
    code = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    for text in (code, rf"\boxed{{{code}}}", f"The answer is {code}", f"$(1).__class__ + {code}$", f"1+{code}"):
        assert get("math")(text, "5") == 0
    assert not mark.exists()


def test_it_compares_in_threads_of_an_event_loop() -> None:
    pytest.importorskip("math_verify")
    metric = get("math")

    async def together() -> list[float]:
        return await asyncio.gather(*(asyncio.to_thread(metric, r"\frac12", "0.5") for _ in range(4)))

    assert metric.waits
    assert asyncio.run(together()) == [100.0] * 4


@pytest.mark.slow
def test_too_much_memory_and_a_process_that_ends_are_no_score() -> None:
    pytest.importorskip("math_verify")
    comparer = Comparer(5.0)
    assert comparer.points("1", "1.0") == 100
    assert comparer._process is not None
    comparer._process.kill()
    with pytest.raises(NoDecision, match="its process ended with code -9"):
        comparer.points("2", "2.0")
    assert comparer.points("2", "2.0") == 100
    comparer.stop()


def test_the_process_runs_no_module_of_the_working_folder_and_ends(tmp_path: Path, monkeypatch) -> None:
    pytest.importorskip("math_verify")
    (tmp_path / "sympy.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    comparer = Comparer(5.0)
    assert (comparer.points("1/2", "0.5"), comparer.points("1", "2")) == (100, 0)
    assert comparer._process is not None
    pid = comparer._process.pid
    comparer.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_without_the_package_the_message_has_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "math_verify", None)
    with pytest.raises(ImportError, match=r"math needs math-verify; pip install 'accgate\[math\]'"):
        get("math")


@each(
    ("content", "replies"),
    [
        (r"\frac{1}{\sqrt{2}}", [r"\boxed{1}, no: \boxed{\frac{1}{\sqrt{2}}}"]),
        ("2", [r"\boxed{1} = \boxed{2}"]),
        (r"\{1, 2\}", [r"\boxed{\{1, 2\}}"]),
        ("3", [r"\fbox{3}", r"\boxed {3}", "so <|begin_of_box|>3<|end_of_box|>"]),
        (None, ["", "5", r"\boxed{5", r"\boxed 5", r"\boxed{"]),
        ("1, 2", [
            r"\boxed{1} and \boxed{2}.", r"$\boxed{1}$, $\boxed{2}$", r"$x=\boxed{1}$ or $x = \boxed{2}$",
            "- $\\boxed{1}$\n- $\\boxed{2}$", r"\[\boxed{1}\] und \[\boxed{2}\]", r"\boxed{1}\text{ and }\boxed{2}",
            r"\boxed{5}. No: \boxed{1}, \boxed{2}, \boxed{2}",
        ]),
    ],
)  # fmt: skip
def test_the_last_box_counts_and_boxes_beside_it_are_one_answer(content: str | None, replies: list[str]) -> None:
    assert {reply: box_content(reply) for reply in replies} == dict.fromkeys(replies, content)


def test_boxes_are_found_in_one_pass() -> None:
    for piece in ("\n", " ", "\n -", " and ", "a ", "x_", r"\,", r"\boxed{", r"\boxed{1}"):
        box_content(rf"\boxed{{1}}{piece * 1_000}\boxed{{2}}")


@each(
    ("answer", "target", "is_found"),
    [
        (r"\frac{1}{3}", "1/2", True),
        ("the answer is y", "x", True),
        ("Even number.", "even number", True),
        (r"\boxed{}", "1/2", False),
        ("no idea", "1/2", False),
    ],
)
def test_words_without_mathematics_are_no_answer(answer: str, target: str, is_found: bool) -> None:
    assert get("math").found(answer, [target], 0.0) == is_found
