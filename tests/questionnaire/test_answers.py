"""Where questions and answers come from: files, references with their sidecar, a run's folder; and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from accgate.records.replacement import write_gzip_lines
from tests.questionnaire.made import Made, answers
from tests.support.cases import each
from tests.support.gates import Project, questions, write_lines, write_task

N = 30


def refused(made: Made, *arguments: str | Path) -> str:
    code, out, err = made.run(*arguments, "--out", made.page_path)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert not made.page_path.exists()
    assert not made.key_path.exists()
    return err


def reply(project: Project, word: str, **other: Any) -> None:
    """What the model says, each time by another word."""
    rows = [{"id": id_, "reply": f"{word} {i}: 7", **other} for i, id_ in enumerate(project.ids())]
    write_lines(project.scores, rows)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A reference recorded with its replies, and the folder of a run with others."""
    project = Project(tmp_path, n=N)
    write_task(tmp_path, rows=questions(N), extract__form="number")
    reply(project, "before")
    assert project.record(args=["--accept-low"]) == 0
    reply(project, "now")
    assert project.run() in (0, 1, 4)
    return project


def reference_toml(project: Project) -> Path:
    return project.store / "m" / "sums.toml"


def of_run(project: Project) -> tuple[str | Path, ...]:
    return project.out, "--config", project.config


def test_a_run_s_folder_is_shown_beside_the_replies_of_the_reference(made: Made, project: Project) -> None:
    code, out, err = made.run(*of_run(project), "--out", made.page_path, "--questions", "8")
    assert (code, err) == (0, "")
    assert f"8 of {N} questions, 16 answers" in out
    key = made.key
    assert (key["reference"], key["candidate"]) == ("m / sums", "m / sums")
    assert all(question["prompt"].startswith("What is ") for question in made.page["questions"])
    for asked in key["questions"]:
        place = project.ids().index(asked["id"])
        for given in asked["answers"]:
            word = {"reference": "before", "candidate": "now"}[given["side"]]
            assert made.texts[given["id"]] == f"{word} {place}: 7"
    record = project.out / "m" / "sums.jsonl"
    two = reference_toml(project), record, "--out", made.page_path, "--force", "--questions", str(N)
    assert made.run(*two)[::2] == (0, "")
    assert (made.key["candidate"], len(made.key["questions"])) == (str(record), N)


def test_a_run_whose_sides_are_unclear_or_lack_replies_is_refused(made: Made, project: Project) -> None:
    record, other = project.out / "m" / "sums.jsonl", project.out / "m" / "other.jsonl"
    other.write_text("{}\n", encoding="utf-8")
    assert "name one with --model and --task: m / other, m / sums" in refused(made, *of_run(project))
    assert "no records fit" in refused(made, *of_run(project), "--task", "sum")
    lines = record.read_text(encoding="utf-8").splitlines(keepends=True)
    record.write_text("".join(lines[:9]), encoding="utf-8")  # fewer samples are paired with the reference's
    nine = made.run(*of_run(project), "--out", made.folder / "nine.html", "--task", "sums")
    assert "9 of 9 questions" in nine[1]
    other.unlink()
    sidecar = reference_toml(project).with_suffix(".replies.jsonl.gz")
    rows = [{"id": id_, "repeat": 0, "reply": "x"} for id_ in project.ids()]
    for content, message in (
        (rows[1:], f"lacks the replies of 1 of {N} samples: {rows[0]['id']}"),
        ([{**rows[0], "reply": None}, *rows[1:]], f"1 of {N} samples have no reply: {rows[0]['id']}"),
        ([{"id": "x"}], "is damaged"),
    ):
        write_gzip_lines(sidecar, content)
        assert message in refused(made, *of_run(project))
    sidecar.unlink()
    assert "record it again without --no-replies" in refused(made, *of_run(project))
    reference_toml(project).unlink()
    reference_toml(project).with_suffix(".scores.csv").unlink()
    assert "record one with `accgate record`" in refused(made, *of_run(project))
    assert "there is no such file" in refused(made, reference_toml(project), project.scores)
    (project.out / "m").rename(project.out / "other")
    assert "no model 'other'" in refused(made, *of_run(project))
    (empty := made.folder / "empty").mkdir()
    assert "holds no records" in refused(made, empty)


def row(**other: Any) -> dict[str, Any]:
    return {"id": "q0", "reply": "r", "prompt": "p"} | other


TWO = [row(), row(id="q1")]
FILES: list[tuple[list[dict[str, Any]], list[dict[str, Any]], str]] = [
    (TWO, [row()], "candidate.jsonl: has no answer to 1 of 2 samples: q1"),
    ([row()], TWO, "reference.jsonl: has no answer to 1 of 2 samples: q1"),
    (TWO, [row(), row(id="q1", reply=None)], "candidate.jsonl: 1 of 2 samples have no reply: q1"),
    (TWO, [row(), row()], "candidate.jsonl:2: id 'q0' (repeat 0) is already on line 1"),
    (TWO, [row(), row(id="q1", prompt="x")], "1 sample has different prompts"),
    (TWO, [{"id": "q0", "score": 100}], "candidate.jsonl:1: has no reply"),
    (TWO, [row(reply=7)], "candidate.jsonl:1: reply is 7"),
    ([], TWO, "reference.jsonl: holds no answers"),
    ([{"id": "q0", "reply": "r"}], [{"id": "q0", "reply": "r"}], "no prompt for 1 of 1 samples: q0"),
    (TWO, [row(cluster="c"), row(id="q1")], "no cluster for 1 of 2 samples: q1"),
]  # fmt: skip


@each(("left", "right", "message"), FILES)
def test_sides_that_do_not_fit_are_refused(made: Made, left: Any, right: Any, message: str) -> None:
    assert message in refused(made, made.write("reference", left), made.write("candidate", right))


def test_the_first_of_several_repeats_is_shown(made: Made) -> None:
    rows = [row(repeat=1, reply="second"), row(repeat=0, reply="first")]
    made.write("reference", rows)
    made.write("candidate", [row(reply="x")])
    made.build()
    assert set(made.texts.values()) == {"first", "x"}


def test_csv_files_hold_answers_too(made: Made) -> None:
    files = []
    for side in ("reference", "candidate"):
        files.append(made.folder / f"{side}.csv")
        files[-1].write_text(f"id,prompt,reply\n1,Why?,{side} says so\n2,How?,\n", encoding="utf-8")
    assert made.run(*files, "--out", made.page_path)[0] == 0
    assert "3 answers" in made.run(*files, "--out", made.page_path, "--force")[1]  # nothing is the same on both sides


@each(
    ("arguments", "message"),
    [
        ("", "give a run's folder, or two files"), ("candidate.jsonl x.jsonl", "give a run's folder, or two files"),
        ("no.jsonl", "no.jsonl: cannot be read"), ("candidate.jsonl --questions 13", "--questions is 13"),
        ("candidate.jsonl --questions 0", "from 1 to 12"), ("candidate.jsonl --show-targets", "for 12 of 12 questions"),
        ("candidate.jsonl --model m", "--model: for a run's folder only"),
        ("candidate.jsonl --theta 5", "--theta: for `questionnaire import` only"),
        ("candidate.jsonl --items no.toml", "no.toml: cannot be read"),
    ],
)  # fmt: skip
def test_arguments_that_make_no_questionnaire_are_refused(
    made: Made, monkeypatch, arguments: str, message: str
) -> None:
    for side in ("reference", "candidate"):
        made.write(side, answers(side))
    monkeypatch.chdir(made.folder)
    assert message in refused(made, "reference.jsonl", *arguments.split())


@each(
    ("arguments", "message"),
    [
        ("x.json", "which questionnaire?"), ("--key k.json", "which ratings?"),
        ("x.json --key no.json", "no.json: cannot be read"),
        ("x.json --key k.json --json --markdown -", "both want standard output"),
        ("x.json --key k.json --seed 1", "--seed: for building a questionnaire only"),
    ],
)  # fmt: skip
def test_arguments_that_import_nothing_are_refused(made: Made, arguments: str, message: str) -> None:
    code, out, err = made.run("import", *arguments.split())
    assert (code, out) == (2, "")
    assert message in err


def test_a_key_that_exists_is_kept_unless_it_is_to_be_replaced(made: Made) -> None:
    made.build()
    before = made.key_path.read_bytes()
    files = (made.folder / "reference.jsonl", made.folder / "candidate.jsonl")
    code, _, err = made.run(*files, "--out", made.page_path)
    assert (code, made.key_path.read_bytes()) == (2, before)
    assert "name another --out, or replace it with --force" in err
    assert made.run(*files, "--out", made.page_path, "--force")[0] == 0
    assert made.key_path.read_bytes() != before
    code, _, err = made.run(*files, "--out", made.folder / "no" / "page.html")
    assert (code, "cannot be written" in err) == (2, True)


def test_the_wording_in_the_documentation_is_valid(made: Made) -> None:
    page = (Path(__file__).parents[2] / "docs" / "questionnaire.md").read_text(encoding="utf-8")
    path = made.folder / "items.toml"
    path.write_text(page.split("```toml\n")[1].split("```")[0], encoding="utf-8")
    made.build("--items", path)
    assert [(item["id"], item["reversed"]) for item in made.key["items"]] == [("polite", False), ("made_up", True)]


WORDINGS = [
    ("", "is empty; write [[items]]"),
    ("items = []", "items: holds no statement"),
    ('[[items]]\nid = "a"', "items[0].text: is missing"),
    ('[[items]]\nid = "A b"\ntext = "t"', "items[0].id: is 'A b'"),
    ('[[items]]\nid = "a"\ntext = "t"\n[[items]]\nid = "a"\ntext = "u"', "x.toml:5: items[1].id: 'a' comes twice"),
    ('[[items]]\nid = "a"\ntext = "  "', "items[0].text: is empty"),
    ('[[items]]\nid = "a"\ntext = "t"\nreverse = true', "x.toml:4: items[0].reverse: unknown key"),
    ('levels = ["a", "b", "c", "d", "a "]', "levels: write five different texts"),
    ('language = "en\\"><script>"', "language"),
]


@each(("text", "message"), WORDINGS)
def test_faults_of_the_wording_name_file_key_and_mend(made: Made, text: str, message: str) -> None:
    files = [made.write(side, answers(side)) for side in ("reference", "candidate")]
    path = made.folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    err = refused(made, *files, "--items", path)
    assert f"{path}:" in err
    assert message in err
