"""GitHub fails at any one call of publishing, or from there on: no check is green that was not earned."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, cycle
from pathlib import Path
from typing import Any

import pytest

from accgate.github.api.client import Client
from tests.github.server import SECONDARY, GitHub
from tests.github.store import HEAD, Store
from tests.support.gates import right_but
from tests.support.pull_requests import NUMBER, Gate, Job
from tests.support.servers import Fault

# What a server, or a proxy in front of it, sends. To all above its client a cut or late answer is one with status 500.
FAULTS = {
    "403": Fault(403, {"message": "Resource not accessible by integration"}),
    "404": Fault(404, {"message": "Not Found"}),
    "422": Fault(422, {"message": "Validation Failed", "errors": []}),
    "429": Fault(429, SECONDARY, {"retry-after": "1"}),
    "500": Fault(500, b"<html>Unicorn!</html>"),
    "null": Fault(200, b"null"),
    "an empty list": Fault(200, b"[]"),
    "an object of other keys": Fault(200, {"ok": True}),
}
WAITED_OUT = ("429", "500")
GREEN = {"success", "neutral", "skipped"}
TROUBLE = "::warning title=accgate could not publish everything::"


@dataclass(frozen=True)
class Published:
    """How one publishing ended: the job's exit code, what it printed, its check runs and comments, and the calls."""

    code: int
    text: str
    conclusions: list[str | None]
    comments: int
    calls: list[str]

    @property
    def warnings(self) -> list[str]:
        return re.findall(rf"^{TROUBLE}(.*)$", self.text, re.MULTILINE)


class Publishing:
    """An evaluated pull request that is published again and again, each time to a GitHub that has not seen it."""

    def __init__(self, gate: Gate, capsys: pytest.CaptureFixture[str], before: Callable[[Store], object]) -> None:
        self.gate, self.capsys, self.before = gate, capsys, before
        self.evaluated = gate.pull.run()
        self.calls = self().calls

    def __call__(self, name: str = "", at: int = 0, **how: Any) -> Published:
        hub, gate = self.gate.hub, self.gate
        hub.store, hub.asked, hub.failing = Store(), [], []
        hub.store.add_pull(NUMBER)
        self.before(hub.store)
        old = {*hub.store.check_runs}
        if name:
            hub.fail(FAULTS[name], skip=at, **how)
        gate.job = Job(hub, gate.folder / "job", gate.monkeypatch)
        gate.job.state.unlink(missing_ok=True)
        self.capsys.readouterr()
        assert gate.job.start() == 0
        code = gate.publish("--exit-code", str(self.evaluated))
        printed = self.capsys.readouterr()
        conclusions = [row["conclusion"] for number, row in hub.store.check_runs.items() if number not in old]
        calls = [f"{asked.method} {asked.path}" for asked in hub.asked]
        return Published(code, printed.out + printed.err, conclusions, len(hub.comments(NUMBER)), calls)

    def with_faults(
        self, where: str = "", names: Iterable[str] = FAULTS, **how: Any
    ) -> Iterator[tuple[str, str, Published]]:
        """Each fault at each call that the expression is found in, once; its name, the call, and the end."""
        for at, call in enumerate(self.calls):
            for name in names if re.search(where, call) else ():
                yield name, call, self(name, at, **how)

    def with_lasting_faults(self) -> Iterator[tuple[str, str, Published]]:
        """From each call on nothing else comes but one of the faults."""
        for name, (at, call) in zip(cycle(FAULTS), enumerate(self.calls)):
            yield name, call, self(name, at, times=10**6)


@pytest.fixture
def gate(hub: GitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gate:
    monkeypatch.setitem(Client.__init__.__kwdefaults__, "sleep", lambda _: None)
    return Gate(hub, tmp_path, monkeypatch, n=60)  # few samples: it is published hundreds of times


def reviews_that_do_not_count(store: Store) -> None:
    store.add_review(NUMBER, "ann", "APPROVED")  # the author
    store.add_review(NUMBER, "rita", "APPROVED")  # who may only read


@pytest.mark.slow
def test_no_fault_turns_a_looser_gate_that_nobody_approved_green(
    gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    gate.head.write(alpha=0.0001)
    gate.head.answer(right_but(0))
    publishing = Publishing(gate, capsys, reviews_that_do_not_count)
    faults = publishing.with_faults(r"GET .*(pulls|collaborators|issues/\d+/(events|timeline))")
    for name, call, ended in chain(faults, publishing.with_lasting_faults()):
        assert (ended.code, GREEN & {*ended.conclusions}) == (4, set()), (name, call, ended)
        assert "Traceback" not in ended.text
        assert "loosens the gate" in ended.text, (name, call, ended)


def job_that_failed(store: Store) -> None:
    """Another job of this very run, which is for another part of the checks under the same name."""
    more = {"status": "completed", "conclusion": "failure", "external_id": "100.1.7.0123abcd"}
    store.add_check_run({"name": "accgate", "head_sha": HEAD} | more)


@pytest.mark.slow
def test_no_fault_hides_another_job_of_the_same_name_that_failed(
    gate: Gate, capsys: pytest.CaptureFixture[str]
) -> None:
    gate.head.answer(right_but(0))
    publishing = Publishing(gate, capsys, job_that_failed)
    for name, call, ended in chain(publishing.with_faults("check-runs"), publishing.with_lasting_faults()):
        assert not GREEN & {*ended.conclusions}, (name, call, ended)
        assert "Traceback" not in ended.text


@pytest.mark.slow
def test_a_fault_leaves_a_pass_as_it_is_and_is_said_once(gate: Gate, capsys: pytest.CaptureFixture[str]) -> None:
    gate.head.answer(right_but(0))
    publishing = Publishing(gate, capsys, lambda _: None)
    writes = publishing.with_faults("^(POST|PATCH) .*(comments|check-runs)", ("500", "null"), performed=True)
    for name, call, ended in chain(publishing.with_faults(), writes):
        what = name, call, ended
        assert ended.code == 0, what
        assert "Traceback" not in ended.text
        assert len(ended.warnings) <= 1, what
        assert not ended.warnings or name not in WAITED_OUT, what
        if not ended.warnings:
            assert (ended.conclusions[-1], ended.comments) == ("success", 1), what
