"""Who answers: what may stand beside each other in one run, on one machine, over replicas and after a resume."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from accgate.config.tables import Model
from accgate.engines.identity import Identity, are_one, change_of, settings_to_keep
from accgate.errors import BadInput, CannotEvaluate
from accgate.references.judge import Makers
from accgate.references.settings import setting_changes
from accgate.references.store import Reference, ReferenceFile
from accgate.trials.settings import settings_of
from tests.support.cases import each

BF16, INT4 = {"toy": '{"root": "org/m-bf16"}'}, {"toy": '{"root": "org/m-int4"}'}


def marked(*marks: str) -> dict[str, Any]:
    return {"system_fingerprint": [*marks] if len(marks) > 1 else marks[0]}


@each(("allowed", "earlier", "kept"), [((), "a", "a"), (("a", "b"), "a", ["a"]), (("*",), "ab", ["a", "b"])])
def test_a_resumed_run_keeps_the_fingerprints_of_its_records(allowed: tuple[str, ...], earlier: str, kept: Any) -> None:
    identity = Identity(allowed)
    identity.expect(marked(*earlier), "there")
    assert identity.settings()["system_fingerprint"] == kept


@each(
    ("allowed", "earlier", "words"),
    [
        ((), ("a", "b"), r'fingerprint a, b, and now options.fingerprints names none.* = \["a", "b"\], or \["\*"\]'),
        (("a", "c"), ("a", "b"), r"system_fingerprint a, b, and now options.fingerprints names a, c"),
    ],
)
def test_a_resumed_run_that_does_not_allow_the_fingerprints_of_its_records_is_refused(
    allowed: tuple[str, ...], earlier: tuple[str, ...], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        Identity(allowed).expect(marked(*earlier), "there")


def test_replicas_are_compared_with_what_answered_before_a_resume() -> None:
    identity = Identity()
    identity.expect({"listed": BF16}, "there")
    identity.join({"model": "toy"})  # a server without a list
    with pytest.raises(CannotEvaluate, match="list of models is"):
        identity.join({"listed": INT4})
    with pytest.raises(BadInput, match=r'it is .toy.: .* options.same_model = \["toy-2"\]$'):
        identity.expect({"model": "toy-2"}, "there")


@each(
    ("same", "names", "refused"),
    [
        (("gate/toy",), ("toy", "gate/toy", "toy"), False),
        (("gate/toy",), ("gate/toy", "toy", "gate/toy"), False),
        (("gate/toy",), ("gate/toy", "toy", "other"), True),
        ((), ("toy", "gate/toy"), True),
    ],
)
def test_other_names_of_the_same_model_are_declared(
    same: tuple[str, ...], names: tuple[str, ...], refused: bool
) -> None:
    identity = Identity((), same)
    *first, last = names
    for name in first:
        identity.check({"model": name}, "there")
    if not refused:
        identity.check({"model": last}, "there")
        Identity((), same).expect({"model": names[0]}, "there")
        return
    with pytest.raises(CannotEvaluate, match=rf'declare it: options.same_model = \["{last}"\]$'):
        identity.check({"model": last}, "there")


@each(
    ("before", "now", "options", "change"),
    [
        ({"model": "a"}, {"model": "b"}, {"same_model": ["a"]}, False),
        ({"model": "a"}, {"model": "b"}, {"options": {"same_model": ["a"]}}, False),
        ({"listed": {"a": "{}"}}, {"listed": {"b": "{}"}}, {"same_model": ["a"]}, False),
        ({"listed": {"a": "{}"}}, {"listed": {"b": '{"root": "x"}'}}, {"same_model": ["a"]}, True),
        ({"listed": {"a": "{}"}}, {"listed": {"b": "{}"}}, {}, True),
    ],
)
def test_a_judge_may_have_another_name_than_the_references_where_that_is_declared(
    before: Any, now: Any, options: Any, change: bool
) -> None:
    assert (change_of(before, now, options) is not None) is change
    key = next(iter(before))
    assert are_one(options, [before[key], now[key]]) is not change


def test_names_that_are_declared_travel_with_what_they_explain() -> None:
    identity = Identity((), ("toy",))
    identity.check({"model": "gate/toy"}, "there")
    now = settings_to_keep(identity.settings())
    assert now == {"model": "gate/toy", "same_model": ["toy"]}
    assert settings_to_keep(Identity((), ("toy",)).settings()) == {}
    old = Makers(judge_served={"model": "toy"})
    assert old.judge_change(Makers(judge_served=now)) is None  # as an anchor's is compared, which knows no options
    assert Makers(judge_served={"model": "other"}).judge_change(Makers(judge_served=now)) is not None


@each(
    ("same", "changes"),
    [(["toy"], ["sampling.temperature"]), (["third"], ["model", "sampling.temperature"])],
)
def test_a_declared_name_is_no_setting_that_changed_or_could_be_put_back(same: list[str], changes: list[str]) -> None:
    model = Model(engine="openai", model="gate/toy", options={"same_model": same})
    settings = {"model": "toy", "sampling": {"temperature": 1.0}}
    about = ReferenceFile(model="m", task="t", mean=50.0, n=9, engine="openai", settings=settings)
    assert [text.partition(":")[0] for text in setting_changes(about, model, None)] == changes
    assert list(settings_of(Reference(Path("r.toml"), about, None), model, None).values) == changes
