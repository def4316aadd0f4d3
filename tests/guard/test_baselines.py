"""Which reference a check is compared with, and when a pull request's choice of another one loosens the gate."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from accgate.errors import BadInput
from accgate.guard.state import RuleChange
from tests.support.gates import Project, right_but
from tests.support.trees import Trees, effects, trees


def only(pair: Trees) -> RuleChange:
    (change,) = pair.changes()
    return change


@pytest.fixture
def variants(tmp_path: Path) -> Trees:
    """A base with references of m@quant=bf16 and m@quant=fp8, in which m is bf16."""
    pair = trees(tmp_path)
    for quant in ("fp8", "bf16"):
        pair.base.models["m"]["variant"] = {"quant": quant}
        pair.base.write()
        assert pair.base.record(right_but(1, 20)) == 0
    return pair.again()


def model(tree: Project, **keys: Any) -> None:
    merged = tree.models["m"] | keys
    tree.models["m"] = {key: value for key, value in merged.items() if value is not None}
    tree.write()


def test_another_variant_is_compared_with_another_reference(variants: Trees) -> None:
    model(variants.head, variant={"quant": "fp8"})
    change = only(variants)
    assert (change.rule, change.effect) == ("models.m.variant", "loosening")
    assert (change.base, change.head) == ("m@quant=bf16", "m@quant=fp8")
    assert change.why == "another reference is used for sums"
    assert change.line is not None
    for tree in (variants.base, variants.head):
        tree.tasks["sums"]["target"] = 50.0  # which takes the place of a recorded reference
        tree.write()
    assert variants.changes() == ()


@pytest.mark.parametrize("baseline", ["m@quant=bf16", "m@bf16"])
def test_another_variant_that_keeps_its_baseline_is_no_change(variants: Trees, baseline: str) -> None:
    model(variants.head, variant={"quant": "fp8"}, baseline=baseline)
    assert variants.changes() == variants.back() == ()


def test_another_baseline_is_a_loosening_recorded_or_not(variants: Trees) -> None:
    model(variants.head, baseline="m@fp8")
    assert effects(variants.changes()) == {"models.m.baseline": "loosening"}
    model(variants.head, baseline="m@quant=int4")
    assert only(variants).head == "m@quant=int4 (not recorded)"
    assert only(variants).effect == "loosening"


def test_a_recorded_reference_that_a_check_did_not_have_is_new(variants: Trees) -> None:
    model(variants.base, variant={"quant": "int4"})
    assert effects(variants.changes()) == {"models.m.variant": "new"}


def test_an_added_reference_that_takes_a_checks_place_is_a_loosening(variants: Trees) -> None:
    for tree in (variants.base, variants.head):
        model(tree, variant=None, baseline="m@bf16")
    shutil.copytree(variants.head.store / "m@quant=bf16", variants.head.store / "m@bf16")
    found = effects(variants.changes())
    assert found == {"references: m@bf16/sums": "new", "references: m/sums": "loosening"}


def test_a_baseline_that_fits_several_references_is_bad_input_in_the_head_alone(variants: Trees) -> None:
    for tree in (variants.base, variants.head):
        model(tree, baseline="m@bf16")
    shutil.copytree(variants.head.store / "m@quant=bf16", variants.head.store / "m@kv=bf16")
    with pytest.raises(BadInput, match="fits m@kv=bf16 and m@quant=bf16"):
        variants.changes()
    assert set(effects(variants.back()).values()) == {"loosening"}
