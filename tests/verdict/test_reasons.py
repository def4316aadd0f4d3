"""Reasons: each kind has words, and no verdict and no filter goes by them."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pytest

from accgate import compare
from accgate.errors import BadInput
from accgate.report import result_file
from accgate.report.ending import print_result
from accgate.result import result_of_verdict, to_json
from accgate.verdict import Reason, Verdict, reasons
from accgate.verdict.findings import deciding_theta, lack_sentence
from accgate.verdict.reasons import OBSTACLES, RESOLUTION, Kind, words_of
from tests.report.html_pages import changed
from tests.report.runs import printed, verdict_of
from tests.support.cases import each
from tests.support.gates import RIGHT, WRONG

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

ABILITY = {"n": 60, "drop": "drop", "theta": 10.153, "power": 0.8, "asked": 8.0}
PROOF = {"possible": 4.218, "limit": 3.0}
FAILED = {"failed": 3, "used": 60, "worst_mean": 61.0, "best_mean": 66.0}
APART = {"at_worst": "regression", "at_best": "pass"}
MERGES = {"since": "2026-03-01", "runs": 9, "difference": -2.1, "bound": -0.8, "losses": "4e1c0aa (-1.20)"}
FIGURES: dict[Kind, dict[str, Any]] = {
    "group-fell": {"group": "law", "before": 52.0, "now": 20.8, "n": 57, "more": ", and 1 more of 20 groups"},
    "groups-open": {"names": "law, art"}, "groups-too-small": {"count": 57}, "declined": MERGES,
    "undefined": {"fact": "no value"}, "too-few-evaluated": {"n": 9, "n_max": 1319},
    "no-outcome": {"drop": "rise", "count": 1, "unit": "cluster", "p_value": 0.5, "alpha": 0.05},
    "no-outcome-overall": {"n": 4, "alpha": 0.01},
    "no-room": {"room": 2.0, "end": "chance level (25)", "drop": "drop", "size": 4.0},
    "low-power": {"drop": "drop", "n": 1200, "power": 0.8}, "too-coarse": ABILITY,
    "rules-out": ABILITY | {"n": 1, "theta": None, "drop": "rise", "limit": 1.5},
    "certified": PROOF, "not-certified": PROOF, "few-clusters": {"fewest": 30}, "no-looks": {},
    "unrelated": {"correlation": 0.034, "n": 1200}, "from-marks": {}, "failed-unbounded": FAILED,
    "failed-alike": FAILED, "failed-apart": FAILED | APART, "failed-overall": APART | {"failed": 1200},
    "unread-reference": {}, "pooled": {"checks": 3, "n": 1200}, "turned": {}, "left-out": {"names": "a (b)"},
    "undecided-checks": {"count": 1, "checks": 3, "names": "sums"}, "not-binary": {},
    "larger-reference": {"theta": 5.0},
    "more-samples": {"theta": 7.0, "needs": "may need", "needed": 1200, "n": 100},
    "rows-without-reference": {"n": 80, "available": 95}, "dataset-size": {"n": 80},
    "near-chance": {"mean": 26.0, "chance": 25.0}, "dataset-not-read": {"n": 1319, "error": "no network"},
    "few-repeats": {"temperature": 0.7, "repeats": 4, "recorded": 1}, "not-deterministic": {"discordance": 0.025},
    "replies-not-shown": {"error": "a torn file"}, "base-rules": {"text": "no reference"},
    "replies-differ": {"changed": 2, "replies": 94, "other": "cold", "tokens": 5, "first": "q1 at token 3 (4 → 5)"},
}  # fmt: skip
OTHER = {"text": "another part said so"}


def test_each_kind_has_words_with_its_figures(messages: SnapshotAssertion) -> None:
    assert {kind: words_of(Reason(kind, FIGURES.get(kind, OTHER))) for kind in get_args(Kind)} == messages


@each("kind", [*(kind for kind in FIGURES if FIGURES[kind]), "test"])
def test_a_reason_without_its_figures_has_no_words(kind: Kind) -> None:
    with pytest.raises(ValueError, match=f"a reason of the kind {kind} lacks figures"):
        words_of(Reason(kind))


def cases() -> list[Verdict]:
    """Verdicts with a reason of most kinds that a comparison gives."""
    made = []
    sides = [
        changed(40, 0.05, 0.05), changed(300, 0.02, 0.02), changed(300, 0.0, 0.2), ([RIGHT] * 4, [RIGHT] * 4),
        ([RIGHT] * 10 + [WRONG] * 990,) * 2, ([RIGHT, WRONG] * 50,) * 2,
    ]  # fmt: skip
    for (before, now), theta, certify in itertools.product(sides, (None, 2.0, 5.0, 15.0), (False, True)):
        if theta is not None or not certify:
            made.append(compare(before, now, theta=theta, certify=certify))
    draw = np.random.default_rng(3)
    graded = draw.uniform(20.0, 80.0, 60)
    for certify in (False, True):
        moved = (graded + draw.normal(1.0, 2.0, 60)).clip(0.0, 100.0)
        made.append(compare(list(graded), list(moved), theta=1.0, scale=1, certify=certify, early_stopping=True))
    return made


verdicts = cache(cases)  # as they are worded


def remarks_of(verdict: Verdict) -> int:
    """The number of remarks that the end of a run prints."""
    result = result_of_verdict(replace(verdict, model="m", task="t"))
    text = printed(lambda console: print_result(console, result), 400)
    return sum(line.lstrip().startswith("- ") for line in text.splitlines())


def test_rewording_every_reason_changes_no_verdict_and_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    before = verdicts()
    remarks = [remarks_of(verdict) for verdict in before]
    assert any(remarks)
    monkeypatch.setattr(reasons, "WORDS", {kind: f"reworded {kind}" for kind in get_args(Kind)})
    for old, new, count in zip(before, cases(), remarks, strict=True):
        assert replace(new, reasons=old.reasons) == old
        assert new.reasons == tuple(f"reworded {cause.kind}" for cause in old.causes)
        assert (new.obstacle is None) == (old.obstacle is None)
        assert deciding_theta(new) == deciding_theta(old)
        assert remarks_of(new) == count
    seen = {cause.kind for verdict in before for cause in verdict.causes}
    assert {"test", "too-coarse", "rules-out", "certified", "not-certified", "no-outcome", "no-room"} <= seen


def test_a_certified_pass_has_no_reason_that_is_no_longer_true() -> None:
    passed = [v for v in verdicts() if v.verdict == "pass" and any(cause.kind == "certified" for cause in v.causes)]
    assert passed
    for verdict in passed:
        assert not {cause.kind for cause in verdict.causes} & (OBSTACLES | RESOLUTION)


def test_what_an_undecided_check_lacks_is_its_last_obstacle() -> None:
    note, room, proof = Reason.of("note", text="a note"), Reason.of("low-power", drop="drop", n=3, power=0.8), PROOF
    verdict = verdict_of("inconclusive", causes=(room, Reason("not-certified", proof), note), certify=True)
    assert verdict.obstacle == verdict.reasons[1]
    assert lack_sentence(verdict).startswith("Not certified: a drop of 4.22 points is possible")
    assert str(verdict).endswith("; not certified: a drop of 4.22 points is possible, and 3 must be ruled out.")


def test_more_reasons_stand_after_those_there_are_and_keep_their_words() -> None:
    verdict = verdict_of(reasons=("of an earlier version",)).because(Reason.of("turned"))
    assert verdict.reasons == ("of an earlier version", words_of(Reason.of("turned")))
    assert [cause.kind for cause in verdict.causes] == ["note", "turned"]
    assert verdict.explained_by(()).reasons == ()


def test_accgate_json_has_the_texts_and_the_causes_and_reads_them_back(tmp_path: Path) -> None:
    path = tmp_path / "accgate.json"
    for verdict in verdicts():
        path.write_text(to_json(result_of_verdict(verdict)))
        (check,) = json.loads(path.read_text())["checks"]
        assert check["reasons"] == list(verdict.reasons)
        assert [cause["kind"] for cause in check["causes"]] == [cause.kind for cause in verdict.causes]
        assert result_file.read_result(path).checks == (verdict,)


def test_a_result_of_an_earlier_version_has_notes_with_its_texts(tmp_path: Path) -> None:
    path, verdict = tmp_path / "accgate.json", verdicts()[0]
    data = json.loads(to_json(result_of_verdict(verdict)))
    del data["checks"][0]["causes"]
    path.write_text(json.dumps(data))
    (read,) = result_file.read_result(path).checks
    assert read.reasons == verdict.reasons
    assert read.causes == tuple(Reason.of("note", text=text) for text in verdict.reasons)
    assert result_file.differences(result_file.read_result(path), result_of_verdict(verdict)) == []


@each("change", [
    {"causes": [{"kind": "note", "figures": {"text": "a"}}] * 3},
    {"causes": [{"kind": "guess", "figures": {}}]},
    {"reasons": [], "causes": [{"kind": "certified", "figures": {}}]},
    {"reasons": [], "causes": [{"kind": "certified", "figures": {"possible": "x", "limit": 1}}]},
    {"reasons": [], "causes": [{"kind": "test", "figures": {"text": ["x"]}}]},
])  # fmt: skip
def test_causes_that_are_none_make_no_result(change: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "accgate.json"
    data = json.loads(to_json(result_of_verdict(verdict_of(reasons=("one",)))))
    data["checks"][0] |= change
    path.write_text(json.dumps(data))
    with pytest.raises(BadInput, match="is not a result"):
        result_file.read_result(path)


def test_the_schema_of_the_result_names_the_kinds() -> None:
    definitions = result_file.result_schema()["$defs"]
    assert definitions["Reason"]["properties"]["kind"]["enum"] == list(get_args(Kind))
    assert definitions["Verdict"]["properties"]["causes"]["items"] == {"$ref": "#/$defs/Reason"}
