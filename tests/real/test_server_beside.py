"""A model's server on the runner, and the evaluating container on a bridge network or on the host's."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tests.real import docker
from tests.real.docker import LABEL, machine
from tests.support.gates import Project
from tests.support.runner import Runner, commit
from tests.support.servers import Server, sums

pytestmark = pytest.mark.container


@pytest.fixture
def bridge(image: str) -> Iterator[str]:
    """A bridge network; its containers have a loopback of their own, as with Docker's usual network."""
    name = f"accgate-tests-{secrets.token_hex(4)}"
    done = docker.docker("network", "create", "--driver", "bridge", "--label", LABEL, name)
    if done.returncode != 0:
        pytest.skip(f"this engine can make no bridge: {done.stderr.strip()[-300:]}")
    yield name
    docker.remove_labelled()
    docker.docker("network", "rm", name)


@pytest.fixture
def asking(bridge: str) -> Iterator[Runner]:
    """A runner on which a server listens at 127.0.0.1, and a repository that asks it."""
    with machine() as runner, Server(sums(0)) as server:
        project = Project(runner.workspace)
        project.models = {"m": {"engine": "openai", "model": "m", "options": {"base_url": server.url}}}
        project.write()
        commit(runner.workspace)
        runner.own()
        runner.variables |= {"GITHUB_EVENT_NAME": "workflow_dispatch", "ACCGATE_COMMAND": "record"}
        done = runner.prepare()
        assert done.code == 0, done.text
        yield runner


def test_the_runners_loopback_is_reached_through_the_hosts_network_alone(asking: Runner, bridge: str) -> None:
    done = asking.evaluate(ACCGATE_DOCKER_OPTIONS=f"--network {bridge} --label {LABEL}")
    assert asking.exit_code == 3, done.text
    assert "in this container 127.0.0.1 is the container itself" in done.text
    assert "docker-options: --network host" in done.text
    (asking.work / "exit-code").unlink()
    (asking.work / "recorded").rename(asking.folder / "first")
    done = asking.evaluate(ACCGATE_DOCKER_OPTIONS=f"--network host --label {LABEL}")
    assert asking.exit_code == 0, done.text
    assert (asking.workspace / "references/m/sums.scores.csv").exists()
