"""What a run has differently from the recording that it is compared with is kept in the reference, and said."""

from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from accgate.cli.main import main
from accgate.config.tables import Model, Sampling
from accgate.engines import base
from accgate.inputs.toml import tomllib
from accgate.records.figures import COLUMNS, Figures
from accgate.records.ids import Ids
from accgate.records.scores import Scores
from accgate.references.settings import answer_settings, batch_note, prompt_change, setting_changes
from accgate.references.store import Reference, ReferenceFile
from accgate.result import EngineInfo
from accgate.verdict.reasons import words_of
from tests.support.cases import each
from tests.support.gates import Project, right_but
from tests.support.servers import Server

INFO = EngineInfo("vllm", "vllm 0.33.0", "H200")


def known(**keys: object) -> ReferenceFile:
    return ReferenceFile(model="m", task="t", mean=50.0, n=10, **keys)


def test_what_cannot_change_an_answer_or_is_not_set_is_not_kept() -> None:
    model = Model(
        engine="openai", model="m", options={"base_url": "http://h/v1", "timeout": 9, "serve": ["vllm", "serve", "m"]},
        sampling=Sampling(temperature=0.5, stop=("\n",), extra={"min_p": 0.1}),
    )  # fmt: skip
    assert answer_settings(model) == {
        "model": "m", "options": {"serve": ["vllm", "serve", "m"]},
        "sampling": {"temperature": 0.5, "stop": ["\n"], "extra": {"min_p": 0.1}},
    }  # fmt: skip


def test_every_kind_of_change_is_said_with_both_values() -> None:
    before = Model(engine="vllm", model="m", options={"dtype": "half", "seed": 1}, variant={"quant": "bf16"})
    now = Model(
        engine="vllm", model="n", options={"dtype": "half", "enforce_eager": True}, variant={"quant": "fp8"},
        sampling=Sampling(temperature=0.7),
    )  # fmt: skip
    reference = known(
        settings=answer_settings(before), variant=dict(before.variant), engine="vllm", engine_version="vllm 0.32.0",
        hardware="H200",
    )  # fmt: skip
    assert setting_changes(reference, now, INFO) == (
        "model: m → n",
        "options.enforce_eager: not set → true",
        "options.seed: 1 → not set",
        "sampling.temperature: 0.0 → 0.7",
        "variant.quant: bf16 → fp8",
        "version: vllm 0.32.0 → vllm 0.33.0",
    )
    assert setting_changes(reference, before, EngineInfo("vllm", "vllm 0.32.0", "H200")) == ()
    assert setting_changes(known(), now, INFO) == ("variant.quant: not set → fp8",)  # all that an old reference has


@each(
    ("recorded", "here", "changes"),
    [
        ({"torch": "2.8", "cuda": "12.8"}, {"torch": "2.9", "cuda": "12.8"}, ("environment.torch: 2.8 → 2.9",)),
        ({"image": "a"}, {"torch": "2"}, ("environment.image: a → unknown", "environment.torch: unknown → 2")),
        ({}, {"torch": "2.9.0"}, ()),  # a reference of an earlier version
        ({"torch": "2.9.0"}, {}, ("environment.torch: 2.9.0 → unknown",)),
        ({"torch": "2.8.0; 2.9.0"}, {"torch": "2.8.0"}, ()),  # of two runs
        ({"torch": "2.8.0; 2.9.0"}, {"torch": "2.8"}, ("environment.torch: 2.8.0; 2.9.0 → 2.8",)),
    ],
)
def test_what_lies_under_the_engine_is_compared_where_both_sides_know(
    recorded: dict[str, str], here: dict[str, str], changes: tuple[str, ...]
) -> None:
    model = Model(engine="vllm", model="m")
    reference = known(settings=answer_settings(model), environment=recorded, engine="vllm")
    assert setting_changes(reference, model, replace(INFO, environment=here)) == changes
    server = EngineInfo("openai", "server", "server")  # another engine, which says nothing of what lies under it
    assert setting_changes(reference, model, server)[1:] == ()


def test_the_driver_packages_and_image_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024": "550.54.15",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build": "570.86.15",
        "no version": None,
    }
    monkeypatch.setattr(base, "DRIVER", tmp_path / "version")
    assert base.environment_of("no-such-package", environ={}) == {}
    for line, driver in lines.items():
        (tmp_path / "version").write_text(f"{line}\nGCC version:  gcc version 12.3.0 (Ubuntu)\n")
        known_here = base.environment_of("numpy", environ={base.IMAGE: "sha256:a"})
        assert known_here.pop("numpy")
        assert known_here == {"image": "sha256:a"} | ({"driver": driver} if driver else {})


def test_a_reference_of_an_engine_whose_batches_vary_is_told_of() -> None:
    fixed = Model(engine="llamacpp", model="m")
    assert batch_note(known(engine="llamacpp", settings=answer_settings(fixed))) is None
    earlier = known(engine="llamacpp", settings={"model": "m"})  # of a version that had no such option
    assert (note := batch_note(earlier)) is not None
    assert "accgate record --check" in words_of(note)
    assert setting_changes(earlier, fixed, None)[0] == "deterministic: not set → blocks of 64"
    otherwise = known(engine="llamacpp", settings=answer_settings(fixed) | {"deterministic": True})
    assert setting_changes(otherwise, fixed, None) == ("deterministic: true → blocks of 64",)
    server = Model(engine="openai", model="m", options={"base_url": "http://h/v1"})
    assert batch_note(known(engine="openai", settings=answer_settings(server))) is None
    for options, is_told in (({}, True), ({"batch_invariant": True}, False)):
        vllm = Model(engine="ray", model="m", options={"engine": "vllm", "options": options})
        reference = known(engine="vllm", settings=answer_settings(vllm), discordance=0.025)
        note = batch_note(reference)
        assert (note is not None) == is_told
        assert note is None or "2.5% of the scores differ" in words_of(note)


def assert_reported(project: Project, change: str) -> None:
    """The change of a setting stands in the result, and in both reports."""
    assert project.check["settings_changed"] == [change]
    for kind in ("md", "html"):
        text = unescape((project.out / f"report.{kind}").read_text())
        assert change.replace(":", "") in " ".join(text.replace("`", "").replace(":", "").split())


@pytest.mark.parametrize("verdict", ["pass", "regression"])
def test_a_gate_says_it_everywhere_a_person_looks(tmp_path: Path, verdict: str, capsys) -> None:
    project = Project(tmp_path, theta=8.0)
    assert project.record(right_but(0)) == 0
    (written,) = project.store.glob("*/sums.toml")
    assert tomllib.loads(written.read_text())["settings"] == {"model": "m.jsonl", "sampling": {"temperature": 0.0}}
    project.answer(right_but(100 if verdict == "regression" else 0))
    project.models["m"] |= {"sampling": {"top_k": 5}}
    project.write()
    assert project.run(args=["--html"]) == (1 if verdict == "regression" else 0)
    assert_reported(project, "sampling.top_k: not set → 5")
    shown = capsys.readouterr().out
    assert ("sampling.top_k   not set → 5" in shown) == (verdict == "regression")


def counted(tokens: list[int]) -> Figures:
    """Figures of records with these prompt tokens; -1 where nobody counted them."""
    columns = np.zeros(len(tokens), dtype=COLUMNS)
    columns["prompt_tokens"] = tokens
    return Figures(Ids([f"s{i}" for i in range(len(tokens))]), columns)


@each(
    ("before", "tokens", "change"),
    [
        (12.0, [8] * 40, "12.0 → 8.0"),  # an early stop
        (12.0, [13] * 100, "12.0 → 13.0"),  # a second token that begins the text
        (12.0, [12] * 100, None),
        (12.0, [8] * 9, None),  # too few to tell
        (12.0, [2, 19] * 20, None),  # another part of the samples
        (None, [8] * 100, None),
        (12.0, [-1] * 100, None),
        (12.0, [8] * 101, None),  # a sample that the reference lacks
    ],
)
def test_prompts_whose_tokens_changed_stand_beside_the_settings(
    before: float | None, tokens: list[int], change: str | None
) -> None:
    about = ReferenceFile(model="m", task="t", mean=50.0, n=100, prompt_tokens=before)
    scores = Scores([f"s{i}" for i in range(100)], np.zeros((100, 1)))
    said = prompt_change(Reference(Path("t.toml"), about, scores), counted(tokens))
    assert said == (None if change is None else f"prompt tokens per sample: {change}")


def test_a_server_that_cuts_prompts_is_told_in_comment_and_report(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=40)
    with Server() as server:
        choice = {"message": {"content": "1"}, "finish_reason": "stop"}
        project.models["m"] = {"engine": "openai", "model": "toy", "options": {"base_url": server.url}}
        project.write()
        right = {f"What is {i} + {i}?": {"content": str(2 * i)} for i in range(40)}
        server.choice_of = lambda prompt: choice | {"message": right[prompt], "usage": {"prompt_tokens": 12}}
        assert main(["record", str(project.config)]) == 0
        server.choice_of = lambda _: choice | {"usage": {"prompt_tokens": 8}}
        assert main(["run", str(project.config), "--out", str(project.out), "--html"]) == 1
    assert_reported(project, "prompt tokens per sample: 12.0 → 8.0")
    assert "look first at what the model receives" in " ".join(capsys.readouterr().out.split())
