"""A row of each library task's dataset, in its published schema, with a right and a wrong reply."""

from collections.abc import Sequence
from dataclasses import dataclass

from accgate.tasks.definition import library_names
from accgate.tasks.tools import reply_json
from tests.tasks.dataset_rows import (
    HUMANEVAL_PLUS,
    LIBRARY,
    MBPP_PLUS,
    MMMU_ROW,
    Row,
    bfcl,
    contest,
    said,
)


@dataclass(frozen=True)
class Case:
    """Rows as the dataset's card has them; `right` and `wrong` answer the first of those that `where` keeps.

    `shown` are parts of its prompt, in their order. A multiple choice has letters as replies.
    """

    rows: Sequence[Row]
    right: str
    wrong: str
    shown: Sequence[str] = ()
    examples: Sequence[Row] = ()
    target: str | None = None


AREA, SMALL = {"base": [10], "height": [5]}, {"base": [1], "height": [2]}
BOTH = said({"base": 1, "height": 2}, {"base": 10, "height": 5})
NO_CALL = reply_json("I cannot.", [])
CASES: dict[str, Case] = {
    **{name: Case(**case) for name, case in LIBRARY.items()},
    "slimpajama": Case([{"text": text, "meta": {}} for text in ("short", "long " * 20_000)], "", "", target="long "),
    "mmmu": Case(
        [MMMU_ROW], "(B)", "It is C", ("has <image 1>?\n\n(A) 3\n(B) 4's\n(C) 5\n(D) 6\n\nAnswer with the option's",)
    ),
    "bfcl_simple": Case(
        [bfcl({**AREA, "unit": ["units", ""]})],
        said({"base": 10, "height": 5}),
        said({"base": 10, "height": 6}),
        ('<tools {"tool_choice": null, "tools": [', "geometry_area", "<user>\nFind the area."),
        target='[{"geometry.area"',
    ),
    "bfcl_multiple": Case(
        [bfcl(AREA, others=2)],
        said({"height": 5, "base": 10}),
        said({"base": 10, "height": 5, "unit": "cm"}),
        ("geometry_area", "geometry_other0", "geometry_other1"),
    ),
    "bfcl_parallel": Case([bfcl(AREA, SMALL)], BOTH, said(*[{"base": 10, "height": 5}] * 2), ("geometry_area",)),
    **{
        name: Case([bfcl(AREA, SMALL, others=1)], BOTH, said({"base": 10, "height": 5}), ("area", "geometry_other0"))
        for name in ("bfcl_parallel_multiple", "bfcl_live_parallel", "bfcl_live_parallel_multiple")
    },
    **{
        name: Case([bfcl(AREA)], said({"base": 10, "height": 5}), said({"base": 5, "height": 10}), ("geometry_area",))
        for name in ("bfcl_live_simple", "bfcl_live_multiple")
    },
    "bfcl_irrelevance": Case([bfcl()], NO_CALL, said({"base": 1}), ("geometry_area",), target="[]"),
    "bfcl_live_irrelevance": Case([bfcl() | {"function": []}, bfcl()], NO_CALL, said({"base": 1}), ("geometry_area",)),
    "mmlu_calibration": Case(**LIBRARY["mmlu"]),
    "humaneval_plus": Case(
        [HUMANEVAL_PLUS],
        "```python\nfrom math import floor\n\ndef half(n):\n    return floor(n / 2)\n```",
        "```python\ndef half(n):\n    return int(n / 2)\n```",  # right by HumanEval's own test
        ("self-contained Python script", "```\nfrom math import floor", 'rounded down."""\n```'),
    ),
    "mbpp_plus": Case(
        [MBPP_PLUS],
        "```python\ndef half(n):\n    return n * 0.5000000000001\n```",  # within its tolerance
        "```python\ndef half(n):\n    return round(n / 2, 1)\n```",  # right by the two that MBPP has
        ('```\n"""\nWrite a function to halve a number.\nassert half(2) == 1\n"""\n```',),
    ),
    "livecodebench": Case(
        [contest([("1 2\n", "3\n")], [("4 5\n", "9\n"), ("0 0\n", "0\n")])],
        "So:\n```python\na, b = map(int, input().split())\nprint(a + b)\n```",
        "```python\na, b = map(int, input().split())\nprint(3)\n```",
        ("You are an expert", "### Question:\nAdd two numbers.\n\n### Format: Read the inputs", "### Answer: (use"),
        target="3 tests, sha256:",
    ),
}
GENERATED = {  # rows come from a seed, with the target as the right reply
    "arithmetic": "-1",
    "json_extraction": '{"name": 1}',
    "passkey_retrieval": "none",
    "passkey_retrieval_64k": "none",
    "passkey_retrieval_128k": "none",
    **{f"ruler_{name}": "1 2 3" for name in ("niah_single", "niah_multikey", "niah_multivalue", "niah_multiquery")},
    **{f"ruler_{name}": "1 2 3" for name in ("vt", "cwe", "fwe")},
}


def test_every_definition_of_the_library_has_rows_and_replies_here() -> None:
    of_parts = {"longbench_v1"}  # its parts are tasks of the library, with their rows here
    assert set(CASES) | set(GENERATED) | of_parts == set(library_names())
