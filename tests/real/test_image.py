"""The image and the action's host scripts on a real Docker engine, as a user who is not root."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator

import pytest

from accgate._version import __version__
from tests.action.test_supply_chain import pins
from tests.github.server import GitHub
from tests.github.store import BOT
from tests.real import docker
from tests.real.docker import LABEL, OFFLINE, UID, machine, said
from tests.support.gates import Project, right_but, write_task
from tests.support.pull_requests import NUMBER, event_of
from tests.support.runner import ROOT, TOKEN, Runner, commit, git

pytestmark = pytest.mark.container

CONFINED = ("--rm", "--label", LABEL, "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--network", "none")


@pytest.fixture
def runner(image: str) -> Iterator[Runner]:
    """A runner whose workspace is a pull request with a recorded reference, as another user than root."""
    with machine() as made:
        project = Project(made.workspace)
        write_task(made.workspace, metric="chrf")  # by a package that the image for publishing lacks
        project.recorded(right_but(10))
        made.variables["ACCGATE_BASE_SHA"] = commit(made.workspace, "base")
        project.answer(right_but(12))
        commit(made.workspace, "head")
        made.own()
        yield made


def in_image(image: str, *command: str) -> str:
    return said("run", *CONFINED, "--user", f"{UID}:{UID}", "--entrypoint", command[0], image, *command[1:])


def instead(runner: Runner, program: str) -> dict[str, str]:
    """Options with which the container runs this Python program of the head's in place of accgate."""
    (runner.workspace / "program").write_text(f"#!/usr/bin/env python3\n{program}")
    (runner.workspace / "program").chmod(0o755)
    runner.own()
    return {"ACCGATE_DOCKER_OPTIONS": f"{OFFLINE['ACCGATE_DOCKER_OPTIONS']} --entrypoint /accgate/workspace/program"}


# The image


def test_recorded_scores_are_gated_as_a_user_that_the_image_does_not_know(image: str) -> None:
    with machine() as made:
        project = Project(made.workspace)
        project.answer(right_but(10))
        made.workspace.chmod(0o777)
        mounts = ("--mount", f"type=bind,source={made.workspace},target=/work")
        base = ("run", *CONFINED, "--user", f"{UID}:{UID}", *mounts, image)
        assert "recorded references/m/sums.toml" in said(*base, "record", "--quiet")
        said(*base, "run", "--quiet", "--out", "out")
        assert project.result["verdict"] == "pass"
        project.answer(right_but(60))
        assert docker.docker(*base, "run", "--quiet", "--out", "out").returncode == 1
        owners = {path.stat().st_uid for path in (made.workspace / "out").rglob("*")}
        assert owners == {UID}


def test_a_refused_address_of_the_containers_own_says_so(image: str) -> None:
    with machine() as made:
        made.workspace.chmod(0o777)
        mounts = ("--mount", f"type=bind,source={made.workspace},target=/work")
        base = ("run", *CONFINED, "--user", f"{UID}:{UID}", *mounts, image)
        said(*base, "init", "--no-probe", "--no-workflow", "--yes")
        done = docker.docker(*base, "validate", "--probe")
    assert done.returncode == 3
    assert "connection refused (in this container 127.0.0.1 is the container itself" in done.stdout + done.stderr


def test_the_image_has_a_name_for_its_user_and_folders_that_it_can_write(each_image: str) -> None:
    program = (
        "import getpass, json, os, pathlib, tempfile\n"
        "folders = [os.environ['HOME'], os.environ['XDG_CACHE_HOME'], os.environ['HF_HOME'], tempfile.gettempdir()]\n"
        "[pathlib.Path(folder, 'x').touch() for folder in folders]\n"
        "print(json.dumps([getpass.getuser(), os.getuid()]))\n"
    )
    assert json.loads(in_image(each_image, "python3", "-c", program)) == ["accgate", UID]


def test_the_image_is_labelled_has_no_health_check_and_is_not_root_by_default(each_image: str) -> None:
    (inspected,) = json.loads(said("image", "inspect", each_image))
    config = inspected["Config"]
    assert config["User"] not in ("", "0", "root", "0:0")
    assert config["Entrypoint"] == ["accgate"]
    assert config["Healthcheck"] == {"Test": ["NONE"]}
    labels = {name.removeprefix("org.opencontainers.image."): value for name, value in config["Labels"].items()}
    assert labels["title"] == "accgate"
    assert labels["licenses"] == "Apache-2.0"
    assert {"source", "version", "revision", "base.name", "documentation"} <= set(labels)
    assert in_image(each_image, "accgate", "--version") == f"accgate {labels['version']}"


def test_the_image_holds_neither_compiler_nor_installer_nor_weights_nor_commands_of_others(each_image: str) -> None:
    program = (
        "import pathlib, shutil\n"
        "found = [name for name in ('cc', 'gcc', 'g++', 'make') if shutil.which(name)]\n"
        "venv = pathlib.Path('/opt/accgate')\n"
        "found += map(str, [*venv.rglob('*.gguf'), *venv.rglob('pip'), *venv.rglob('accgate-*.whl')])\n"
        "found += map(str, pathlib.Path('/cache').glob('*/*'))\n"
        "print(found, sorted({path.name.rstrip('.31') for path in (venv / 'bin').iterdir()}))\n"
    )
    assert in_image(each_image, "/opt/accgate/bin/python3", "-c", program) == "[] ['accgate', 'python']"


def test_what_was_left_out_of_the_image_for_cpu_is_not_missed(image: str) -> None:
    program = (
        "import pathlib, tempfile, xllamacpp, accgate.engines.llamacpp\n"
        "import datasets, pyarrow, pyarrow.parquet, scipy.stats, zstandard\n"
        "from accgate.metrics import get\n"
        "file = pathlib.Path(tempfile.mkdtemp(), 'a.parquet')\n"
        "pyarrow.parquet.write_table(pyarrow.table({'a': [1, 2]}), file)\n"
        "rows = [len(datasets.load_dataset('parquet', data_files=str(file), split='train'))]\n"
        "file.with_name('a.jsonl.zst').write_bytes(zstandard.compress(b'{\"a\": 1}'))\n"
        "rows += [len(datasets.load_dataset('json', data_files=str(file.with_name('a.jsonl.zst')), split='train'))]\n"
        "metrics = [get('bleu', tokenize='ja-mecab'), get('chrf'), get('rouge_l', stem=True), get('longbench_f1_zh'),\n"
        "           get('longbench_rouge_l', language='zh'), get('word_error_rate', tokenizer='ja')]\n"
        "get('instruction_following'), get('json_schema', formats=True)('1', '{}')\n"
        "assert not list(pathlib.Path('/var/lib/apt/lists').glob('*'))\n"
        "print(rows, [round(each('cats 猫', 'cats 猫')) for each in metrics])\n"
    )
    assert in_image(image, "/opt/accgate/bin/python3", "-c", program).endswith("[2, 1] [100, 100, 100, 100, 100, 0]")


def test_the_image_has_the_locked_packages_and_no_others(each_image: str) -> None:
    program = (
        "import importlib.metadata as m, json, re\n"
        "print(json.dumps({re.sub('[-_.]+', '-', d.name).lower(): d.version for d in m.distributions()}))\n"
    )
    installed = json.loads(in_image(each_image, "/opt/accgate/bin/python3", "-c", program))
    assert installed.pop("accgate") == __version__
    assert installed == pins("publish" if each_image.endswith("-publish") else "cpu")


@pytest.mark.long
def test_the_smoke_test_of_a_release_passes_this_image_and_none_that_is_old_or_never_fails(each_image: str) -> None:
    def smoke(name: str, version: str) -> subprocess.CompletedProcess[str]:
        command = [str(ROOT / ".ci/smoke"), name, version]
        return subprocess.run(command, env=os.environ | docker.engine(), capture_output=True, text=True, check=False)

    done = smoke(each_image, __version__)
    assert done.returncode == 0, done.stderr
    assert "passes a healthy model and catches a regression" in done.stdout
    assert "not 'accgate 9.9.9'" in smoke(each_image, "9.9.9").stderr
    lenient = f"FROM {each_image}\nENTRYPOINT " + json.dumps(["sh", "-c", 'accgate "$@" || [ "$1" = run ]', "sh"])
    given = {"env": os.environ | docker.engine(), "input": lenient, "text": True, "capture_output": True}
    subprocess.run(["docker", "build", "--network", "host", "--tag", f"{each_image}-lenient", "-"], check=True, **given)
    done = smoke(f"{each_image}-lenient", __version__)
    assert done.returncode == 1
    assert "ended with code 0 where 1 is right: accgate run" in done.stderr


def test_the_image_is_built_from_the_package_alone(image: str) -> None:
    first = next(
        line for line in docker.build().splitlines() if "build context" in line or "transferring context" in line
    )
    assert "kB" in first or float(first.split("MB")[0].split()[-1]) < 5, first


@pytest.mark.parametrize(("target", "most"), [("cpu", 680e6), ("publish", 160e6)])
def test_an_image_adds_little_to_its_base(target: str, most: float) -> None:
    docker.build(target)
    size = int(said("image", "inspect", "--format", "{{.Size}}", docker.tag_of(target)))
    base = engine_base_size()
    assert base is None or size - base < most, size


def engine_base_size() -> int | None:
    base = docker.engine().get("ACCGATE_PYTHON_IMAGE")
    return int(said("image", "inspect", "--format", "{{.Size}}", base)) if base else None


# The scripts


def test_a_pull_request_is_evaluated_and_nothing_belongs_to_root(runner: Runner) -> None:
    assert runner.prepare().code == 0
    done = runner.evaluate(**OFFLINE)
    assert done.code == 0, done.text
    assert runner.exit_code == 0
    result = json.loads((runner.work / "out/accgate.json").read_text())
    assert (result["verdict"], result["rules"]) == ("pass", "base")
    everything = [*runner.workspace.rglob("*"), *runner.temp.rglob("*")]
    assert {path.lstat().st_uid for path in everything} == {UID if os.getuid() == 0 else os.getuid()}
    assert git(runner.workspace, "-c", f"safe.directory={runner.workspace}", "status", "--porcelain") == ""
    assert list(runner.temp.iterdir()) == [runner.work]


def test_a_user_who_is_not_root_publishes_to_github_and_owns_what_is_written(runner: Runner, each_image: str) -> None:
    with GitHub(tokens={TOKEN: BOT}) as hub:
        pull = hub.store.add_pull(NUMBER)
        pull["base"] |= {"sha": runner.variables["ACCGATE_BASE_SHA"]}
        (runner.folder / "event.json").write_text(json.dumps(event_of(hub)))
        runner.variables |= {"GITHUB_API_URL": hub.url, "GITHUB_ACTIONS": "true"}
        assert runner.prepare().code == 0
        opened = runner.step("start.sh", ACCGATE_TOKEN=TOKEN, ACCGATE_CHECK_NAME="accgate")
        assert opened.code == 0, opened.text
        (run,) = hub.store.check_runs.values()
        assert run["status"] == "in_progress"
        runner.evaluate(**OFFLINE)
        done = runner.publish(ACCGATE_IMAGE=each_image)
        assert done.code == 0, done.text
        assert (run["status"], run["conclusion"]) == ("completed", "success")
        assert len(hub.comments(NUMBER)) == 1
        assert "verdict<<" in (runner.folder / "output").read_text()
        assert "Passed: " in (runner.folder / "summary").read_text()
        assert TOKEN not in done.text.replace(f"::add-mask::{TOKEN}", "")
        owned = [*runner.temp.rglob("*"), runner.folder / "output", runner.folder / "summary"]
        assert {path.lstat().st_uid for path in owned} == {UID if os.getuid() == 0 else os.getuid()}


SEARCH = f"""
import json, os, pathlib
token, found = "{TOKEN[4:]}", []
seen = {{}}
for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
    seen[str(path)] = path.read_bytes()
for top, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(top, name) not in ("/proc", "/sys", "/dev", "/opt", "/usr")]
    for name in files:
        path = os.path.join(top, name)
        try:
            seen[path] = open(path, "rb").read()
        except OSError:
            continue
import base64
needles = [token.encode(), base64.b64encode(b"x-access-token:ghs_" + token.encode())[:-8]]
found = [path for path, content in seen.items() if any(needle in content for needle in needles)]
found = [path for path in found if path != "/accgate/workspace/program"]  # this program
pathlib.Path("/accgate/out/found.json").write_text(json.dumps([found, sorted(os.environ), len(seen)]))
"""


def test_the_evaluating_container_finds_no_token_in_its_environment_or_mounts(runner: Runner) -> None:
    options = instead(runner, SEARCH)
    encoded = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    git(runner.workspace, "-c", f"safe.directory={runner.workspace}", "config", "http.https://github.com/.extraheader",
        f"AUTHORIZATION: basic {encoded}")  # fmt: skip
    (runner.workspace / ".netrc").write_text(f"machine github.com password {TOKEN}")
    (runner.folder / "home/.netrc").write_text(f"machine github.com password {TOKEN}")
    runner.variables |= {"GITHUB_TOKEN": TOKEN, "ACTIONS_RUNTIME_TOKEN": TOKEN, "INPUT_TOKEN": TOKEN}
    runner.variables |= {"HUGGING_FACE_HUB_TOKEN": "hf_y", "OPENAI_API_KEY": "sk_y"}  # which nobody named
    runner.own()
    assert runner.prepare().code == 0
    done = runner.evaluate(**options, ACCGATE_ENV="HF_TOKEN", HF_TOKEN="hf_x")
    assert runner.exit_code == 0, done.text
    found, environ, count = json.loads((runner.work / "out/found.json").read_text())
    assert found == []
    assert count > 50
    assert "HF_TOKEN" in environ
    assert not {"HUGGING_FACE_HUB_TOKEN", "OPENAI_API_KEY"} & {*environ}
    told = {"ACCGATE_GRACE", "ACCGATE_IMAGE_DIGEST"}  # how long a cancelled job lasts, and which image this is
    secret = ("GITHUB_TOKEN", "ACTIONS_", "ACCGATE_", "INPUT_", "RUNNER_")
    assert not [name for name in environ if name.startswith(secret) and name not in told]


def test_head_and_base_cannot_be_written_by_the_models(runner: Runner) -> None:
    program = (
        "import pathlib\n"
        "for folder in ('head', 'base'):\n"
        "    try:\n"
        "        pathlib.Path('/accgate', folder, 'accuracy.toml').write_text('weak')\n"
        "    except OSError as error:\n"
        "        print(error.strerror)\n"
        "import os\n"
        "capabilities = open('/proc/self/status').read().split('CapEff:')[1].split()[0]\n"
        "print(os.path.exists('/var/run/docker.sock'), capabilities)\n"
    )
    options = instead(runner, program)
    assert runner.prepare().code == 0
    text = runner.evaluate(**options).text
    assert text.count("Read-only file system") == 2
    assert "False 0000000000000000" in text


SLEEP = "import pathlib, time\npathlib.Path('/accgate/out/up').touch()\ntime.sleep(600)\n"


LOOK = """
import os, sys
print("here", os.getcwd(), os.listdir(), os.access(".", os.W_OK), [path for path in sys.path if "head" in path])
for name in ("memory.max", "pids.max"):
    for folder in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids"):
        for file in (name, name.replace("memory.max", "memory.limit_in_bytes")):
            if os.path.exists(f"{folder}/{file}"):
                print(name, open(f"{folder}/{file}").read().strip())
"""


def test_the_evaluating_container_works_in_an_empty_folder_within_its_limits(runner: Runner) -> None:
    options = instead(runner, LOOK)
    assert runner.prepare().code == 0
    done = runner.evaluate(**options, ACCGATE_MEMORY="512m", ACCGATE_PIDS_LIMIT="77")
    assert runner.exit_code == 0, done.text
    assert "here /accgate/empty [] False []" in done.text
    for name, value in (("memory.max", 512 << 20), ("pids.max", 77)):
        if f"{name} " in done.text:  # some engines show no limits inside
            assert f"{name} {value}" in done.text


def test_an_evaluation_past_its_time_is_stopped_and_its_container_is_gone(runner: Runner) -> None:
    options = instead(runner, "import time; print('begun', flush=True); time.sleep(600)")
    script = runner.folder / "action/evaluate.sh"
    script.write_text(script.read_text().replace('"${limit}m"', "5s"))
    assert runner.prepare().code == 0
    done = runner.evaluate(**options)
    assert runner.exit_code == 3
    assert "begun" in done.text
    assert "took more than 350 minutes" in done.text
    label = f"label=org.accgate.runner={runner.variables['RUNNER_NAME']}"
    assert said("ps", "--all", "--quiet", "--filter", label) == ""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_stops_the_container(runner: Runner, sent: signal.Signals) -> None:
    options = instead(runner, SLEEP)
    assert runner.prepare().code == 0
    # The step ends with the container, whose output it reads; only then is the killed process looked at.
    done = runner.step("evaluate.sh", send=sent, when=(runner.work / "out/up").exists, **options, ACCGATE_GPUS="none")
    assert done.code == (-9 if sent == signal.SIGKILL else 130), done.text
    assert sent == signal.SIGKILL or runner.exit_code == 130, done.text
    label = f"label=org.accgate.runner={runner.variables['RUNNER_NAME']}"
    assert said("ps", "--all", "--quiet", "--filter", label) == ""


def test_a_cancelled_jobs_container_is_swept_and_a_neighbours_is_not(runner: Runner) -> None:
    def sleeping(*labels: str) -> str:
        given = [word for label in (LABEL, *labels) for word in ("--label", label)]
        return said("run", "--detach", "--network", "none", *given, "--entrypoint", "sleep", docker.IMAGE, "600")

    name = f"org.accgate.runner={runner.variables['RUNNER_NAME']}"
    place = place_of(runner)
    stale = sleeping(name, place)
    other_runner = sleeping("org.accgate.runner=gpu-2", place)
    other_place = sleeping(name, "org.accgate.place=0123456789abcdef")
    assert "removing 1 container(s)" in runner.prepare().text
    alive = said("ps", "--quiet", "--no-trunc", "--filter", f"label={LABEL}").split()
    docker.docker("rm", "--force", other_runner, other_place)
    assert set(alive) == {other_runner, other_place}
    assert stale not in alive


def place_of(runner: Runner) -> str:
    script = f'source "{runner.folder}/action/common.sh"; place_label'
    done = subprocess.run(["bash", "-c", script], env=runner.variables, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_runner_whose_mounts_come_out_empty_is_told_of_the_job_container_route(runner: Runner) -> None:
    real = shutil.which("docker")
    # As where the engine is not on the runner's own machine: the folder is there, and empty.
    elsewhere = runner.folder / "elsewhere"
    elsewhere.mkdir()
    wrapper = runner.bin / "docker"
    wrapper.write_text(f'#!/bin/bash\nexec {real} "${{@/type=bind,source=*probe,/type=bind,source={elsewhere},}}"\n')
    wrapper.chmod(0o755)
    runner.own()
    done = runner.prepare()
    assert done.code == 3
    assert "job container: route" in done.text
    assert "work" not in runner.outputs


def test_shards_of_a_matrix_are_merged_into_the_verdict_of_the_whole(runner: Runner) -> None:
    shards = runner.folder / "shards"
    shards.mkdir()
    for number in (1, 2):
        assert runner.prepare().code == 0
        done = runner.evaluate(**OFFLINE, ACCGATE_SHARD=f"{number}/2")
        assert runner.exit_code == 0, done.text
        assert runner.publish(ACCGATE_SHARD=f"{number}/2").code == 0
        shutil.copytree(runner.work / "out", shards / f"shard-{number}")
    runner.own()
    assert runner.prepare().code == 0
    done = runner.evaluate(**OFFLINE, ACCGATE_COMMAND="merge", ACCGATE_SHARDS=str(shards))
    assert runner.exit_code == 0, done.text
    result = json.loads((runner.work / "out/accgate.json").read_text())
    assert (result["verdict"], result["rules"], result["checks"][0]["n"]) == ("pass", "base", 200)


def test_a_killed_container_is_an_error_and_not_a_verdict(runner: Runner) -> None:
    options = instead(runner, "import os\nos.kill(os.getpid(), 9)\n")
    assert runner.prepare().code == 0
    assert runner.evaluate(**options).code == 0
    assert runner.exit_code == 3


def test_an_image_that_cannot_be_had_is_an_error(runner: Runner) -> None:
    done = runner.prepare(ACCGATE_IMAGE="127.0.0.1:9/none:1")
    assert done.code == 3
    assert "is not on this runner and cannot be pulled" in done.text
