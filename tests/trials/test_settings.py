"""What differs from a reference's settings, and how each is put back."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from accgate.config.tables import Model, Sampling
from accgate.errors import BadInput
from accgate.references.settings import answer_settings
from accgate.references.store import Reference, ReferenceFile
from accgate.result import EngineInfo
from accgate.trials.settings import settings_of

INFO = EngineInfo("llamacpp", "xllamacpp 2", "another processor")


def reference(model: Model, **about: object) -> Reference:
    keys = {"engine": model.engine, "settings": answer_settings(model), **about}
    return Reference(Path("references/m/t.toml"), ReferenceFile(model="m", task="t", mean=50.0, n=9, **keys), None)


def model(**keys: object) -> Model:
    return Model(**{"engine": "llamacpp", "model": "w.gguf", **keys})


def changed(before: Model, now: Model) -> list[str]:
    return [change.name for change in settings_of(reference(before), now, None).changes]


def test_each_setting_is_put_back_and_set_alone_and_all_give_the_reference() -> None:
    before = model(
        options={"n_ctx": 512, "cpuparams": {"n_threads": 2}, "n_parallel": 1},
        sampling=Sampling(temperature=0.5, stop=("a",), extra={"min_p": 0.1}),
    )
    now = model(
        model="v.gguf",
        options={"n_ctx": 1024, "cpuparams": {"n_threads": 2, "poll": 1}, "cache_type_k": "q4_0"},
        sampling=Sampling(top_k=5, extra={"min_p": 0.2, "other": 1}),
    )
    settings = settings_of(reference(before), now, None)
    assert {change.name for change in settings.changes} == {
        "model", "options.n_ctx", "options.cpuparams.poll", "options.cache_type_k", "options.n_parallel",
        "sampling.temperature", "sampling.top_k", "sampling.stop", "sampling.extra.min_p", "sampling.extra.other",
    }  # fmt: skip
    assert str(next(c for c in settings.changes if c.name == "options.cache_type_k")).endswith("not set → q4_0")
    assert answer_settings(settings.put_back(settings.values)) == answer_settings(before)
    for name in settings.values:
        back, alone = settings.put_back([name]), settings.set_alone(name)
        assert set(changed(before, back)) == set(settings.values) - {name}
        assert changed(before, alone) == [name]


def test_another_engine_is_one_setting_with_all_its_options() -> None:
    before, now = model(engine="vllm", options={"dtype": "half"}), model(options={"n_ctx": 64})
    settings = settings_of(reference(before), now, None)
    assert [str(change) for change in settings.changes] == ["engine and its options: vllm → llamacpp"]
    back = settings.put_back(settings.values)
    assert (back.engine, answer_settings(back)) == ("vllm", answer_settings(before))


def test_what_belongs_to_the_machine_is_told_and_not_put_back() -> None:
    before, now = model(options={"n_ctx": 64}), model(options={"n_ctx": 128})
    settings = settings_of(reference(before, engine_version="xllamacpp 1", hardware="a processor"), now, INFO)
    assert list(map(str, settings.fixed)) == [
        "hardware: a processor → another processor (this is another machine)",
        "version: xllamacpp 1 → xllamacpp 2 (only this version is installed here)",
    ]  # fmt: skip
    assert list(settings.values) == ["options.n_ctx"]
    moved = replace(INFO, environment={"image": "b", "driver": "550"})
    under = settings_of(reference(before, environment={"image": "a", "torch": "2"}), now, moved)
    assert {str(change).partition(" (")[0] for change in under.fixed} == {
        "environment.image: a → b", "environment.torch: 2 → unknown", "environment.driver: unknown → 550",
    }  # fmt: skip
    labelled = settings_of(reference(before, variant={"kv": "f16"}), replace(now, variant={"kv": "q4"}), INFO)
    assert list(map(str, labelled.fixed)) == ["variant.kv: f16 → q4 (a label: no engine reads it)"]


def test_a_setting_whose_own_name_holds_a_dot_or_a_quote_is_one_setting() -> None:
    before = model(options={"rope.scale": 1, "rope": {"scale": 2, "base.freq": 3}, 'a"b': 1})
    now = model(options={"rope.scale": 5, "rope": {"scale": 6, "base.freq": 7}, "new.one": True})
    settings = settings_of(reference(before), now, None)
    assert {change.name for change in settings.changes} == {
        'options."rope.scale"', "options.rope.scale", 'options.rope."base.freq"', 'options."new.one"',
        'options."a\\"b"',
    }  # fmt: skip
    assert settings.put_back(['options."rope.scale"']).options["rope"] == {"scale": 6, "base.freq": 7}
    assert answer_settings(settings.put_back(settings.values)) == answer_settings(before)
    for name in settings.values:
        assert changed(before, settings.set_alone(name)) == [name]


def test_every_key_of_sampling_and_what_asks_or_formats_the_prompt_can_be_put_back() -> None:
    """A task's own mode and prompt are rules: where they differ from the reference's, no run compares the two."""
    keys: dict[str, Any] = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "max_tokens": 7, "seed": 3, "stop": ("a",)}
    keys["extra"] = {"chat_template_kwargs": {"enable_thinking": True}, "min_p": 0.1}
    assert set(keys) == {field.name for field in fields(Sampling)}
    before = model(options={"chat_template": "old.jinja"}, sampling=Sampling(**keys))
    now = model(model="v.gguf", options={"chat_template": "new.jinja"}, sampling=Sampling())
    settings = settings_of(reference(before), now, None)
    assert {change.name for change in settings.changes} == {
        "model", "options.chat_template", "sampling.extra.chat_template_kwargs.enable_thinking", "sampling.extra.min_p",
        *(f"sampling.{key}" for key in keys if key != "extra"),
    }  # fmt: skip
    assert settings.put_back(settings.values) == before


def test_without_a_difference_or_without_settings_there_is_nothing_to_search() -> None:
    older = {key: value for key, value in answer_settings(model()).items() if key != "deterministic"}
    for about, words in (
        ({}, "no setting differs from those it was recorded with"),
        ({"settings": older}, "no setting differs"),
        ({"engine_version": "xllamacpp 1"}, "no setting differs.*What differs is version: xllamacpp 1 → xllamacpp 2"),
        ({"settings": {}}, "has no settings, because an earlier version"),
    ):
        with pytest.raises(BadInput, match=words):
            settings_of(reference(model(), **about), model(), INFO if "engine_version" in about else None)
