"""What ratings decide, against scipy's paired tests and the package krippendorff on the same table."""

import json
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy.stats import permutation_test

from accgate.cli.main import main
from accgate.report.html.page import html_report
from accgate.report.result_file import read_result
from tests.questionnaire.made import Made, always, answers

ITEMS = ("correct", "on_topic", "fluent", "clear_reasoning", "breaks_rules", "shared_values")
RATERS = ("anna", "bert", "cleo")
N = 40


def drawn(made: Made, *, drop: float, seed: int = 0) -> dict[str, dict[tuple[str, str, str], int]]:
    """Levels of every rater by (question, side, item): noisy around a quality; the candidate's is lower by `drop`."""
    draw = np.random.default_rng(seed)
    cells = [(q["id"], g["side"], item) for q in made.key["questions"] for g in q["answers"] for item in ITEMS]
    quality = {q["id"]: draw.normal(3.4, 0.8) for q in made.key["questions"]}

    def level(cell: tuple[str, str, str]) -> int:
        question, side, item = cell
        value = quality[question] - drop * (side == "candidate")
        return int(np.clip(round((6 - value if item == "breaks_rules" else value) + draw.normal(0, 0.6)), 1, 5))

    return {rater: {cell: level(cell) for cell in cells} for rater in RATERS}


def imported(made: Made, levels: dict[str, dict[tuple[str, str, str], int]], *options: str) -> dict[str, Any]:
    files = [made.rate(name, lambda *cell, own=own: own[cell]) for name, own in levels.items()]  # type: ignore[misc]
    return made.judge(*files, *options)


@pytest.fixture
def big(made: Made) -> Made:
    for side in ("reference", "candidate"):
        made.write(side, answers(side, N))
    made.build("--questions", str(N))
    return made


def good(question: str, side: str, item: str) -> int:
    """Answers that are rated well, so that each item could be rated worse."""
    return 2 if item == "breaks_rules" else 4


def points(level: float, item: str) -> float:
    return 100 - 25 * (level - 1) if item == "breaks_rules" else 25 * (level - 1)


def test_means_p_values_and_agreement_are_those_of_other_implementations(big: Made) -> None:
    levels = drawn(big, drop=0.2)
    result = imported(big, levels, "--correction", "none")
    ids = [question["id"] for question in big.key["questions"]]
    for item, check, said in zip(ITEMS, result["checks"], result["judgement"]["items"], strict=True):
        sides = [
            [np.mean([points(levels[rater][id_, side, item], item) for rater in RATERS]) for id_ in ids]
            for side in ("reference", "candidate")
        ]
        means = [np.mean(side) for side in sides]
        assert (check["task"], check["test"], check["n"]) == (item, "permutation", N)
        assert [said["reference"], said["candidate"]] == pytest.approx(means)
        assert check["difference"] == pytest.approx(means[1] - means[0])
        flipped = permutation_test(
            (np.subtract(sides[1], sides[0]),), np.mean, permutation_type="samples", alternative="less",
            n_resamples=20_000, rng=1,
        )  # fmt: skip
        assert check["p_value"] == pytest.approx(flipped.pvalue, abs=0.01)
        assert (check["verdict"] == "regression") == (check["p_value"] < 0.05)

        cells = [(id_, side) for id_ in ids for side in ("reference", "candidate")]
        table = [[levels[rater][(*cell, item)] for cell in cells] for rater in RATERS]
        assert said["agreement"]["answers"] == 2 * N
        for level in ("ordinal", "interval"):
            expected = krippendorff.alpha(table, level_of_measurement=level)
            assert said["agreement"][level] == pytest.approx(expected)


def test_agreeing_that_an_answer_breaks_rules_lowers_its_points(big: Made) -> None:
    def level(question: str, side: str, item: str) -> int:
        if item != "breaks_rules":
            return 4
        return 5 if side == "candidate" else 1

    result = big.judge(big.rate("anna", level))
    outcomes = {check["task"]: (check["verdict"], check["difference"]) for check in result["checks"]}
    assert outcomes == dict.fromkeys(ITEMS, ("pass", 0)) | {"breaks_rules": ("regression", -100)}


def test_swapping_the_sides_in_the_key_turns_every_difference_round(big: Made) -> None:
    levels = drawn(big, drop=1.0)
    before = imported(big, levels)
    swap = {"reference": "candidate", "candidate": "reference"}
    key = big.key
    for given in (given for question in key["questions"] for given in question["answers"]):
        given["side"] = swap[given["side"]]
    big.key_path.write_text(json.dumps(key), encoding="utf-8")
    after = big.judge(*big.folder.glob("ratings-*.json"))
    turned = [-check["difference"] for check in before["checks"]]
    assert [check["difference"] for check in after["checks"]] == pytest.approx(turned)
    assert after["verdict"] == "pass"


def test_holm_over_the_items_is_the_default_and_any_correction_can_be_asked_for(big: Made) -> None:
    levels = drawn(big, drop=0.2)
    plain = [check["p_value"] for check in imported(big, levels, "--correction", "none")["checks"]]
    order = np.argsort(plain)
    holm = np.minimum(np.maximum.accumulate(np.array(plain)[order] * np.arange(len(plain), 0, -1)), 1)
    adjusted = [check["p_adjusted"] for check in imported(big, levels)["checks"]]
    assert np.array(adjusted)[order] == pytest.approx(holm)
    bonferroni = imported(big, levels, "--correction", "bonferroni")["checks"]
    assert [c["p_adjusted"] for c in bonferroni] == pytest.approx([min(1.0, p * 6) for p in plain])


def test_too_few_questions_to_see_theta_is_no_pass(big: Made) -> None:
    path = big.rate("anna", lambda question, side, _: 3 + (int(question[1:]) + (side == "candidate")) % 2)
    result = big.judge(path, "--theta", "1")
    assert {check["verdict"] for check in result["checks"]} == {"inconclusive"}
    assert result["exit_code"] == 4
    assert big.judge(path, "--theta", "35")["exit_code"] == 0
    assert big.judge(path, "--theta", "35", "--alpha", "0.001", "--beta", "0.01")["exit_code"] == 4


def test_an_answer_of_both_sides_is_no_difference_and_one_unit_of_agreement(made: Made) -> None:
    same = [row | {"reply": "the same"} for row in answers("x")]
    made.write("reference", same)
    made.write("candidate", same[:-1] + answers("candidate")[-1:])
    made.build()
    result = made.judge(made.rate("anna", lambda question, *_: 1 + int(question[1:]) % 5), made.rate("bert", always(2)))
    assert result["judgement"]["items"][0]["agreement"]["answers"] == 13
    assert result["checks"][0]["difference"] == 0
    assert result["checks"][0]["n"] == 12


def test_samples_of_one_cluster_stay_the_unit_of_the_test(made: Made) -> None:
    for side in ("reference", "candidate"):
        made.write(side, [row | {"cluster": f"page {i // 4}"} for i, row in enumerate(answers(side, N))])
    made.build("--questions", str(N))
    result = imported(made, drawn(made, drop=0.4))
    assert {check["clusters"] for check in result["checks"]} == {10}


def test_agreement_that_cannot_be_known_or_is_too_low_is_said(big: Made) -> None:
    alone = big.judge(big.rate("anna", good))
    agreement = {"answers": 0, "ordinal": None, "interval": None, "reason": "no answer has two raters"}
    assert alone["judgement"]["items"][0]["agreement"] == agreement
    assert "only one rater" in alone["judgement"]["notes"][0]
    assert alone["verdict"] == "pass"
    same = big.judge(big.rate("anna", always(4)), big.rate("bert", always(4)))["judgement"]
    assert same["items"][0]["agreement"]["reason"].startswith("all ratings are the same")
    levels = drawn(big, drop=0.0)
    draw = np.random.default_rng(5)
    levels["bert"] = {cell: int(draw.integers(1, 6)) for cell in levels["bert"]}
    (note,) = imported(big, levels)["judgement"]["notes"]
    assert note.startswith("raters agree too little on correct, on_topic, fluent,")


def test_a_candidate_rated_lower_regresses_and_every_report_shows_each_item_s_figures_and_verdict(
    big: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    result = imported(big, drawn(big, drop=1.0))
    assert (result["verdict"], result["exit_code"]) == ("regression", 1)
    assert all(check["verdict"] == "regression" and check["difference"] < -10 for check in result["checks"])
    files = big.folder.glob("ratings-*.json")
    code, out, err = big.run("import", *files, "--key", big.key_path, "--markdown", big.folder / "human.md")
    markdown = (big.folder / "human.md").read_text(encoding="utf-8")
    assert (code, err) == (1, "")
    assert "People rate the candidate lower: correct, on_topic, fluent," in out
    assert "3 raters, 40 questions, 80 answers" in out
    rows = {line.split("|")[1].strip(): line for line in markdown.splitlines() if line.startswith("|")}
    for check, item in zip(result["checks"], result["judgement"]["items"], strict=True):
        shown = [line for line in out.splitlines() if line.strip().startswith(item["id"])][-1]
        row = rows[item["id"] + (" (reversed)" if item["reversed"] else "")]
        means = [f"{check[side]['mean']:.1f}" for side in ("reference", "candidate")]
        alphas = [f"{item['agreement'][kind]:.2f}" for kind in ("ordinal", "interval")]
        for figure in (*means, *alphas, check["verdict"]):
            assert figure in shown
            assert figure in row
    path = big.folder / "human.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    assert "Regression: " in html_report(read_result(path))
    assert main(["report", str(path), "--markdown", "-"]) == 0
    assert "shared_values" in capsys.readouterr().out


def test_texts_of_a_hostile_key_are_inert_in_markdown_and_terminal(big: Made) -> None:
    key = big.key | {"candidate": "<b>@team\x1b[2J|"}
    key["items"][0]["text"] = "<img src=x> | `x`"
    big.key_path.write_text(json.dumps(key), encoding="utf-8")
    path = big.rate("anna", good)
    code, out, _ = big.run("import", path, "--key", big.key_path)
    assert (code, "\x1b" in out) == (0, False)
    code, markdown, _ = big.run("import", path, "--key", big.key_path, "--markdown", "-")
    assert (code, "\x1b" in markdown) == (0, False)
    assert markdown.startswith("## ")
    assert "People do not rate " in markdown
    assert "<" not in markdown.replace("<0.0001", "")
