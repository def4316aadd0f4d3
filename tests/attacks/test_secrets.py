"""A pull request sends no environment variable anywhere that the base does not name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from accgate._version import REPOSITORY
from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.errors import BadInput
from accgate.guard.secrets import refuse_secrets
from tests.support.cases import each
from tests.support.gates import Project, said, table
from tests.support.runner import ROOT, load_yaml
from tests.support.servers import Server
from tests.support.trees import Trees, effects, trees

API = "https://api.example.com/v1"
MINE = {"engine": "openai", "model": "x", "options": {"base_url": API, "api_key_env": "MY_KEY"}}
SECRETS = {"OTHER": ["other.example.com", "http://gpu-1:8000", "127.0.0.1:9"], "OURS": ["serve", "ray"]}
OF_RAY = {"engine": "ray", "model": "x"}


def asking(url: Any, key: str | None = "MY_KEY", **options: Any) -> dict[str, Any]:
    """A model on a server; without a URL it starts one."""
    own = {"base_url": url, "api_key_env": key, **options}
    return {**MINE, "options": {name: value for name, value in own.items() if value is not None}}


def on_ray(inner: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    engine = {"engine": "vllm"} if inner is None else {"engine": "openai", "options": inner["options"]}
    return {**OF_RAY, "options": {**engine, **options}}


REFUSED = {
    "another host behind the allowed one's name": (asking("https://api.example.com.evil.example/v1"), "evil.example"),
    "a host whose name ends as the allowed one's": (asking("https://notapi.example.com/v1"), "to notapi.example.com"),
    "a user name that reads as the host": (asking("https://api.example.com@evil.example/v1"), "@evil.example"),
    "a back slash that hides the host": (asking("https://evil.example\\@api.example.com/v1"), "evil.example"),
    "another port": (asking("https://api.example.com:444/v1"), "to api.example.com:444"),
    "a way that is not encrypted": (asking("http://api.example.com/v1"), "to http://api.example.com,"),
    "one of several servers": (asking([API, "https://evil.example/v1"]), "to evil.example"),
    "this machine, where a server of the head's may listen": (asking("http://127.0.0.1:8000/v1"), "to 127.0.0.1:8000"),
    "a command that the model starts": (asking(None, serve=["sh", "-c", "x"]), "MY_KEY to serve,"),
    "a command, and a server besides": (
        asking("https://evil.example:{port}/v1", "OURS", serve=["sh", "{port}"]),
        "evil.example",
    ),
    "another variable": (asking(API, "HF_TOKEN"), "HF_TOKEN to api.example.com,"),
    "an allowed variable at another's host": (
        asking("https://api.example.com/v1", "OTHER"),
        "OTHER to api.example.com",
    ),
    "replicas on a cluster": (on_ray(MINE), "MY_KEY to ray,"),
    "replicas on a cluster elsewhere": (
        on_ray(asking(None, "OURS", serve=["x"]), address="ray://evil.example:1"),
        "evil",
    ),
    "replicas with a server elsewhere": (on_ray(asking("https://evil.example/v1", "OURS")), "OURS to evil.example"),
    "variables of the replicas": (on_ray(env=["OURS", "HF_TOKEN"]), "HF_TOKEN to ray,"),
}
ALLOWED = {
    "what the base does": MINE,
    "another path of the host": asking("https://API.example.com/v2"),
    "no key at all, anywhere": asking("https://evil.example/v1", None),
    "what the base names": asking("https://other.example.com/v1", "OTHER"),
    "what the base names, not encrypted": asking("http://gpu-1:8000/v1", "OTHER"),
    "the local server that the base names": asking("http://127.0.0.1:9/v1", "OTHER"),
    "a command with its own key": asking("http://127.0.0.1:{port}/v1", "OURS", serve=["x", "{port}"]),
    "replicas of this machine's cluster": on_ray(env=["OURS"]),
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Trees:
    """A base whose model has a key, and a head that starts as its copy."""
    made = trees(tmp_path_factory.mktemp("secrets"), sigma=50.0, target=50.0)
    for project in (made.base, made.head):
        project.models = {"m": MINE}
        project.gate["secrets"] = SECRETS
        project.write()
    return made


def run_of(pair: Trees) -> list[str]:
    return ["run", str(pair.head.config), "--base", str(pair.base.config), "--out", str(pair.head.out)]


def judged(pair: Trees, model: dict[str, Any]) -> int:
    pair.head.models = {"m": model}
    pair.head.write()
    return main([*run_of(pair), "--quiet"])


@each("what", REFUSED)
def test_a_variable_goes_nowhere_that_the_base_does_not_name(
    pair: Trees, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    for name in ("MY_KEY", "OTHER", "OURS", "HF_TOKEN", "other"):
        monkeypatch.setenv(name, "canary")
    model, words = REFUSED[what]
    assert judged(pair, model) == 2
    text = said(capsys)
    assert words in text
    assert "under [gate.secrets]" in text
    assert "canary" not in text
    assert f"{pair.head.config}:" in text


@each("what", ALLOWED)
def test_what_the_base_does_or_names_is_allowed(pair: Trees, what: str) -> None:
    pair.head.models = {"m": ALLOWED[what]}
    pair.head.write()
    refuse_secrets(load_config(pair.head.config), load_config(pair.base.config))


def with_secrets(project: Project, secrets: dict[str, list[str]]) -> None:
    """Write the project's rules with these secrets. What the module's other tests write stays as it is."""
    known, project.gate = project.gate, {**project.gate, "secrets": secrets}
    project.write()
    project.gate = known


def test_no_request_is_made_before_the_refusal_and_the_key_is_sent_once_the_base_allows_it(
    pair: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "canary")
    with Server() as server:
        model = asking(server.url, "HF_TOKEN")
        assert judged(pair, model) == 2
        assert (server.listings, server.seen) == (0, [])
        with_secrets(pair.base, {"HF_TOKEN": [f"127.0.0.1:{server.port}"]})
        assert judged(pair, model) in (0, 4)
    pair.base.write()
    assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer canary"}


def test_what_the_head_itself_names_does_not_count(pair: Trees, capsys: pytest.CaptureFixture[str]) -> None:
    pair.head.models = {"m": asking("https://evil.example/v1", "HF_TOKEN")}
    with_secrets(pair.head, {**SECRETS, "HF_TOKEN": ["evil.example"]})
    assert main([*run_of(pair), "--quiet"]) == 2
    assert "HF_TOKEN to evil.example" in said(capsys)


def test_a_new_model_a_shard_of_it_and_a_judge_of_the_heads_are_refused_alike(
    pair: Trees, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = asking("https://evil.example/v1")
    pair.head.models = {"m": MINE, "new": evil}
    pair.head.write()
    assert main([*run_of(pair), "--shard", "1/2"]) == 2
    assert "models.new.options.api_key_env" in said(capsys)
    pair.head.models = {"m": MINE}
    pair.head.write()
    with pair.head.config.open("a") as file:
        file.write(table("judges.j", evil))
    assert main(run_of(pair)) == 2
    assert "judges.j.options.api_key_env" in said(capsys)


def test_a_base_without_rules_allows_nothing_and_without_a_base_nothing_is_refused(
    pair: Trees, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    pair.head.models = {"m": MINE}
    pair.head.write()
    (tmp_path / "base").mkdir()
    (tmp_path / "base/README").write_text("no rules")
    shutil.copytree(pair.head.folder, tmp_path / "head")
    run = ["run", str(tmp_path / "head/accuracy.toml"), "--out", str(tmp_path / "out"), "--quiet"]
    assert main([*run, "--base", str(tmp_path / "base/accuracy.toml")]) == 2
    assert "has no accuracy.toml" in said(capsys)
    assert main(run) == 2
    assert "MY_KEY, named by options.api_key_env, is not set" in said(capsys)


@each(
    ("secrets", "changes"),
    [
        (SECRETS | {"HF_TOKEN": ["huggingface.co"]}, {"gate.secrets": "loosening"}),
        (SECRETS | {"OTHER": [*SECRETS["OTHER"], "evil.example"]}, {"gate.secrets": "loosening"}),
        (SECRETS | {"OTHER": ["evil.example"]}, {"gate.secrets": "loosening"}),
        (SECRETS | {"OTHER": SECRETS["OTHER"][:-1]}, {"gate.secrets": "tightening"}),
        ({}, {"gate.secrets": "tightening"}),
        (SECRETS | {"NEW": []}, {}),  # which allows nothing
        (dict(reversed(SECRETS.items())), {}),
    ],
)
def test_naming_more_loosens_the_gate_and_naming_less_tightens_it(
    pair: Trees, secrets: dict[str, list[str]], changes: dict[str, str]
) -> None:
    pair.head.models = {"m": MINE}
    with_secrets(pair.head, secrets)
    assert effects(pair.changes()) == changes


def test_a_host_that_no_url_has_is_refused_with_its_place(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for host in ("https://api.example.com", "api.example.com/v1", "API.example.com", "*", "", "a@b"):
        project.write(secrets={"K": [host]})
        with pytest.raises(BadInput, match=r"accuracy\.toml:\d+: gate\.secrets\.K: holds .*write a host"):
            load_config(project.config)
    project.write(secrets={"K": ["api.example.com", "a:1", "http://a:1", "::1", "serve"]})
    load_config(project.config)


EXAMPLES = {path.stem: load_yaml(path) for path in (ROOT / ".github/examples").glob("*.yml")}


def test_no_example_hands_a_secret_to_a_job_that_runs_the_heads_models() -> None:
    for name, workflow in EXAMPLES.items():
        for job in workflow["jobs"].values():
            text = json.dumps(job)
            if f"{REPOSITORY}@" in text or "accgate run" in text:
                assert "secrets." not in text, name


def test_code_of_the_head_runs_in_no_job_that_can_write_where_it_shares_a_container_or_builds_the_image() -> None:
    for name in ("kubernetes", "own-engine"):
        jobs = EXAMPLES[name]["jobs"]
        assert jobs["evaluate"]["permissions"] == {"contents": "read"}
        assert "github.token" not in json.dumps(jobs["evaluate"])
        steps = json.dumps(jobs["report"]["steps"])
        assert f"{REPOSITORY}/report@v1" in steps
        assert "accgate run" not in steps
        # A fork neither builds here nor is asked about in what it built.
        first = jobs.get("base", jobs["evaluate"])
        refusal = first["steps"][0]
        assert "head.repo.full_name != github.repository" in refusal["if"]
        assert refusal["run"].endswith("exit 1\n")
        assert first is jobs["evaluate"] or jobs["evaluate"]["needs"] == "base"
    assert "GITHUB_ENV" not in json.dumps(EXAMPLES)
    steps = EXAMPLES["own-engine"]["jobs"]["evaluate"]["steps"]
    (build,) = [step["run"] for step in steps if "docker build" in step.get("run", "")]
    assert build.split("<<'DOCKERFILE'")[0].split() == ["docker", "build", "--tag", '"$IMAGE"', "--file", "-", "."]
