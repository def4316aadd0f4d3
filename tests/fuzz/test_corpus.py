"""Every input of the corpus keeps the promises; `make fuzz` looks for more of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fuzz.target import CORPUS, MISSING, Bench, Ended, content_of
from tests.fuzz.targets import TARGETS


@pytest.fixture
def _collected_before() -> Iterator[None]:
    """What earlier tests left is not collected at the depth of a nested input, where its finalizers cannot run."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_collected_before")
@pytest.mark.parametrize("name", sorted(path.name for path in CORPUS.iterdir()))
def test_what_was_damaged_once_is_told_and_is_never_a_pass(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    bench = Bench(target, tmp_path)
    broken = {case.name: faults for case in target.cases() if (faults := bench.check(content_of(case)))}
    assert not broken


def test_each_input_takes_the_place_of_a_file_that_its_target_reads(tmp_path: Path) -> None:
    for case in CORPUS.glob("*/*"):
        patterns = TARGETS[case.parent.name].files
        assert all(
            any(Path(name.removesuffix(MISSING)).match(part) for part in patterns) for name in content_of(case)
        ), case


def test_a_broken_promise_is_seen(tmp_path: Path) -> None:
    """The measure itself: what each promise forbids is found."""
    bench = Bench(TARGETS["scores"], tmp_path)
    bad = (
        Ended(70, "x"), Ended(2, ""), Ended(3, "internal error: x"), Ended(2, "a" * 4000), Ended(2, "\x1b[2J"),
        Ended(0, "", passed=True),
    )  # fmt: skip
    assert [len(bench.faults(ended, 0.0)) for ended in bad] == [1] * len(bad)
    assert bench.faults(Ended(1, ""), 60.0) == ["60.0 s of processor time"]
    assert not bench.faults(Ended(2, "accgate: a file: is wrong; correct it"), 0.0)
