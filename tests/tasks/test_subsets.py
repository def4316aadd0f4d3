"""Several subsets of a hub dataset as one task: their groups, their solved examples, and ids that stay."""

import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.tasks.task import Task
from tests.support.cases import refusal
from tests.support.gates import write_lines
from tests.support.loading import load_task
from tests.tasks import test_task

BBH = {
    name: [{"input": f"{name} {i}?", "target": f"({'AB'[i % 2]})"} for i in range(2)] for name in ("snarks", "navigate")
}
MINE = {
    "dataset__hub": "x/y", "prompt": "{% for e in examples %}{{ e.q }}={{ e.a }};{% endfor %}{{ q }}",
    "metric": "exact_match",
}  # fmt: skip


def own(folder: Path, **keys: Any) -> Path:
    """A task of the hub's dataset x/y; keyword `a__b` sets the key a.b, and None leaves one out."""
    return test_task.own(folder, **{"dataset__file": None, **MINE, **keys})


def hub(monkeypatch: pytest.MonkeyPatch, rows: dict[str, Any]) -> list[str | None]:
    """A hub with these rows by subset, or by subset and split; the subsets that were asked for."""
    asked: list[str | None] = []

    def load_dataset(name: str, subset: str | None = None, *, split: str, **options: Any) -> list[dict[str, Any]]:
        asked.append(subset)
        own = rows.get(str(subset), [{"input": "?", "target": "x"}])
        return own if isinstance(own, list) else own[split]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    return asked


def groups(task: Task) -> Counter[str | None]:
    return Counter(sample.group for sample in task.samples)


def test_big_bench_hard_is_one_task_with_a_group_for_each_of_its_27_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = hub(monkeypatch, BBH)
    task = load_task("bbh")
    assert len(asked) == len(set(asked)) == 27
    assert groups(task)["snarks"] == 2
    assert len(groups(task)) == 27
    assert len({sample.id for sample in task.samples}) == 29


def test_one_subset_has_the_ids_and_the_fingerprint_that_it_had_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference of one subset pairs with a list of it alone, and a changed extraction is told."""
    rows = [{"input": "Which is sarcastic?", "target": "(A)"}, {"input": "And this?", "target": "(B)"}]
    hub(monkeypatch, {"snarks": rows})
    one, listed, all_27 = load_task("bbh", subset="snarks"), load_task("bbh", subset=["snarks"]), load_task("bbh")
    assert [sample.id for sample in one.samples] == ["71bfe33b93486487", "aeb338e6e5b18e34"]
    assert one.fingerprint == {
        "dataset": "d77970f85e97c652", "prompt": "7adce34f9ab824c5", "extract": "62044da46d0e71bc",
        "metric": "315e4fd8e6a0d103", "reply": "75fdf8a5c6a0063d",
    }  # fmt: skip
    assert (listed.samples, listed.fingerprint) == (one.samples, one.fingerprint)
    assert groups(one) == {None: 2}  # one subset is no grouping
    assert {sample.id for sample in one.samples} < {sample.id for sample in all_27.samples}


def test_a_list_of_subsets_takes_the_place_of_the_tasks_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = hub(monkeypatch, BBH)
    assert groups(load_task("bbh", subset=("snarks", "navigate"))) == {"snarks": 2, "navigate": 2}
    assert asked == ["snarks", "navigate"]
    path = own(tmp_path, columns__group="subset", dataset__name="main")
    mine = {"a": [{"q": "1", "a": 1}], "b": [{"q": "2", "a": 2}]}
    hub(monkeypatch, mine)
    assert groups(load_task("own", file=path, subset=["a", "b"])) == {"a": 1, "b": 1}


def test_each_subset_sees_its_own_solved_examples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = {
        name: {"test": [{"q": f"{name}?", "a": 1}], "dev": [{"q": f"{name}{i}", "a": i} for i in range(3)]}
        for name in "ab"
    }
    hub(monkeypatch, rows)
    path = own(tmp_path, dataset__subsets=["a", "b"], few_shot__split="dev", few_shot__count=2)
    assert sorted(s.prompt for s in load_task("own", file=path).samples) == ["a0=0;a1=1;a?", "b0=0;b1=1;b?"]
    path = own(tmp_path, dataset__subsets=["a", "b"], few_shot__split="dev", few_shot__count=4)
    assert "few_shot.count: is 4, but its source has 3" in refusal(load_task, "own", file=path)
    solved = write_lines(tmp_path / "solved.jsonl", [{"input": "s", "target": "1", "subset": "snarks"}])
    hub(monkeypatch, BBH)
    said = refusal(load_task, "bbh", subset=["snarks", "navigate"], few_shot=solved)
    assert "subsets navigate have no solved example" in said
    assert "Q: s\n" in load_task("bbh", subset=["snarks"], few_shot=solved).samples[0].prompt
    write_lines(solved, [{"input": "shared", "target": "1"}])
    task = load_task("bbh", subset=["snarks", "navigate"], few_shot=solved)
    assert all("Q: shared\n" in sample.prompt for sample in task.samples)


def test_published_files_may_name_the_subset_of_each_row(tmp_path: Path) -> None:
    """For runners without a network: one file of a subset, or one of several with a column of their names."""
    one = tmp_path / "snarks.json"
    one.write_text(json.dumps({"examples": BBH["snarks"]}), encoding="utf-8")
    assert groups(load_task("bbh", dataset=one)) == {None: 2}
    rows = [{**row, "subset": name} for name, own in BBH.items() for row in own]
    assert groups(load_task("bbh", dataset=write_lines(tmp_path / "all.jsonl", rows))) == {"snarks": 2, "navigate": 2}


def test_what_cannot_be_read_as_subsets_is_refused(monkeypatch, tmp_path: Path, messages: SnapshotAssertion) -> None:
    hub(monkeypatch, BBH)
    told = [refusal(load_task, "bbh", subset=names) for names in ([], ["snarks", "snarks"])]
    told.append(refusal(load_task, "arithmetic", subset=["a", "b"]))
    twice = {"dataset__subsets": ["a", "a"]}
    for keys in ({"dataset__name": "main"}, {"dataset__hub": None, "dataset__generator": "arithmetic"}, twice):
        file = own(tmp_path, **{"dataset__subsets": ["a", "b"], **keys})
        told += [refusal(load_task, "own", file=file)]
    hub(monkeypatch, {"a": [{"q": "1", "a": 1, "subset": "easy"}]})
    told.append(refusal(load_task, "own", file=own(tmp_path, dataset__subsets=["a", "b"])))
    assert told == messages
