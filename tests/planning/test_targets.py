"""Targets that a metric cannot tell apart: refused where they are labels, told where they are free text."""

from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.planning.checks import advice_on_targets
from tests.support.cases import each
from tests.support.gates import Project, said, write_task
from tests.support.loading import load_task

LABELS = {"metric": "classification"}
STATISTIC = {"metric": "exact_match", "aggregate": "classification_f1"}
ROUGE = {"metric_options.tokenizer": "rouge"}
WORDS = {"metric": "normalized_match"}
LISTED = {"metric": "triviaqa", "targets": "{{ a | tojson }}"}


def advice(folder: Path, answers: list[Any], keys: dict[str, Any]) -> tuple[str, ...]:
    rows = [{"q": f"{number}?", "a": target} for number, target in enumerate(answers)]
    path = write_task(folder, rows=rows, **keys)
    if "targets" in keys:
        path.write_text(path.read_text().replace('target = "{{ a }}"\n', ""))
    return advice_on_targets(load_task("sums", file=path))


@each(
    ("keys", "targets"),
    [
        (LABELS, ["C", "C#", "C++", "-1", "1", "<=50K", ">50K", "C", "C#", ""]),
        (STATISTIC, ["Yes", "No", "Yes"]),
        (WORDS, ["U.S. ", "U.S.", "u.s", "Yes", "yes"]),  # case and full stops are no news
        (WORDS, ["", "x"]),
        (LISTED, [["U.S.", "US"], ["us"], ["The", "The Band"], [""]]),
        ({"metric": "exact_match"}, ["A", "The", "C#", "C"]),
        ({"metric": "drop"}, ['[["A"], ["the first"]]', "8"]),
    ],
)
def test_targets_that_are_told_apart_are_no_fault(tmp_path: Path, keys: dict[str, Any], targets: list[Any]) -> None:
    assert advice(tmp_path, targets, keys) == ()


@each(
    ("keys", "targets", "words"),
    [
        (LABELS, ["a", "A.", "(a)"], "takes the targets '(a)' and 'A.' for the same (1 such group); write them"),
        (STATISTIC, ["Polish", "polish"], "is 'classification_f1', which takes the targets 'Polish' and"),
        (WORDS, ["A", "cat", "The", "A"], "leaves nothing of 2 targets, such as 'A'; use exact_match"),
        ({"metric": "token_f1"} | ROUGE, ["猫", "狗"], "leaves nothing of 2 targets, such as '狗'"),
        ({"metric": "squad_f1"}, ["?"], "leaves nothing of 1 target, such as '?'"),
        ({"metric": "drop"}, ['[["The"]]'], "leaves nothing of 1 target"),
        (LISTED, [["x"], ["A", "the"]], "leaves nothing of 1 target, such as 'A'; use"),
    ],
)
def test_labels_that_become_one_or_none_are_refused_but_told_of_another_tools_task(
    tmp_path, keys, targets, words
) -> None:
    with pytest.raises(BadInput) as refused:
        advice(tmp_path, targets, keys)
    assert words in str(refused.value)
    assert "sums.toml:" in str(refused.value)
    (told,) = advice(tmp_path, targets, {**keys, "same_as": "a script"})
    assert words in told


def test_free_text_that_becomes_one_is_told(tmp_path: Path) -> None:
    (told,) = advice(tmp_path, ["C++", "C#", "C", "U.S.", "US"], WORDS)
    assert "'normalized_match', which takes the targets 'C' and 'C#' for the same (2 such groups); exact_match" in told


def test_validating_says_both_targets_and_where_the_metric_is_written(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path)
    write_task(tmp_path, rows=[{"q": "1", "a": "m"}, {"q": "2", "a": "M"}], **LABELS)
    project.scores.write_text("")
    assert main(["validate", str(project.config)]) == 2
    assert "sums.toml:4: metric: is 'classification', which takes the targets 'M' and 'm'" in said(capsys)
