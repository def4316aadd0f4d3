"""What `benchmarks/shares.py` measures holds in a few runs: advisory losses fail nothing, and a slow decline shows."""

from pathlib import Path

import pytest

from benchmarks import shares


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer samples than the tables have, since time matters here."""
    monkeypatch.setattr(shares, "SAMPLES", 120)
    monkeypatch.setattr(shares, "QUESTIONS", 300)


def test_advisory_losses_change_the_verdict_of_no_run(tmp_path: Path) -> None:
    verdicts = []
    for others in (0, 1):
        (tmp_path / str(others)).mkdir()
        tiers = shares.Tiers.in_folder(tmp_path / str(others), others, "advisory")
        verdicts.append([tiers.failed(seed, lost) for lost in (0.0, 30.0) for seed in range(2)])
    assert [part.tier for part in tiers.plan.parts] == ["required", "advisory"]
    assert verdicts[0] == verdicts[1]
    assert verdicts[0][-2:] == [True, True]
    assert not all(verdicts[0])


@pytest.mark.parametrize(
    ("losses", "fails"),
    [((0.0,) * 12, False), ((2.0,) * 12, True), ((0.0,) * 5 + (12.0,) + (0.0,) * 6, True)],
    ids=["nothing", "a slow decline", "a jump"],
)
def test_a_decline_fails_and_a_healthy_history_does_not(losses: tuple[float, ...], fails: bool) -> None:
    every = shares.histories(losses, runs=2)
    assert [history.declined is not None for history in every] == [fails, fails]
    assert all(history.reported <= history.declined for history in every if history.declined)
    assert all(history.gates >= 1 for history in every)
