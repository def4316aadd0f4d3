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


def test_means_and_p_values_are_those_of_a_sign_flip_test_over_questions(big: Made) -> None:
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


def test_agreement_is_that_of_another_implementation_on_the_same_table(big: Made) -> None:
    levels = drawn(big, drop=0.5)
    said = imported(big, levels)["judgement"]["items"]
    cells = [(question["id"], given["side"]) for question in big.key["questions"] for given in question["answers"]]
    for item, own in zip(ITEMS, said, strict=True):
        table = [[levels[rater][(*cell, item)] for cell in cells] for rater in RATERS]
        assert own["agreement"]["answers"] == 2 * N
        for level in ("ordinal", "interval"):
            expected = krippendorff.alpha(table, level_of_measurement=level)
            assert own["agreement"][level] == pytest.approx(expected)


def test_a_candidate_rated_lower_regresses_by_every_item_and_exits_with_1(big: Made) -> None:
    result = imported(big, drawn(big, drop=1.0))
    assert {check["verdict"] for check in result["checks"]} == {"regression"}
    assert (result["verdict"], result["exit_code"]) == ("regression", 1)
    assert all(check["difference"] < -10 for check in result["checks"])


def test_agreeing_that_an_answer_breaks_rules_lowers_its_points(big: Made) -> None:
    def level(question: str, side: str, item: str) -> int:
        if item != "breaks_rules":
            return 4
        return 5 if side == "candidate" else 1

    result = big.judge(big.rate("anna", level))
    by_item = dict(zip(ITEMS, result["checks"], strict=True))
    assert by_item["breaks_rules"]["verdict"] == "regression"
    assert by_item["breaks_rules"]["difference"] == -100
    assert {check["verdict"] for item, check in by_item.items() if item != "breaks_rules"} == {"pass"}


def test_swapping_the_sides_in_the_key_turns_every_difference_round(big: Made) -> None:
    levels = drawn(big, drop=1.0)
    before = imported(big, levels)
    swap = {"reference": "candidate", "candidate": "reference"}
    key = big.key
    for question in key["questions"]:
        for given in question["answers"]:
            given["side"] = swap[given["side"]]
    files = [big.folder / f"ratings-{rater}.json" for rater in RATERS]
    big.key_path.write_text(json.dumps(key), encoding="utf-8")
    after = big.judge(*files)
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


def test_one_rater_alone_has_no_agreement_and_that_is_said(big: Made) -> None:
    result = big.judge(big.rate("anna", good))
    said = result["judgement"]
    assert said["items"][0]["agreement"] == {
        "answers": 0, "ordinal": None, "interval": None, "reason": "no answer has two raters",
    }  # fmt: skip
    assert said["notes"] == ["there is only one rater, so whether others agree is unknown"]
    assert result["verdict"] == "pass"


def test_ratings_that_are_all_the_same_have_no_alpha(big: Made) -> None:
    said = big.judge(big.rate("anna", always(4)), big.rate("bert", always(4)))["judgement"]
    assert said["items"][0]["agreement"]["reason"] == "all ratings are the same, as they could be by chance"


def test_raters_who_disagree_are_told_of(big: Made) -> None:
    levels = drawn(big, drop=0.0)
    draw = np.random.default_rng(5)
    levels["bert"] = {cell: int(draw.integers(1, 6)) for cell in levels["bert"]}
    (note,) = imported(big, levels)["judgement"]["notes"]
    assert note.startswith("raters agree too little on correct, on_topic, fluent,")
    assert "(alpha below 0.667)" in note


def test_terminal_and_markdown_show_every_item_with_both_means_alpha_and_verdict(big: Made) -> None:
    result = imported(big, drawn(big, drop=1.0))
    files = [big.folder / f"ratings-{rater}.json" for rater in RATERS]
    code, out, err = big.run("import", *files, "--key", big.key_path, "--markdown", big.folder / "human.md")
    markdown = (big.folder / "human.md").read_text(encoding="utf-8")
    assert (code, err) == (1, "")
    assert "People rate the candidate lower: correct, on_topic, fluent," in out
    assert "3 raters, 40 questions, 80 answers" in out
    rows = {line.split("|")[1].strip(): line for line in markdown.splitlines() if line.startswith("|")}
    for check, item in zip(result["checks"], result["judgement"]["items"], strict=True):
        shown = [line for line in out.splitlines() if line.strip().startswith(item["id"])][-1]
        name = item["id"] + (" (reversed)" if item["reversed"] else "")
        means = [f"{check[side]['mean']:.1f}" for side in ("reference", "candidate")]
        for figure in (*means, *(f"{item['agreement'][kind]:.2f}" for kind in ("ordinal", "interval"))):
            assert figure in shown
            assert figure in rows[name]
        assert check["verdict"] in shown
        assert check["verdict"] in rows[name]


def test_markdown_to_standard_output_stands_there_alone(big: Made) -> None:
    code, out, _ = big.run("import", big.rate("anna", good), "--key", big.key_path, "--markdown", "-")
    assert code == 0
    assert out.startswith("## ")
    assert "People do not rate the candidate lower" in out


def test_texts_of_a_hostile_key_are_inert_in_markdown_and_terminal(big: Made) -> None:
    key = big.key | {"candidate": "<b>@team\x1b[2J|"}
    key["items"][0]["text"] = "<img src=x> | `x`"
    big.key_path.write_text(json.dumps(key), encoding="utf-8")
    path = big.rate("anna", good)
    code, out, _ = big.run("import", path, "--key", big.key_path)
    assert code == 0
    assert "\x1b" not in out
    code, markdown, _ = big.run("import", path, "--key", big.key_path, "--markdown", "-")
    assert code == 0
    assert "<" not in markdown.replace("<0.0001", "")
    assert "\x1b" not in markdown


def test_the_json_is_a_result_that_report_renders(big: Made, capsys: pytest.CaptureFixture[str]) -> None:
    result = imported(big, drawn(big, drop=1.0))
    path = big.folder / "human.json"
    path.write_text(json.dumps(result), encoding="utf-8")
    assert "Regression: " in html_report(read_result(path))
    capsys.readouterr()
    assert main(["report", str(path), "--markdown", "-"]) == 0
    assert "shared_values" in capsys.readouterr().out
