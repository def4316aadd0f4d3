"""The picture of all checks on a branch of its own, and when the comment has it as text instead."""

from typing import Any

import pytest

from accgate.errors import BadInput
from accgate.github.announcement import push_pictures
from accgate.report.comment import About, render_comment
from tests.github.server import GitHub
from tests.github.store import REPOSITORY
from tests.report.runs import result_of, verdict_of

BRANCH = "accgate-pictures"
FAILED = result_of(verdict_of("regression"), verdict_of(task="u"))


@pytest.fixture(autouse=True)
def main_branch(hub: GitHub) -> None:
    hub.store.commit("main", {"README.md": "hello"})


def push(hub: GitHub, result: Any = FAILED, branch: str = BRANCH, **event: Any) -> tuple[str, str] | None:
    return push_pictures(hub.client(), hub.event(**event), branch, result)


def test_a_comment_shows_the_pictures_of_its_own_commit_and_the_same_are_not_written_twice(hub: GitHub) -> None:
    addresses = push(hub)
    assert addresses is not None
    assert push(hub) == addresses
    files = hub.store.files(BRANCH)
    for address, name in zip(addresses, ("forest-light.svg", "forest-dark.svg"), strict=True):
        commit, _, path = address.removeprefix(f"https://github.example/{REPOSITORY}/raw/").partition("/")
        assert commit == hub.store.refs[f"refs/heads/{BRANCH}"]
        assert path.startswith("7-")
        assert path.endswith(name)
        assert files[path].startswith("<svg ")
    text = render_comment(FAILED, About("accgate", "accuracy.toml", "0" * 40, pictures=addresses))
    assert f'src="{addresses[0]}"' in text
    assert f'srcset="{addresses[1]}"' in text
    assert "README.md" not in files


def test_one_check_a_pass_and_what_is_no_pull_request_have_no_picture(hub: GitHub) -> None:
    assert push(hub, result_of(verdict_of("regression"))) is None
    assert push(hub, result_of(verdict_of(), verdict_of(task="u"))) is None
    assert push(hub, number=None) is None
    assert f"refs/heads/{BRANCH}" not in hub.store.refs


def test_a_branch_of_people_is_refused(hub: GitHub) -> None:
    for branch in ("main", "refs/heads/main", "change"):
        with pytest.raises(BadInput, match="is a branch that people use"):
            push(hub, branch=branch)


def test_a_repository_that_is_not_public_has_no_picture(hub: GitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    client = hub.client()
    get = client.get
    monkeypatch.setattr(client, "get", lambda path, **how: {**get(path, **how), "private": True})
    assert push_pictures(client, hub.event(), BRANCH, FAILED) is None
