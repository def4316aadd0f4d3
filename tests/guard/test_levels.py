"""Every value at each level that can set it: listed exactly where what decides differs, and nothing else is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from accgate.config.config import load_config
from accgate.guard.changes import changed_rules
from tests.support.gates import questions, write_lines
from tests.support.trees import effects

ACCURACY = """\
[gate]
alpha = 0.01
beta = 0.1
correction = "holm"

[models.m]
engine = "recorded"
model = "m.jsonl"

[judges.strict]
model = "toy"
options = { base_url = "http://127.0.0.1:1/v1", timeout = 5 }
sampling = { temperature = 0.0, extra = { chat_template_kwargs = { think = false, depth = 1 } } }

[tasks.sums]
file = "sums.toml"
discordance = 0.1
num_samples = 60
judge = "strict"
tags = ["quick", "math"]

[tasks.rest]
library = "arithmetic"
options = { count = 50, digits = 2 }
num_samples = 50
target = 50.0
"""
SUMS = """\
prompt = "{{ q }}"
target = "{{ a }}"
metric = "judge"
system = "Be brief."
stop = ["\\n"]
max_tokens = 64
theta = 5.0
sigma = 40.0

[dataset]
file = "sums.jsonl"

[few_shot]
count = 1
examples = [{ q = "1 + 1?", a = 2 }, { q = "2 + 2?", a = 4 }]

[extract]
regex = "\\\\d+"
which = "last"

[columns]
group = "page"

[judge]
rubric = "Is {{ reply }} right?"
lowest = 0
highest = 1
marks = { good = 1, bad = 0 }
"""
Edit = tuple[str, str, str]  # file, text, what takes its place
A, S = "accuracy.toml", "sums.toml"


class Pair:
    """Two trees of text files with a recorded reference."""

    def __init__(self, folder: Path) -> None:
        self.base, self.head = folder / "base", folder / "head"
        self.base.mkdir()
        (self.base / A).write_text(ACCURACY)
        (self.base / S).write_text(SUMS)
        write_lines(self.base / "sums.jsonl", questions(60))
        store = self.base / "references" / "m"
        store.mkdir(parents=True)
        (store / "sums.toml").write_text('model = "m"\ntask = "sums"\nmean = 90.0\nn = 60\ndate = "2026"\n')
        shutil.copytree(self.base, self.head)

    def edit(self, *edits: Edit, base: bool = False) -> None:
        move(*edits)(self.base if base else self.head)

    def listed(self) -> dict[str, str]:
        return effects(changed_rules(load_config(self.base / A), load_config(self.head / A)))

    def back(self) -> dict[str, str]:
        return effects(changed_rules(load_config(self.head / A), load_config(self.base / A)))


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


T = "discordance = 0.1\n"  # after which a key of the task's table is put
D = 'system = "Be brief."\n'  # and of its definition


def own(key: str) -> Edit:
    return A, T, f"{T}{key}\n"


def defined(key: str) -> Edit:
    return S, D, f"{D}{key}\n"


# name: the edits of the head, and what is listed with its effect
LISTED: dict[str, tuple[list[Edit], dict[str, str]]] = {

    "alpha of the gate, away with its table": (
        [(A, '[gate]\nalpha = 0.01\nbeta = 0.1\ncorrection = "holm"\n', "")],
        {"gate.alpha": "tightening", "gate.beta": "loosening"},
    ),
    "alpha of the gate deleted, and a tiny one of the definition": (
        [(A, "alpha = 0.01\n", ""), defined("alpha = 1e-30")],
        {"tasks.sums.alpha": "loosening", "gate.alpha": "tightening"},  # which holds for the other task
    ),
    "beta of the gate deleted, and a large one of the definition": (
        [(A, "beta = 0.1\n", ""), defined("beta = 0.5")],
        {"tasks.sums.beta": "loosening", "gate.beta": "loosening"},
    ),

    "a definition's theta that the task's table replaces": (
        [(S, "theta = 5.0", "theta = 4.0"), own("theta = 50.0")], {"tasks.sums.theta": "loosening"},
    ),

    "the judge's address": ([(A, ":1/v1", ":2/v1")], {"judges.strict": "loosening"}),

    "a limit": ([(A, "num_samples = 60", "limit = 6")], {
        "tasks.sums.num_samples": "loosening", "tasks.sums.limit": "loosening",
    }),
    "reasoning": ([defined('reasoning = "keep"')], {"tasks.sums: reasoning": "loosening"}),
    "a statistic": ([defined('aggregate = "ece"\nconfidence = { by = "reply" }')], {
        "tasks.sums: aggregate": "loosening", "tasks.sums: confidence": "loosening",
    }),

    "a larger alpha that makes the samples of a theta fewer": (
        [(A, "alpha = 0.01", "alpha = 0.3"), (A, "num_samples = 60\n", "")],
        {"gate.alpha": "loosening", "tasks.sums.num_samples": "loosening"},
    ),
    "a larger alpha where a pass is proven by it": (
        [(A, "alpha = 0.01", "alpha = 0.3"), own("certify = true")],
        {"gate.alpha": "loosening", "tasks.sums.certify": "tightening"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTED)
def test_a_value_that_decides_otherwise_is_listed(pair: Pair, name: str) -> None:
    edits, expected = LISTED[name]
    pair.edit(*edits)
    listed = pair.listed()
    assert listed == expected
    back = pair.back()
    assert back
    assert not any(listed.get(rule) == effect == "tightening" for rule, effect in back.items())


def rewrite(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    return lambda head: (head / name).write_bytes(change((head / name).read_bytes().decode()).encode()) and None


def move(*edits: Edit) -> Callable[[Path], None]:
    def change(head: Path) -> None:
        for name, old, new in edits:
            text = (head / name).read_text()
            assert old in text, old
            (head / name).write_text(text.replace(old, new, 1))

    return change


def tables(text: str) -> list[str]:
    return ["[" + part for part in f"\n{text}".split("\n[")[1:]]


def turn_tables(text: str) -> str:
    return "\n".join(reversed(tables(text))) + "\n"


def turn_rows(text: str) -> str:
    """The same rows, written in another way."""
    return "".join(json.dumps(json.loads(line), separators=(" , ", " :  ")) + "\n" for line in text.splitlines())


def to_a_file(head: Path) -> None:
    (head / "more").mkdir()
    shutil.move(head / S, head / "more/added.toml")
    shutil.move(head / "sums.jsonl", head / "more/rows.jsonl")
    move(("more/added.toml", "sums.jsonl", "rows.jsonl"), (A, "sums.toml", "more/added.toml"))(head)


def examples_to_a_file(head: Path) -> None:
    write_lines(head / "solved.jsonl", [{"q": "1 + 1?", "a": 2}, {"q": "2 + 2?", "a": 4}])
    written = 'examples = [{ q = "1 + 1?", a = 2 }, { q = "2 + 2?", a = 4 }]'
    move((S, written, 'file = "solved.jsonl"'))(head)


def of_the_library(head: Path) -> None:
    from accgate.tasks import library_file

    shutil.copy(library_file("arithmetic"), head / "rest.toml")
    move((A, 'library = "arithmetic"', 'file = "rest.toml"'))(head)


HEALTHY: dict[str, Callable[[Path], None]] = {
    "order of tables": rewrite(A, turn_tables),
    "white space": rewrite(A, lambda text: text.replace(" = ", "    =  ").replace("\n[", "\n# ours\n\n  [")),
    "comments in a task": rewrite(S, lambda text: text.replace("\n\n", "\n# a comment\n")),
    "spaces in a dataset": rewrite("sums.jsonl", turn_rows),
    "comments in a reference": rewrite("references/m/sums.toml", lambda text: "# from the nightly run\r\n" + text),
    "another spelling of numbers": move((A, "alpha = 0.01", "alpha = 1e-2"), (S, "theta = 5.0", "theta = 5.00")),
    "another spelling of strings": move((A, '"holm"', "'holm'"), (S, '"{{ q }}"', '"""{{ q }}"""')),
    "a table within its line": move(
        (S, '[columns]\ngroup = "page"\n', ""), (S, "[dataset]", 'columns.group = "page"\n[dataset]')
    ),
    "order of keys in options, of marks and of tags": move(
        (A, "count = 50, digits = 2", "digits = 2, count = 50"), (S, "good = 1, bad = 0", "bad = 0, good = 1"),
        (A, '["quick", "math"]', '["math", "quick"]'),
    ),
    "alpha moved from the gate to each task": move(
        (A, "alpha = 0.01\n", ""), (A, "target = 50.0", "target = 50.0\nalpha = 0.01"), own("alpha = 0.01")
    ),
    "alpha written twice": move(own("alpha = 0.01"), defined("alpha = 0.4")),
    "theta moved into the task's table": move((S, "theta = 5.0\n", ""), own("theta = 5.0")),
    "sigma written twice, the second without effect": move((S, "sigma = 40.0", "sigma = 1.0"), own("sigma = 40.0")),
    "the dataset named in the task's table": move(
        (S, 'file = "sums.jsonl"', 'file = "a.jsonl"'), own('dataset = "sums.jsonl"')
    ),
    "defaults written out": move(
        own("repeats = 1\ncertify = false\nallowed_drop = 0.0\ntest = 'auto'\nmode = 'chat'\nmax_unread = 0.2"),
        (A, "[models.m]", "overall = true\nmax_failed = 0.01\non_inconclusive = 'fail'\nseed = 0\n[models.m]"),
    ),
    "a default removed": move((A, 'correction = "holm"\n', "")),
    "the judge renamed, and one that nothing names": move(
        (A, "[judges.strict]", "[judges.exact]"), (A, '"strict"', '"exact"'),
        (A, "[tasks.sums]", '[judges.other]\nmodel = "x"\n\n[tasks.sums]'),
    ),
    "files in a folder": to_a_file,
    "examples in a file": examples_to_a_file,
    "a copy of the library's task": of_the_library,
    "what a task says of itself": move(defined('description = "Sums."\nsource = "ours"\nsame_as = "gsm8k"')),
    "a limit that is never met": move(own("limit = 1000")),
    "early stopping where the test is named": move(own('test = "auto"')),
    "another model": move((A, '"m.jsonl"', '"n.jsonl"')),
}  # fmt: skip


@pytest.mark.parametrize("name", HEALTHY)
def test_what_decides_the_same_is_not_listed(pair: Pair, name: str) -> None:
    if name == "the dataset named in the task's table":
        shutil.copy(pair.base / "sums.jsonl", pair.head / "a.jsonl")
    HEALTHY[name](pair.head)
    assert pair.listed() == pair.back() == {}


def test_the_keys_of_a_tools_schema_are_in_an_order(pair: Pair) -> None:
    schema = '{ type = "object", properties = { a = %s } }'
    tool = f'tools = [{{ type = "function", function = {{ name = "f", parameters = {schema} }} }}]'
    for base, keys in ((True, '{ type = "string", enum = ["x"] }'), (False, '{ enum = ["x"], type = "string" }')):
        pair.edit(defined(tool % keys), base=base)
    assert pair.listed() == {"tasks.sums: tools": "loosening"}


def test_nothing_is_tightened_where_a_statistic_decides(pair: Pair) -> None:
    statistic = defined('aggregate = "ece"\nconfidence = { by = "reply" }')
    metric = (S, 'metric = "judge"', 'metric = "exact_match"')
    for base in (True, False):
        pair.edit(metric, statistic, (S, SUMS[SUMS.index("[judge]") :], ""), base=base)
    pair.edit(own("alpha = 0.3"), (A, "num_samples = 60", "num_samples = 61"), (S, "theta = 5.0", "theta = 1.0"))
    rules = ("tasks.sums.alpha", "tasks.sums.num_samples", "tasks.sums: theta")
    assert pair.listed() == dict.fromkeys(rules, "loosening")
