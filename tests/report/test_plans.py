"""The plan in the terminal: a table, and a sentence per check."""

import json
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from accgate import load_config
from accgate.config.config import config_schema
from accgate.planning.checks import plan_checks
from accgate.report.plans import plan_sentence, print_plan
from accgate.report.terminal import print_table
from accgate.stats.power import one_sample_n
from tests.report.runs import printed
from tests.support.cases import each
from tests.support.gates import Project

CONFIGS = Path(__file__).parents[2] / "configs"


def sentence(folder: Path, **keys: object) -> str:
    project = Project(folder, n=200, **keys)
    (check,) = plan_checks(load_config(project.config))
    return f"{check.model} / {check.task.name}: {plan_sentence(check)}"


MEANS = {"sigma": 50.0, "num_samples": 200, "reference": 70.0, "reference_num_samples": 4096}


def test_a_check_of_means_hears_what_pairing_would_save(tmp_path: Path) -> None:
    said = sentence(tmp_path, **MEANS)
    assert said.startswith("m / sums: 200 samples see a drop of 9.1 points with probability 0.8; ")
    theta = 2.48647 * 50.0 * (1 / 200 + 1 / 4096) ** 0.5
    needed = one_sample_n(theta, sd=100.0 * 0.1**0.5, alpha=0.05, beta=0.2)  # where a tenth changed
    assert f"with per-sample references about {needed:,} are enough, if 10% of them change their score" in said
    assert "are enough, if 20% of them change their score" in sentence(tmp_path, discordance=0.2, **MEANS)


@each("keys", [{"target": 70.0, "sigma": 50.0}, {}, MEANS | {"sigma": 1.0}])
def test_a_check_that_pairing_does_not_help_hears_nothing_of_it(tmp_path: Path, keys: dict[str, float]) -> None:
    assert "per-sample references" not in sentence(tmp_path, **keys)


@each("width", [30, 70, 120])
def test_the_plan_fits_the_terminal(tmp_path: Path, width: int) -> None:
    project = Project(tmp_path, n=200, sigma=50.0, reference=70.0, reference_num_samples=4096)
    plans = plan_checks(load_config(project.config))
    text = printed(lambda console: print_plan(console, plans, title="a plan", table=True), width)
    assert max(map(len, text.splitlines())) <= width
    assert ("Most tokens" in text.splitlines()[1]) == (width > 70)
    assert "Samples" in text


def test_a_table_that_does_not_fit_is_a_paragraph_per_row_with_every_figure(messages: SnapshotAssertion) -> None:
    rows = [("[red]m", "t", "1,000", "2.50"), ("m", "u" * 30, "7", "-")]

    def lines(width: int) -> list[str]:
        heads = ("Model", "Task", "n", "Theta")
        return printed(lambda console: print_table(console, heads, rows, left=(0, 1)), width).splitlines()

    wide = 6 + 2 + 30 + 2 + 5 + 2 + 5
    assert [lines(wide), lines(wide - 1)] == messages


@each("path", sorted(CONFIGS.glob("*.toml")))
def test_every_config_names_the_schema_that_stands_beside_it(path: Path) -> None:
    first, _, _ = path.read_text(encoding="utf-8").partition("\n")
    directive, _, name = first.partition(" ")
    assert directive == "#:schema"
    assert json.loads((path.parent / name).read_text(encoding="utf-8")) == config_schema()
