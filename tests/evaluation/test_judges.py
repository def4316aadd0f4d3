"""Who marks the answers: marks of two judges are never mixed, nor held against each other."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accgate import record as recording
from accgate.cli.main import main
from accgate.evaluation.run import evaluate_checks
from accgate.inputs.toml import read_toml
from accgate.records.file import paths_of, read_records
from accgate.references.store import find_reference
from tests.evaluation.serving import checks_of, command, configure, merge, served_by
from tests.support.gates import refused, said, write_task
from tests.support.servers import Fault, Server

N = 40
FIRST = {"model": "toy-1", "system_fingerprint": "a"}
OTHER_MODEL, OTHER_BUILD = {**FIRST, "model": "toy-2"}, {**FIRST, "system_fingerprint": "b"}
JUDGES: list[tuple[dict[str, Any], str | None, str]] = [
    (OTHER_BUILD, None, "system_fingerprint"), (OTHER_MODEL, None, "model"), (FIRST, "org/other-70b", "listed.toy"),
]  # fmt: skip


@pytest.fixture
def judge(tmp_path: Path, server: Server) -> Iterator[Server]:
    with Server(answer=lambda prompt: "1" if prompt.endswith(" 2") else "5") as made:
        serve(made, FIRST, "org/first-70b")
        rows = [{"q": f"What is {i} + 1?", "a": "x"} for i in range(N)]
        write_task(tmp_path, "sums", rows, metric="judge", judge__rubric="1 + 4 {{ reply }}")
        write(tmp_path, server, made)
        yield made


def write(folder: Path, server: Server, judge: Server, **options: Any) -> None:
    tables = {
        "gate": {"max_failed": 0},
        "models.m": served_by(server.url, concurrency=1),
        "judges.j": served_by(judge.url, concurrency=1, **options),
        "tasks.sums": {"file": "sums.toml", "judge": "j", "target": 50.0},
    }
    configure(folder, tables)


def serve(judge: Server, says: dict[str, Any], root: str | None) -> None:
    judge.says = says
    judge.models = {"data": [{"id": "toy", "owned_by": "vllm", "root": root or "org/first-70b"}]}


def run(folder: Path, *arguments: str) -> int:
    return command(folder, "run", *arguments)


def begun(folder: Path, judge: Server) -> list[str]:
    """Have a run end after some of its marks; its arguments."""
    judge.fault_of = lambda _: Fault(400) if len(judge.seen) == 10 else None
    where = ["--out", str(folder / "out")]
    assert run(folder, *where) == 3
    judge.fault_of = None
    return [*where, "--resume"]


def settings(folder: Path) -> dict[str, Any]:
    return dict(json.loads(paths_of(folder, "m", "sums").settings.read_text()))


def toml_of(folder: Path) -> Path:
    return folder / "references" / "m" / "sums.toml"


def forget_judge(folder: Path) -> None:
    """Make the reference one of an earlier version, which does not say who marked it."""
    path = toml_of(folder)
    text = re.sub(r"\n\[(judge_)?(served|files)(\.listed)?\]\n([^\[].*\n|\n)*", "\n", path.read_text())
    assert "judge_" not in text
    path.write_text(text)


def scored(folder: Path) -> int:
    return sum(record.score is not None for record in read_records(paths_of(folder, "m", "sums").records))


@pytest.mark.parametrize(("says", "root", "key"), JUDGES)
def test_a_resumed_run_mixes_the_marks_of_no_other_judge(
    tmp_path: Path, judge: Server, says: dict[str, Any], root: str | None, key: str, capsys
) -> None:
    resume = begun(tmp_path, judge)
    before = scored(tmp_path / "out")
    assert before > 0
    serve(judge, says, root)
    for _ in range(2):  # who marked first is not forgotten
        code = run(tmp_path, *resume)
        if root is None:  # it shows with the first reply
            assert code == 3
            (check,) = checks_of(tmp_path / "out")
            assert check["reasons"][0].startswith(f"judge j: {judge.url} changed in the middle of the run: {key} was ")
        else:
            assert "its records were marked by judge j with listed " in refused(capsys, code)
        assert scored(tmp_path / "out") == before
    serve(judge, FIRST, None)
    assert run(tmp_path, *resume) == 0
    assert scored(tmp_path / "out") == N


def test_fingerprints_of_a_judge_that_its_options_name_may_mix(tmp_path: Path, server: Server, judge: Server) -> None:
    resume = begun(tmp_path, judge)
    serve(judge, OTHER_BUILD, None)
    write(tmp_path, server, judge, fingerprints=["a", "b"])
    assert run(tmp_path, *resume) == 0
    assert settings(tmp_path / "out")["judge_served"]["system_fingerprint"] == ["a", "b"]


def test_shards_that_two_judges_marked_are_not_merged(tmp_path: Path, judge: Server, capsys) -> None:
    parts = [tmp_path / "one", tmp_path / "two"]
    assert run(tmp_path, "--shard", "1/2", "--out", str(parts[0])) == 0
    for says, root, key in JUDGES:
        serve(judge, says, root)
        assert run(tmp_path, "--shard", "2/2", "--out", str(parts[1])) == 0
        assert f"judge j: {key} is " in refused(capsys, merge(tmp_path, parts))
    assert not (tmp_path / "merged").exists()
    serve(judge, FIRST, None)
    assert run(tmp_path, "--shard", "2/2", "--out", str(parts[1])) == 0
    assert merge(tmp_path, parts) == 0
    assert settings(tmp_path / "merged")["judge_served"] == settings(parts[0])["judge_served"]


@pytest.mark.parametrize(("says", "root"), [(OTHER_BUILD, None), (FIRST, "org/other-70b")])
def test_a_shard_counts_no_marks_of_another_judge(
    tmp_path: Path, judge: Server, says: dict[str, Any], root: str | None
) -> None:
    def together(shard: str, *arguments: str) -> int:
        return run(tmp_path, "--shard", shard, "--together", str(tmp_path / "all"), *arguments)

    config = tmp_path / "accuracy.toml"
    config.write_text(config.read_text().replace("target = 50.0", "theta = 40"))
    assert main(["record", str(config), "--quiet", "--out", str(tmp_path / "recorded")]) == 0
    forget_judge(tmp_path)  # or the second shard would be held against a reference that another judge marked
    assert together("1/2") == 0
    assert together("2/2") == 0
    early = scored(tmp_path / "all" / "shard-2-of-2")
    serve(judge, says, root)
    assert together("2/2") == 0
    alone = scored(tmp_path / "all" / "shard-2-of-2")
    assert alone == settings(tmp_path / "all" / "shard-2-of-2")["records"] > early


OTHER = r"sums.toml: judge j is not the one that marked this reference: "
WORDS = {
    "system_fingerprint": "system_fingerprint was 'a', and now is 'b'",
    "model": "model was 'toy-1', and now is 'toy-2'",
}
FIX = "serve the judge of the reference, or record a new reference with this one (`accgate record --reason ...`)"


@pytest.fixture
def gate(tmp_path: Path, judge: Server) -> Path:
    """A folder with a reference that the first judge marked."""
    pair(tmp_path)
    assert record(tmp_path) == 0
    judge.seen.clear()
    return tmp_path


def pair(folder: Path) -> None:
    """Have the check compared with its reference, on all samples."""
    config = folder / "accuracy.toml"
    text = config.read_text().replace("target = 50.0", f"num_samples = {N}")
    config.write_text(text.replace("[gate]", "[gate]\nearly_stopping = false"))


def record(folder: Path, *arguments: str) -> int:
    out = folder / f"recorded-{len(list(folder.glob('recorded-*')))}"
    return command(folder, "record", "--out", str(out), *arguments)


def reason_of(folder: Path) -> str:
    """Why the run in this folder has no verdict."""
    check = check_of(folder)
    assert check["verdict"] == "error"
    return str(check["reasons"][0])


def replace_judge(folder: Path, old: str, new: str) -> None:
    """Have the reference name another judge."""
    toml_of(folder).write_text(toml_of(folder).read_text().replace(old, new))


def judge_of(folder: Path) -> dict[str, Any]:
    return dict(read_toml(toml_of(folder), fix="").data["judge_served"])


def gated(folder: Path, *arguments: str) -> int:
    return run(folder, "--out", str(folder / "out"), *arguments)


def verify(folder: Path) -> int:
    return main(["verify", str(folder / "out"), "--config", str(folder / "accuracy.toml")])


def check_of(folder: Path) -> dict[str, Any]:
    (check,) = checks_of(folder)
    return check


def edit_judge(folder: Path, **served: Any) -> None:
    """Say in the settings beside a run's records that another judge marked them."""
    path = paths_of(folder, "m", "sums").settings
    path.write_text(json.dumps(json.loads(path.read_text()) | {"judge_served": served}))


def test_a_reference_says_who_answered_and_who_marked(gate: Path) -> None:
    about = read_toml(toml_of(gate), fix="").data
    assert about["judge_served"] == {**FIRST, "listed": {"server": "vllm", "toy": '{"root": "org/first-70b"}'}}
    assert about["served"] == {"listed": {"toy": "{}"}}  # its kind is no server's that can be told apart by it


@pytest.mark.parametrize(("says", "root", "key"), JUDGES)
def test_marks_of_another_judge_than_the_references_are_an_error_and_no_time_is_spent_on_them(
    gate: Path, judge: Server, says: dict[str, Any], root: str | None, key: str
) -> None:
    serve(judge, says, root)
    assert gated(gate) == 3
    assert len(judge.seen) == (0 if root else 1)
    reason = reason_of(gate / "out")
    assert check_of(gate / "out")["candidate"]["mean"] is None
    assert OTHER + WORDS.get(key, "list of models was 'toy ") in reason
    assert FIX in reason
    assert ("options.fingerprints" in reason) == (key == "system_fingerprint")
    serve(judge, FIRST, None)
    assert gated(gate, "--resume") == 0
    assert verify(gate) == 0


def test_where_one_side_does_not_say_who_marked_nothing_is_refused(gate: Path, judge: Server) -> None:
    judge.says, judge.models = {}, {"data": []}
    assert gated(gate) == 0
    serve(judge, OTHER_BUILD, "org/other-70b")
    forget_judge(gate)
    assert gated(gate) == 0
    assert check_of(gate / "out")["verdict"] == "pass"


@pytest.mark.parametrize(("recorded", "options"), [(["a", "b"], []), (["a", "c"], ["b", "c", "a"])])
def test_fingerprints_that_overlap_or_that_the_judges_options_name_are_no_other_judge(
    gate: Path, judge: Server, server: Server, recorded: list[str], options: list[str]
) -> None:
    replace_judge(gate, 'system_fingerprint = "a"', f"system_fingerprint = {json.dumps(recorded)}")
    write(gate, server, judge, **({"fingerprints": options} if options else {}))
    pair(gate)
    serve(judge, OTHER_BUILD, None)
    assert gated(gate) == 0


def test_lists_of_a_hosted_api_that_change_by_themselves_are_no_other_judge(gate: Path, judge: Server) -> None:
    def lists(*names: str) -> None:
        judge.models = {"data": [{"id": name, "owned_by": name} for name in names]}

    lists("toy", "gpt-4")
    assert record(gate, "--reason", "hosted") == 0
    lists("gpt-5", "toy")
    assert gated(gate) == 0
    lists("gpt-5", "gpt-6")
    assert gated(gate) == 0
    assert record(gate, "--reason", "by an alias") == 0
    assert "listed" not in judge_of(gate)


def test_verify_refuses_a_pass_on_marks_of_another_judge(gate: Path, capsys) -> None:
    assert gated(gate) == 0
    edit_judge(gate / "out", system_fingerprint="b")
    assert verify(gate) == 2
    told = said(capsys)
    assert "verdict: is 'pass', but the records give 'error'" in told
    assert OTHER in told
    edit_judge(gate / "out", system_fingerprint=5, model=["toy"], listed="no")  # what nobody wrote says nothing
    assert verify(gate) == 0


def test_merged_shards_that_another_judge_marked_are_an_error(gate: Path, judge: Server) -> None:
    whole = toml_of(gate).read_text()
    forget_judge(gate)
    serve(judge, OTHER_MODEL, None)
    parts = [gate / "one", gate / "two"]
    for i, part in enumerate(parts, 1):
        assert run(gate, "--shard", f"{i}/2", "--out", str(part)) == 0
    assert merge(gate, parts) == 0
    toml_of(gate).write_text(whole)
    assert merge(gate, parts) == 3
    assert OTHER + WORDS["model"] in reason_of(gate / "merged")


def test_a_shard_ends_where_another_judge_marks(gate: Path, judge: Server) -> None:
    serve(judge, FIRST, "org/other-70b")
    assert run(gate, "--shard", "1/2", "--out", str(gate / "one")) == 3
    (share,) = json.loads((gate / "one" / "shard.json").read_text())["checks"]
    assert OTHER in share["problem"]
    assert judge.seen == []


def test_a_run_that_broke_off_goes_on_with_the_references_judge_only(gate: Path, judge: Server) -> None:
    judge.fault_of = lambda _: Fault(400) if len(judge.seen) == 10 else None
    assert gated(gate) == 3
    judge.fault_of = None
    replace_judge(gate, "toy-1", "toy-0")  # the reference is another one now
    assert gated(gate, "--resume") == 3
    assert OTHER + "model was 'toy-0', and now is 'toy-1'" in reason_of(gate / "out")
    replace_judge(gate, "toy-0", "toy-1")
    assert gated(gate, "--resume") == 0


def test_no_run_is_added_to_a_reference_that_another_judge_marked_meanwhile(
    gate: Path, judge: Server, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def before_another_is_recorded(*args: Any, **keys: Any) -> Any:
        evaluated = evaluate_checks(*args, **keys)
        monkeypatch.undo()
        serve(judge, OTHER_MODEL, None)
        assert record(gate, "--reason", "another judge") == 0
        return evaluated

    monkeypatch.setattr(recording, "evaluate_checks", before_another_is_recorded)
    assert record(gate, "--add") == 3
    assert OTHER + "model was 'toy-2', and now is 'toy-1'" in said(capsys)
    about = read_toml(toml_of(gate), fix="").data
    assert (about["judge_served"]["model"], about["runs"]) == ("toy-2", 1)
    serve(judge, FIRST, None)
    assert record(gate, "--add") == 3  # the judge is another one from the start
    assert OTHER in said(capsys)
    serve(judge, OTHER_MODEL, None)
    assert record(gate, "--add") == 0
    assert judge_of(gate) == about["judge_served"]


@pytest.mark.parametrize("says", [True, False])
def test_drift_is_counted_afresh_from_the_first_reference_of_another_judge(
    gate: Path, judge: Server, *, says: bool
) -> None:
    def anchor() -> str:
        reference = find_reference(gate / "references", "m", "sums")
        assert reference is not None
        return reference.about.anchor

    if not says:  # as the references of earlier versions
        forget_judge(gate)
    anchored = toml_of(gate).with_suffix(".anchor.toml")
    assert record(gate, "--reason", "again") == 0
    assert (anchor(), anchored.exists(), "judge_served" in anchored.read_text()) == ("", True, says)
    serve(judge, OTHER_MODEL, None)
    assert record(gate, "--reason", "another judge") == 0
    assert anchor().startswith("drift is counted from here: the judge changed since the anchor of ")
    assert not anchored.exists()
    assert gated(gate) == 0


def test_a_file_of_the_judge_with_another_content_is_another_judge(gate: Path, judge: Server) -> None:
    template, config = gate / "judge.jinja", gate / "accuracy.toml"
    template.write_text("one")
    extra = 'sampling = { extra = { chat_template = "judge.jinja" } }\n[tasks.sums]'
    config.write_text(config.read_text().replace("[tasks.sums]", extra))
    assert record(gate, "--reason", "with a template") == 0
    assert list(read_toml(toml_of(gate), fix="").data["judge_files"]) == ["judge.jinja"]
    assert gated(gate) == 0
    judge.seen.clear()
    template.write_text("two")
    assert gated(gate) == 3
    assert OTHER + "the content of judge.jinja changed" in reason_of(gate / "out")
    assert judge.seen == []


def test_compare_refuses_files_whose_sidecars_name_two_judges(gate: Path, judge: Server, capsys) -> None:
    scores, records = toml_of(gate).with_suffix(".scores.csv"), paths_of(gate / "out", "m", "sums").records
    assert gated(gate) == 0
    assert main(["compare", str(scores), str(records)]) == 0
    edit_judge(gate / "out", system_fingerprint="b")
    assert main(["compare", str(scores), str(records)]) == 2
    assert "sums.scores.csv: the judge is not the one that marked this reference: system_fingerprint" in said(capsys)
    assert main(["compare", str(records), str(records)]) == 0
    edit_judge(gate / "out", system_fingerprint=["b"])  # options allowed more than one
    assert main(["compare", str(scores), str(records)]) == 0
    edit_judge(gate / "out", system_fingerprint="b")
    alone = Path(shutil.copy(records, gate / "alone.jsonl"))
    assert main(["compare", str(scores), str(alone)]) == 0


def test_a_pull_requests_own_reference_of_another_judge_decides_nothing_beside(
    gate: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = Path(shutil.copytree(gate, tmp_path_factory.mktemp("base") / "tree")) / "accuracy.toml"
    replace_judge(gate, "toy-1", "toy-0")
    assert gated(gate, "--base", str(base)) == 0
    (beside,) = json.loads((gate / "out" / "accgate.json").read_text())["beside"]
    assert beside["verdict"] == "inconclusive"
    assert OTHER + "model was 'toy-0', and now is 'toy-1'" in beside["reasons"][0]
