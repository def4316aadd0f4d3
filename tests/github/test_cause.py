"""What a search for the cause says in the comment, and what is made of one that somebody tampered with."""

import html
import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from accgate.decision.cause import Blame, Change, causes_of, levels_of, trial_of
from accgate.errors import BadInput
from accgate.report.cause import CauseFile, read_cause, write_cause
from accgate.result import to_json
from tests.github.server import GitHub
from tests.report.rendered import page_of
from tests.support.cases import each
from tests.support.gates import right_but
from tests.support.pull_requests import NUMBER, Job, PullRequest

Data = dict[str, Any]


class Red:
    """A pull request whose run lost 20 answers, and its job."""

    def __init__(self, hub: GitHub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.hub = hub
        hub.store.add_pull(NUMBER)
        self.pull = PullRequest(folder)
        self.job = Job(hub, folder / "job", monkeypatch)
        self.pull.head.answer(right_but(20))
        assert self.pull.run() == 1
        self.out = self.pull.head.out
        self.cause = self.out / "cause.json"

    def publish(self, *args: str, code: int = 1) -> str:
        """Publish, and return the comment. The verdict stands, whatever the file says."""
        trees = ("--head", str(self.pull.head.folder), "--base", str(self.pull.base.folder))
        assert self.job.publish(self.out / "accgate.json", *trees, "--exit-code", str(code), *args) == code
        assert self.job.outputs["verdict"] == ("regression" if code else "pass")
        (comment,) = self.hub.comments(NUMBER)
        return str(comment["body"])


@pytest.fixture(scope="module")
def red(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Red]:
    with GitHub() as hub, pytest.MonkeyPatch.context() as monkeypatch:
        yield Red(hub, tmp_path_factory.mktemp("red"), monkeypatch)


def blame_of(model: str = "m", task: str = "sums", *, value: str = "q4_0", lost: int = 20) -> Blame:
    """A search that found that `options.k` explains 11 of the lost answers, and `options.v` none."""
    ids = [str(number) for number in range(lost)]
    before = dict.fromkeys(ids, 100.0)
    now, eleven = dict.fromkeys(ids, 0.0), {id_: 100.0 * (at < 11) for at, id_ in enumerate(ids)}
    levels = levels_of(0.05, 2, 0.05)
    trials = [
        trial_of("all back", ("options.k", "options.v"), levels["all back"], now, before, frozenset(ids)),
        trial_of("put back", ("options.k",), levels["put back"], now, eleven, frozenset(ids)),
        trial_of("put back", ("options.v",), levels["put back"], now, now, frozenset(ids)),
    ]
    changes = (Change("options.k", "f16", value), Change("options.v", "f16", "q8_0"))
    causes = causes_of(trials, lost, 0.05)
    return Blame(model, task, lost, changes, (), lost, 0, tuple(trials), 0.05, 80, None, causes)


def plain(text: str) -> str:
    """The characters that a reader sees."""
    return html.unescape(text).replace("\u200b", "")


def test_the_comment_says_under_the_verdict_what_explains_the_loss_and_who_says_so(red: Red) -> None:
    write_cause(CauseFile(blame_of()), red.cause)
    comment = plain(red.publish())
    sentence = "**Which setting did it?** options.k = q4_0 explains 11 of the 20 lost answers (at least 6, at 95%)."
    assert sentence in comment
    assert comment.index("## ") < comment.index(sentence)
    assert "The evaluating job found this after its verdict; it is not part of the verdict." in comment
    (row,) = [line for line in comment.splitlines() if "`options.v` |" in line]
    assert "| f16 | q8_0 | 0 of 20 |" in row
    assert row.endswith("| does not |")
    write_cause(CauseFile(failure="no setting differs"), red.cause)
    assert "**Which setting did it?** That is unknown: no setting differs." in plain(red.publish())
    red.cause.unlink()
    assert "Which setting did it" not in red.publish()


def test_of_a_fork_and_of_a_run_that_did_not_regress_nothing_is_said(red: Red) -> None:
    write_cause(CauseFile(blame_of()), red.cause)
    assert "Which setting" not in red.publish("--untrusted")
    red.pull.head.answer(right_but(0))
    assert red.pull.run() == 0
    assert not red.cause.exists()  # a new run removes what was found of another
    write_cause(CauseFile(blame_of()), red.cause)
    assert "Which setting" not in red.publish(code=0)
    red.pull.head.answer(right_but(20))
    assert red.pull.run() == 1


def test_names_and_values_are_text_and_take_little_room(red: Red) -> None:
    hostile = "x](http://evil) <img src=x> @team ``` | :rocket: https://evil.example ::error::" * 20
    write_cause(CauseFile(blame_of(value=hostile)), red.cause)
    comment = red.publish()
    assert len(comment) < 12_000
    block = comment.split("Which setting did it?")[1].split("it is not part of the verdict")[0]
    assert not [link for link in page_of(comment.split("-->", 1)[-1]).links if "evil" in link]
    for words in ("<img", "@team", "https://evil", "```", ":rocket:"):
        assert words not in block


def changed(**keys: Any) -> Data:
    return {"blame": {**asdict(blame_of()), **keys}}


def with_trial(at: int, **keys: Any) -> Data:
    data = json.loads(to_json(blame_of()))
    data["trials"][at] |= keys
    return {"blame": data}


HOSTILE: dict[str, Any] = {
    "another count": changed(causes=[{**asdict(blame_of().causes[0]), "count": 20}]),
    "a finding that does not follow": with_trial(2, finding="cause"),
    "more than were lost": with_trial(1, lost=30, n=30),
    "fewer than none": with_trial(1, back=-1),
    "no number": with_trial(1, evidence=float("nan")),
    "alpha of a half": changed(alpha=0.5),
    "questions without end": changed(questions=10**4000),
    "more by chance than asked": changed(by_chance=21),
    "a run's evidence that it did not have": changed(p_value=0.0),
    "an alpha that no run has": changed(run_alpha=0.9),
    "more gained than the run did": with_trial(1, gained=1, n=21),
    "a setting that is none": with_trial(2, settings=["options.z"]),
    "a trial twice": changed(trials=[asdict(trial) for trial in (*blame_of().trials, blame_of().trials[0])]),
    "no settings": changed(changes=[], trials=[], causes=[]),
    "another key": changed(html="<b>"),
    "a long text": changed(ended_early="x" * 3_000),
    "a long list": changed(fixed=[asdict(Change("a", "b", "c"))] * 301),
    "neither": {},
    "both": {**changed(), "failure": "x"},
}
TEXTS = {name: json.dumps(data, default=str) for name, data in HOSTILE.items()}
TEXTS |= {text[:9]: text for text in ("[" * 100_000, '{"blame": ' + " " * 1_000_000 + "null}")}


@each(("name", "text"), TEXTS.items())
def test_a_file_that_does_not_follow_from_its_own_counts_is_not_believed(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / "cause.json"
    write_cause(CauseFile(blame_of()), path)
    cause = read_cause(path)
    assert cause is not None
    assert cause.blame == blame_of()
    path.write_text(text)
    with pytest.raises(BadInput, match=r"cause\.json"):
        read_cause(path)


def test_of_a_file_that_is_not_believed_or_no_file_at_all_nothing_is_shown(red: Red, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")
    for make in (
        lambda: red.cause.write_text(json.dumps(HOSTILE["another count"])),
        red.cause.mkdir,
        lambda: red.cause.symlink_to(secret),
        lambda: os.mkfifo(red.cause),
    ):
        make()
        comment = plain(red.publish())
        assert "That is unknown: cause.json: " in comment
        assert "canary" not in comment
        assert "explains" not in comment.split("Which setting did it?")[1].split("\n")[0]
        red.cause.rmdir() if red.cause.is_dir() else red.cause.unlink()


def test_a_search_of_another_check_or_of_another_loss_is_not_shown(red: Red) -> None:
    for blame in (blame_of("n"), blame_of(lost=19)):
        write_cause(CauseFile(blame), red.cause)
        comment = plain(red.publish())
        assert "a check that did not regress" in comment
        assert "explains" not in comment.split("Which setting did it?")[1].split("\n")[0]
    red.cause.unlink()
