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
from tests.questionnaire.made import Level, Made, always, answers

ITEMS, RATERS, N = ("correct", "rude"), ("anna", "bert", "cleo"), 40
Levels = dict[str, dict[tuple[str, str, str], int]]  # of a rater, by question, side and item


def drawn(made: Made, *, drop: float) -> Levels:
    """Levels noisy around a quality of each question, the candidate's lower by `drop`."""
    draw = np.random.default_rng(0)
    cells = [(q["id"], g["side"], item) for q in made.key["questions"] for g in q["answers"] for item in ITEMS]
    quality = {q["id"]: draw.normal(3.4, 0.8) for q in made.key["questions"]}

    def level(cell: tuple[str, str, str]) -> int:
        question, side, item = cell
        value = quality[question] - drop * (side == "candidate")
        return int(np.clip(round((6 - value if item == "rude" else value) + draw.normal(0, 0.6)), 1, 5))

    return {rater: {cell: level(cell) for cell in cells} for rater in RATERS}


def imported(made: Made, levels: Levels, *options: str) -> dict[str, Any]:
    files = [made.rate(name, lambda *cell, own=own: own[cell]) for name, own in levels.items()]  # type: ignore[misc]
    return made.judge(*files, *options)


def build(made: Made, n: int = N, **columns: Any) -> Made:
    """A questionnaire of n questions and two items, the second reversed."""
    for side in ("reference", "candidate"):
        made.write(side, answers(side, n, **columns))
    items = made.folder / "items.toml"
    statements = (f'[[items]]\nid = "{item}"\ntext = "It is {item}."\n' for item in ITEMS)
    items.write_text(f"{''.join(statements)}reversed = true")
    made.build("--questions", str(n), "--items", items)
    return made


@pytest.fixture
def big(made: Made) -> Made:
    return build(made)


def good(question: str, side: str, item: str) -> int:
    """Answers that are rated well, so that each item could be rated worse."""
    return 2 if item == "rude" else 4


def points(level: float, item: str) -> float:
    return 100 - 25 * (level - 1) if item == "rude" else 25 * (level - 1)


def test_means_p_values_and_agreement_are_those_of_other_implementations(big: Made) -> None:
    levels = drawn(big, drop=0.2)
    result = imported(big, levels, "--correction", "none")
    ids = [question["id"] for question in big.key["questions"]]
    for item, check, own in zip(ITEMS, result["checks"], result["judgement"]["items"], strict=True):
        sides = [
            [np.mean([points(levels[rater][id_, side, item], item) for rater in RATERS]) for id_ in ids]
            for side in ("reference", "candidate")
        ]
        means = [np.mean(side) for side in sides]
        assert (check["task"], check["test"], check["n"]) == (item, "permutation", N)
        assert [own["reference"], own["candidate"]] == pytest.approx(means)
        assert check["difference"] == pytest.approx(means[1] - means[0])
        flipped = permutation_test(
            (np.subtract(sides[1], sides[0]),), np.mean, permutation_type="samples", alternative="less",
            n_resamples=20_000, rng=1,
        )  # fmt: skip
        assert check["p_value"] == pytest.approx(flipped.pvalue, abs=0.01)
        assert (check["verdict"] == "regression") == (check["p_value"] < 0.05)
        cells = [(id_, side) for id_ in ids for side in ("reference", "candidate")]
        table = [[levels[rater][(*cell, item)] for cell in cells] for rater in RATERS]
        assert own["agreement"]["answers"] == 2 * N
        for level in ("ordinal", "interval"):
            expected = krippendorff.alpha(table, level_of_measurement=level)
            assert own["agreement"][level] == pytest.approx(expected)


def test_agreeing_to_a_reversed_item_lowers_its_points_and_swapped_sides_turn_differences_round(big: Made) -> None:
    path = big.rate("anna", lambda _, side, item: 4 if item == "correct" else 5 if side == "candidate" else 1)
    checks = big.judge(path)["checks"]
    assert [(check["verdict"], check["difference"]) for check in checks] == [("pass", 0), ("regression", -100)]
    key, swap = big.key, {"reference": "candidate", "candidate": "reference"}
    for given in (given for question in key["questions"] for given in question["answers"]):
        given["side"] = swap[given["side"]]
    big.key_path.write_text(json.dumps(key), encoding="utf-8")
    assert [check["difference"] for check in big.judge(path)["checks"]] == [0, 100]


def test_holm_over_the_items_is_the_default_and_any_correction_can_be_asked_for(big: Made) -> None:
    levels = drawn(big, drop=0.2)
    less, more = sorted(check["p_value"] for check in imported(big, levels, "--correction", "none")["checks"])
    for options, expected in (((), [2 * less, max(2 * less, more)]), (("bonferroni",), [2 * less, 2 * more])):
        checks = imported(big, levels, *(f"--correction={name}" for name in options))["checks"]
        assert sorted(check["p_adjusted"] for check in checks) == pytest.approx(np.minimum(expected, 1.0))


def test_too_few_questions_to_see_theta_is_no_pass(big: Made) -> None:
    path = big.rate("anna", lambda question, side, _: 3 + (int(question[1:]) + (side == "candidate")) % 2)
    for options, code in (("--theta=1", 4), ("--theta=35", 0), ("--theta=35 --alpha=0.001 --beta=0.01", 4)):
        assert big.judge(path, *options.split())["exit_code"] == code


def test_an_answer_of_both_sides_is_no_difference_and_one_unit_of_agreement(made: Made) -> None:
    build(made, 12, reply="the same")
    result = made.judge(made.rate("anna", lambda question, *_: 4 + int(question[1:]) % 2), made.rate("bert", always(4)))
    agreement = result["judgement"]["items"][0]["agreement"]
    assert (agreement["answers"], agreement["ordinal"] is None) == (12, False)
    assert (result["checks"][0]["difference"], result["checks"][0]["n"]) == (0, 12)


def test_samples_of_one_cluster_stay_the_unit_of_the_test(big: Made) -> None:
    for side in ("reference", "candidate"):
        big.write(side, [row | {"cluster": f"page {i // 4}"} for i, row in enumerate(answers(side, N))])
    big.build("--questions", str(N), "--items", big.folder / "items.toml")
    assert {check["clusters"] for check in big.judge(big.rate("anna", good))["checks"]} == {10}


@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ([good], "no answer has two raters; there is only one rater"),
        ([good] * 2, "all ratings are the same"),
        (
            [good, lambda question, side, _: 1 + (int(question[1:]) + len(side)) % 5],
            "raters agree too little on",
        ),
    ],
)
def test_agreement_that_cannot_be_known_or_is_too_low_is_said(big: Made, levels: list[Level], words: str) -> None:
    survey = big.judge(*(big.rate(f"rater-{at}", level) for at, level in enumerate(levels)))["judgement"]
    assert words in "; ".join(filter(None, (survey["items"][0]["agreement"]["reason"], *survey["notes"])))


def test_a_candidate_rated_lower_regresses_and_every_report_shows_each_item_s_figures_and_verdict(
    big: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    result = imported(big, drawn(big, drop=1.0))
    assert (result["verdict"], result["exit_code"]) == ("regression", 1)
    files = big.folder.glob("ratings-*.json")
    code, out, err = big.run("import", *files, "--key", big.key_path, "--markdown", big.folder / "human.md")
    markdown = (big.folder / "human.md").read_text(encoding="utf-8")
    assert (code, err) == (1, "")
    assert "People rate the candidate lower: correct, rude." in out
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
    assert "rude" in capsys.readouterr().out


def test_texts_of_a_hostile_key_are_inert_in_markdown_and_terminal(big: Made) -> None:
    key = big.key | {"candidate": "<b>@team\x1b[2J|"}
    key["items"][0]["text"] = "<img src=x> | `x`"
    big.key_path.write_text(json.dumps(key), encoding="utf-8")
    path = big.folder / "human.md"
    code, out, _ = big.run("import", big.rate("anna", good), "--key", big.key_path, "--markdown", path)
    markdown = path.read_text(encoding="utf-8")
    assert (code, "\x1b" in out + markdown) == (0, False)
    assert "People do not rate " in markdown
    assert "<" not in markdown.replace("<0.0001", "")
