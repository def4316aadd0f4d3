"""The badge says what the latest run said, in a form that shields.io and any browser read."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput, VerdictName
from accgate.history.file import history_of
from accgate.history.page import BADGES, DRIFTING, Badge, badge_of, svg
from tests.cases import each
from tests.history.made import declining, point, run, season
from tests.report.hostile import hostile

COLOURS = {verdict: colour for verdict, (_, colour) in BADGES.items()}

NAMESPACE = "{http://www.w3.org/2000/svg}"


@each(
    ("verdict", "message"),
    [
        ("pass", "no regression"),
        ("regression", "regressed"),
        ("inconclusive", "too few samples"),
        ("no-reference", "no reference"),
        ("error", "not evaluated"),
    ],
)
def test_the_latest_run_s_verdict_is_the_badge(verdict: VerdictName, message: str) -> None:
    runs = [run(1, point(verdict="pass")), run(2, point(verdict="regression")), run(3, point(verdict=verdict))]
    badge = badge_of(runs)
    assert (badge.label, badge.message, badge.color) == ("accuracy", message, COLOURS[verdict])


def test_only_a_pass_is_green() -> None:
    assert [*COLOURS.values(), DRIFTING].count(COLOURS["pass"]) == 1


def test_a_slow_decline_is_no_plain_pass() -> None:
    runs = [run(1, point(), point(task="mmlu", drift=declining()))]
    assert badge_of(runs) == Badge("accuracy", "no regression, but declining", DRIFTING)
    assert badge_of(runs, "m/mmlu") == Badge("mmlu", "75.0 ± 1.0, but declining", DRIFTING)
    assert badge_of(runs, "m/gsm8k") == Badge("gsm8k", "75.0 ± 1.0", COLOURS["pass"])


def test_a_check_s_badge_has_its_mean_even_where_that_is_0() -> None:
    assert badge_of([run(1, point(0.0))], "m/gsm8k").message == "0.0 ± 1.0"
    assert badge_of([run(1, point(error=None))], "m/gsm8k").message == "75.0"
    assert badge_of([run(1, point(70.0, "regression"))], "m/gsm8k").message == "70.0 ± 1.0, regressed"
    assert badge_of([run(1, point(None, "error"))], "m/gsm8k").message == "not evaluated"


def test_the_worst_of_several_variants_counts() -> None:
    runs = [run(1, point(), point(70.0, "regression", model="m@quant=int4"))]
    assert badge_of(runs, "m/gsm8k") == Badge("gsm8k", "regressed", COLOURS["regression"])
    with pytest.raises(BadInput):
        badge_of(runs, "x/gsm8k")
    with pytest.raises(BadInput):
        badge_of([])


def contrast(color: str) -> float:
    """Of white on a colour: WCAG 2.2, relative luminance."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 1.05 / (0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)


@each("color", [*COLOURS.values(), DRIFTING, "#3d444d"])
def test_white_text_on_it_can_be_read(color: str) -> None:
    assert contrast(color) >= 4.5


def test_its_text_is_within_its_halves() -> None:
    root = ET.fromstring(svg(Badge("gsm8k", "75.0 ± 1.0", "#1a7f37")))
    _, left, right = root.iter(f"{NAMESPACE}rect")
    texts = list(root.iter(f"{NAMESPACE}text"))
    for text, half in zip(texts, (left, right), strict=True):
        start, room = float(half.get("x", "0")), float(half.get("width", "0"))
        at, width = float(text.get("x", "0")), float(text.get("textLength", "0"))
        assert start + 5 <= at
        assert at + width <= start + room - 5
    assert [text.text for text in texts] == ["gsm8k", "75.0 ± 1.0"]
    assert root.get("aria-label") == "gsm8k: 75.0 ± 1.0"


def test_any_name_is_text_in_it() -> None:
    for name in hostile():
        badge = badge_of([run(1, point(task=name))], f"m/{name}")
        root = ET.fromstring(svg(badge))
        assert {element.tag.removeprefix(NAMESPACE) for element in root.iter()} <= {
            "svg", "title", "clipPath", "rect", "g", "text",
        }  # fmt: skip
        json.dumps(badge.endpoint())


def test_the_command_writes_the_svg_and_prints_the_endpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history, out = tmp_path / "history.jsonl", tmp_path / "badge.svg"
    history.write_bytes(season().content)
    assert main(["history", "badge", str(history), "--out", str(out), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    # https://shields.io/badges/endpoint-badge: these three are required, the message may not be empty
    assert shown["schemaVersion"] == 1
    assert shown["label"] == "accuracy"
    assert shown["message"]
    assert set(shown) <= {"schemaVersion", "label", "message", "color"}
    assert ET.parse(out).getroot().tag == f"{NAMESPACE}svg"
    assert main(["history", "badge", str(history), "--out", "-"]) == 0
    assert capsys.readouterr().out == out.read_text()


def test_the_command_wants_one_of_its_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = tmp_path / "history.jsonl"
    history.write_bytes(history_of([run(1)]).content)
    assert main(["history", "badge", str(history)]) == 2
    assert "say --out FILE for the SVG, --json" in capsys.readouterr().err
    assert main(["history", "badge", str(history), "--out", "-", "--json"]) == 2
