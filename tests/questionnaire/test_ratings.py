"""Importing ratings fails closed: whatever is missing, unknown, doubled or not of this questionnaire is an error."""

import json
from collections.abc import Callable
from typing import Any

from tests.questionnaire.made import Made, always
from tests.support.cases import each

Change = Callable[[dict[str, Any]], Any]
three = always(3)


def refused(made: Made, *arguments: Any) -> str:
    """What an import that is refused says; it decides nothing."""
    code, out, err = made.run("import", *arguments, "--key", made.key_path)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    return err


def change(made: Made, edit: Change) -> Any:
    """A rater's file after somebody changed it."""
    path = made.rate("anna", three)
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def first(data: dict[str, Any]) -> dict[str, Any]:
    return dict.__getitem__(data["ratings"], next(iter(data["ratings"])))


FAULTS: list[tuple[Change, str]] = [
    (lambda d: d.update(questionnaire="0" * 64), "belongs to another questionnaire"),
    (lambda d: d.update(kind="accgate questionnaire key"), "is not of kind 'accgate ratings'"),
    (lambda d: d.update(rater=" \t"), "names no rater"),
    (lambda d: d.update(ratings=[]), "holds no ratings by answer and item"),
    (lambda d: d["ratings"].update({"0123456789ab": {"correct": 3}}), "rates 1 answer that the questionnaire"),
    (lambda d: first(d).update(funny=3), "rates by 1 item that the questionnaire does not have: funny"),
    *((lambda d, x=x: first(d).update(correct=x), f"from 1 to 5: {x!r} (") for x in (0, 6, 3.0, "3", True)),
    (lambda d: first(d).pop("fluent"), "lacks 1 of 72 pairs of ratings: question 1 fluent"),
    (lambda d: d["ratings"].popitem(), "lacks 6 of 72 pairs of ratings: question 12 correct"),
]  # fmt: skip


@each(("edit", "message"), FAULTS)
def test_a_changed_file_is_refused_with_its_name_and_fault(made: Made, edit: Change, message: str) -> None:
    made.build()
    path = change(made, edit)
    err = refused(made, path, made.rate("bert", three))
    assert f"{path}: " in err
    assert message in err
    assert "ratings-bert" not in err


@each(
    ("text", "message"),
    [
        ('{"kind": "accgate ratings", "ratings": {', "cannot be read as JSON"),
        ('{"kind": "accgate ratings", "rater": "a", "rater": "b"}', "'rater' comes twice in one object"),
        ('{"kind": "accgate ratings", "missing": NaN}', "NaN is not a number"),
        ("[" * 100_000, "cannot be read as JSON"),
        ("[1]", "is not of kind"),
        ("\udcff", "cannot be read as JSON"),
    ],
)
def test_a_file_that_is_no_json_of_ours_is_refused(made: Made, text: str, message: str) -> None:
    made.build()
    path = made.folder / "x.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert f"{path}: " in (err := refused(made, path))
    assert message in err


@each("name", [" Anna ", "\uff41nna"])
def test_the_same_rater_twice_is_refused_however_the_name_is_written(made: Made, name: str) -> None:
    made.build()
    path, other = made.rate("anna", three), made.rate("other", three, rater=name)
    assert f"{other}: rater {name.strip()!r} comes in {path} already" in refused(made, path, other)


def test_every_file_s_fault_is_told_at_once(made: Made) -> None:
    made.build()
    bad = [made.rate(name, three, questionnaire="0" * 64) for name in ("anna", "bert")]
    err = refused(made, *bad, made.folder / "no.json")
    assert [line.split(": ")[1] for line in err.splitlines()] == [*map(str, bad), str(made.folder / "no.json")]


KEY_FAULTS: list[tuple[Change, str]] = [
    (lambda k: k.pop("seed"), "is damaged: seed"),
    (lambda k: k.update(questions=[]), "it has no answer"),
    (lambda k: k["questions"].append(k["questions"][0]), "comes twice"),
    (lambda k: k["questions"][0]["answers"].pop(), "does not have one answer of each side"),
    (lambda k: k["questions"][0]["answers"][0].update(side="both"), "does not have one answer of each side"),
    (lambda k: k["items"].append(k["items"][0]), "item 'correct' comes twice"),
]


@each(("edit", "message"), KEY_FAULTS)
def test_a_damaged_key_is_refused(made: Made, edit: Change, message: str) -> None:
    made.build()
    path, key = made.rate("anna", three), made.key
    edit(key)
    made.key_path.write_text(json.dumps(key), encoding="utf-8")
    assert f"{made.key_path}: " in (err := refused(made, path))
    assert message in err
    assert "take the file that was written" in err or "give the .key.json" in err


def test_missing_ratings_are_left_out_on_request_and_counted_unless_nobody_rated_both_sides(made: Made) -> None:
    made.build(n=3)
    files = []
    for rater, given in zip(("anna", "bert"), made.key["questions"][1]["answers"], strict=True):
        levels = made.levels(three)
        del levels[given["id"]]["fluent"]
        files.append(made.rate(rater, levels))
    survey = made.judge(files[0], made.rate("cleo", three), "--allow-missing")["judgement"]
    assert (survey["missing"], survey["expected"]) == (1, 36)
    assert survey["notes"][0].startswith("1 of 36 pairs of ratings are missing")
    assert "by 'fluent' in 1 of 3 questions: question 2" in refused(made, *files, "--allow-missing")
