"""What an answer depends on: whatever can change it changes the key, or the cache is off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accgate.config.config import Config, load_config
from accgate.engines import Request
from accgate.engines.base import IMAGE
from accgate.evaluation.cache import identity
from accgate.evaluation.cache.identity import KeyIncomplete, identity_of, request_key
from accgate.evaluation.files import FileDigests
from accgate.planning.design import planned_model
from accgate.result import EngineInfo
from tests.support.cases import each

INFO = EngineInfo("llamacpp", "xllamacpp 1", "a processor")
VLLM = EngineInfo("vllm", "vllm 0.33.0", "NVIDIA H200")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
ENVIRON = {IMAGE: "sha256:abc"}


def config(folder: Path, *, engine: str = "llamacpp", model: str = "w.gguf", more: str = "") -> Config:
    (folder / "w.gguf").touch()
    path = folder / "accuracy.toml"
    path.write_text(
        f'[models.m]\nengine = "{engine}"\nmodel = "{model}"\n{more}\n[tasks.arithmetic]\ntarget = 50\n',
        encoding="utf-8",
    )
    return load_config(path)


def digest(made: Config, info: EngineInfo = INFO, environ: dict[str, str] = ENVIRON) -> str:
    digests = FileDigests(made.folder / "never-written")
    return identity_of(planned_model(made, "m"), info, digest_of=digests, environ=environ).digest


def test_the_same_model_has_the_same_key_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert digest(config(tmp_path / "a")) == digest(config(tmp_path / "b"))


@each(
    ("more", "changes"),
    [
        ("variant = { quant = 'q8' }", {}),
        ("options = { n_ctx = 512 }", {}),
        ("", {"info": replace(INFO, version="xllamacpp 2")}),
        ("", {"info": replace(INFO, hardware="another")}),
        ("", {"environ": {IMAGE: "sha256:def"}}),
    ],
)
def test_whatever_says_who_answers_is_part_of_the_key(tmp_path: Path, more: str, changes: dict[str, Any]) -> None:
    before = digest(config(tmp_path))
    assert digest(config(tmp_path, more=more), **changes) != before


@each(
    ("variable", "counts"),
    [
        *((name, True) for name in ("VLLM_ATTENTION_BACKEND", "CUDA_LAUNCH_BLOCKING", "LD_PRELOAD", "AITER_MODE")),
        *((name, False) for name in ("VLLM_API_KEY", "HF_TOKEN", "CUDA_VISIBLE_DEVICES", "PATH")),
    ],
)
def test_settings_of_engines_in_the_environment_are_part_of_the_key(
    tmp_path: Path, variable: str, counts: bool
) -> None:
    plain, changed = (digest(config(tmp_path), environ=ENVIRON | more) for more in ({}, {variable: "1"}))
    assert (plain != changed) == counts


@each("option", ["lora = 'adapter'", "nested = { path = 'adapter' }", "several = ['adapter']"])
def test_files_that_options_name_count_by_their_content(tmp_path: Path, option: str) -> None:
    (tmp_path / "adapter").write_text("one")
    made = config(tmp_path, more=f"options = {{ {option} }}")
    before = digest(made)
    (tmp_path / "adapter").write_text("two")
    assert digest(made) != before


PIN = f"revision = '{COMMIT}'"


@each(
    ("options", "why"),
    [
        ("", "org/model may change on the hub; pin it"),
        ("revision = 'main'", "org/model may change on the hub"),
        (f"{PIN}, tokenizer = 'org/other'", "tokenizer = 'org/other' may change"),
        (f"{PIN}, speculative_config = {{ model = 'org/draft' }}", "org/draft"),
        (f"{PIN}, trust_remote_code = true", "trust_remote_code runs code"),
        (PIN, None),
        (f"{PIN}, download_dir = 'org/other'", None),  # where files are kept
        (f"{PIN}, tokenizer = 'org/other', tokenizer_revision = '{COMMIT}'", None),
    ],
)
def test_what_may_change_on_the_hub_turns_the_cache_off(tmp_path: Path, options: str, why: str | None) -> None:
    made = config(tmp_path, engine="vllm", model="org/model", more=f"options = {{ {options} }}")
    if why is None:
        assert digest(made, VLLM)
        return
    with pytest.raises(KeyIncomplete, match=why):
        digest(made, VLLM)


@pytest.mark.parametrize("engine", ["openai", "recorded"])
def test_who_does_not_say_what_it_is_has_no_key(tmp_path: Path, engine: str) -> None:
    more = "options = { base_url = 'http://127.0.0.1:1/v1' }" if engine == "openai" else ""
    with pytest.raises(KeyIncomplete):
        digest(config(tmp_path, engine=engine, more=more))


def package(folder: Path, name: str, *, is_editable: bool = False, record: str = "") -> Any:
    """An installed package of one file."""
    file = folder / f"{name}.so"
    file.write_text(name)
    texts = {"RECORD": record, "direct_url.json": '{"dir_info": {"editable": true}}' if is_editable else None}
    listed = [SimpleNamespace(suffix=".so", locate=lambda: file)]
    return SimpleNamespace(metadata={"Name": name}, version="1.0", read_text=texts.get, file=file, files=listed)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def installs(*packages: Any) -> None:
        def files(name: str) -> Any:
            if not (named := [each for each in packages if each.metadata["Name"] == name]):
                raise metadata.PackageNotFoundError(name)
            return named[0].files

        monkeypatch.setattr(metadata, "distributions", lambda: list(packages))
        monkeypatch.setattr(metadata, "files", files)

    return installs


def test_another_build_of_the_engine_or_of_any_package_is_another_key(tmp_path: Path, install) -> None:
    engine, keys = package(tmp_path, "xllamacpp"), set()
    for kernel, record in (("one", "a"), ("two", "a"), ("two", "b")):  # of the same versions
        engine.file.write_text(kernel)
        install(engine, package(tmp_path, "torch", record=f"torch.so,sha256={record},1\n"))
        keys.add(digest(config(tmp_path), environ={}))
    assert len(keys) == 3


def test_an_editable_package_turns_the_cache_off_and_accgate_itself_does_not(tmp_path: Path, install) -> None:
    engine = package(tmp_path, "xllamacpp")
    install(engine, package(tmp_path, "accgate", is_editable=True))
    assert digest(config(tmp_path), environ={})
    install(engine, package(tmp_path, "plugin", is_editable=True))
    with pytest.raises(KeyIncomplete, match="plugin is installed as editable"):
        digest(config(tmp_path), environ={})


def test_an_engine_whose_files_are_not_known_turns_the_cache_off(tmp_path: Path, install) -> None:
    install()
    for environ, why in (({}, "xllamacpp does not list its files"), ({**ENVIRON, "PYTHONPATH": "/x"}, "PYTHONPATH")):
        with pytest.raises(KeyIncomplete, match=why):
            digest(config(tmp_path), environ=environ)


REQUEST = Request("id", 0, "1 + 1 =")
PLAIN = {"prompt": "1 + 2 =", "system": "Be brief.", "mode": "completion", "max_tokens": 8, "logprobs": True}
PLAIN |= {"top_p": 0.5, "top_k": 5, "seed": 3, "repeat": 1}


@each(
    "change",
    [
        *({name: value} for name, value in PLAIN.items()),
        {"stop": ("\n",)},
        {"extra": {"min_p": 0.1}},
        {"temperature": 0.5, "seed": 1},
        {"parts": ({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},)},
    ],
)
def test_every_field_of_a_request_is_part_of_its_key(change: dict[str, Any]) -> None:
    key = request_key(replace(REQUEST, **change))
    assert key is not None
    assert key != request_key(REQUEST)


def test_how_likely_a_text_is_has_a_key_of_its_own() -> None:
    keys = {request_key(REQUEST, text) for text in (None, "", " A", " B", "A")}
    assert len(keys - {None}) == 5
    assert request_key(replace(REQUEST, temperature=0.5), " A") is None


def test_the_id_of_a_sample_is_not_since_no_model_sees_it() -> None:
    assert request_key(replace(REQUEST, id="other")) == request_key(REQUEST) != None  # noqa: E711


@each(
    "change",
    [
        {"temperature": 0.5},
        {"extra": {"temperature": 0.5}},
        {"temperature": 0.5, "seed": 1, "extra": {"seed": None}},
        {"parts": ({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},)},
        {"parts": ({"type": "image_url", "image_url": {"url": "file:///a.png"}},)},
        {"extra": {"odd": {1, 2}}},
    ],
)
def test_what_is_drawn_anew_or_may_change_has_no_key(change: dict[str, Any]) -> None:
    assert request_key(replace(REQUEST, **change)) is None


def test_another_driver_of_the_gpu_is_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, keys = config(tmp_path), set()
    for version in (None, "NVRM version: 570.1", "NVRM version: 580.2"):
        file = tmp_path / f"version {version}"
        if version is not None:
            file.write_text(version, encoding="utf-8")
        monkeypatch.setattr(identity, "DRIVER", file)
        keys.add(digest(made))
    assert len(keys) == 3
