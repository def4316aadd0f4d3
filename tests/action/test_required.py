"""No workflow that is shipped lets a pull request merge unevaluated, whether a ruleset requires its check or itself.

GitHub's page "Control jobs with conditions" says that a skipped job reports success, even if it is a required check;
and the one about rulesets that a required workflow starts for the default types alone and must not be cancelled.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.runner import ROOT, load_yaml

FILES = {path.stem: path for folder in ("examples", "workflows") for path in (ROOT / ".github" / folder).glob("*.yml")}
ALWAYS = "${{ !cancelled() }}"  # of a job after another: a failure there must not skip it
FORK = "github.event.pull_request.head.repo.full_name"
ADVICE, BASE_CHANGE = "split-forks-evaluate", "base-change"  # nobody can require what these say
SKIPPED = {ADVICE: f"{FORK} != github.repository", BASE_CHANGE: "github.event.changes.base"}


def gates() -> dict[str, dict[str, Any]]:
    """Every workflow that evaluates pull requests; what `init` writes has the same events and jobs."""
    found = {name: load_yaml(path) for name, path in FILES.items()}
    uses = ("org/accgate@", "org/accgate/report@", '"uses": "./"', "accgate run")
    return {
        name: flow
        for name, flow in found.items()
        if isinstance(flow["on"], dict)
        and {"pull_request", "merge_group"} & {*flow["on"]}
        and any(word in json.dumps(flow["jobs"]) for word in uses)
    }


GATES = gates()


def test_these_are_all_of_them() -> None:
    assert set(GATES) == {
        "pull-request", "required-workflow", BASE_CHANGE, "matrix", "shards", "own-engine", "split-same-repo", ADVICE,
        "kubernetes", "gate",
    }  # fmt: skip
    assert [name for name, path in FILES.items() if "pull_request_target" in load_yaml(path)["on"]] == []


@pytest.mark.parametrize("name", GATES)
def test_no_job_is_skipped_and_no_event_of_a_commit_is_left_out(name: str) -> None:
    workflow = GATES[name]
    events = workflow["on"]
    assert (events["pull_request"] or {}).get("types") == (["edited"] if name == BASE_CHANGE else None)
    assert not {"paths", "paths-ignore", "branches-ignore"} & {*(events["pull_request"] or {})}
    assert ("merge_group" in events) == (name not in SKIPPED)
    assert (events.get("merge_group") or {}) == {}
    for key, job in workflow["jobs"].items():
        wanted = SKIPPED.get(name, ALWAYS if _follows(workflow, key) else None)
        assert job.get("if") == wanted, key
        for step in job["steps"]:
            assert "continue-on-error" not in step
            if FORK in step.get("if", ""):  # the merge queue's event has no pull request
                assert step["if"] == f"github.event_name == 'pull_request' && {SKIPPED[ADVICE]}"
                assert "exit 1" in step["run"]
            elif "accgate" in step.get("uses", "") + step.get("run", "") or step.get("uses") == "./":
                assert "if" not in step, key


def _follows(workflow: dict[str, Any], key: str) -> bool:
    """Whether this job is the last of several, which gives the verdict."""
    needed = json.dumps([job.get("needs") for job in workflow["jobs"].values()])
    return len(workflow["jobs"]) > 1 and f'"{key}"' not in needed


@pytest.mark.parametrize("name", GATES)
def test_a_later_push_alone_cancels_a_run(name: str) -> None:
    workflow = GATES[name]
    if name == "required-workflow":
        assert "concurrency" not in json.dumps(workflow)
        return
    ref = "github.event.changes.base && github.ref || github.run_id" if name == BASE_CHANGE else "github.ref"
    assert workflow["concurrency"]["group"].endswith(f"-${{{{ {ref} }}}}")
    assert not any("concurrency" in job for job in workflow["jobs"].values())


def test_the_usual_ones_differ_in_what_starts_them_alone() -> None:
    usual, required, change = (GATES[name] for name in ("pull-request", "required-workflow", BASE_CHANGE))
    assert required["on"]["pull_request"] is None
    assert required["jobs"] == usual["jobs"]
    assert change["on"]["pull_request"] == usual["on"]["pull_request"] | {"types": ["edited"]}
    assert not set(change["jobs"]) & set(usual["jobs"])  # skipped after a new title, it has nobody's name
    (job,), (same,) = change["jobs"].values(), usual["jobs"].values()
    assert job == same | {"if": SKIPPED[BASE_CHANGE]}


def test_the_page_says_for_each_what_a_ruleset_requires() -> None:
    lines = (ROOT / "docs/action.md").read_text().splitlines()
    for name in {*GATES} - {"gate"}:
        (row,) = [line for line in lines if line.startswith(f"| [`{name}.yml`]")]
        assert any(word in row for word in ("requires", "no ruleset", "beside `pull-request.yml`")), row
