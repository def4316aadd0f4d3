"""`accgate launch`: each file against the schema of its cluster, and the shell code of its pods and tasks."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main

BIN = Path(sys.executable).parent
RAY_SCHEMA = json.loads(Path(__file__).with_name("rayjob.schema.json").read_text(encoding="utf-8"))
TASK = "[tasks.arithmetic]\nnum_samples = 40\ntarget = 20\n"
PODS = ("--image", "ghcr.io/org/accgate:0.1.0-gpu", "--claim", "accuracy", "--queue", "team")
VLLM = 'engine = "vllm"\nmodel = "a/b"\noptions = {}\n'
RAY = 'engine = "ray"\nmodel = "a/b"\noptions = {}\n'


def written(folder: Path, model: str, options: str = "{}") -> Path:
    path = folder / "accuracy.toml"
    path.write_text(f"[models.m]\n{model.format(options) if '{}' in model else model}{TASK}", encoding="utf-8")
    return path


def printed(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """What `accgate launch` prints."""
    capsys.readouterr()
    code = main(["launch", *map(str, words)])
    streams = capsys.readouterr()
    assert code == 0, streams.err
    return streams.out


def refusal(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    capsys.readouterr()
    assert main(["launch", *map(str, words)]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    return streams.err


def check_kubernetes(resource: Mapping[str, Any]) -> None:
    """Against Kubernetes' own schema, of the first version with every field in use to the newest; none is unknown."""
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for version in ("1.31", kubernetes_validate.latest_version()):
        kubernetes_validate.validate(resource, version, strict=True)


def refuses(resource: Mapping[str, Any], *path: str | int, value: Any) -> None:
    """The schema refuses the resource with another value at a path: it is looked at."""
    wrong: Any = copy.deepcopy(resource)
    inner = wrong
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        check_kubernetes(wrong)


def without_time(text: str) -> str:
    """A text without the time in the names of jobs and folders."""
    return re.sub(r"-\d{14}", "-TIME", text)


def test_the_jobs_of_kubernetes_are_what_its_schema_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], messages: SnapshotAssertion
) -> None:
    config = written(tmp_path, VLLM, "{ tensor_parallel_size = 2, data_parallel_size = 2 }")
    words = ("--k8s", config, *PODS, "--shards", "4", "--time", "4h", "--name", "a" * 25)
    file = printed(capsys, *words)
    assert without_time(file) == messages
    shards, merge = yaml.safe_load(file)["items"]
    check_kubernetes(shards)
    check_kubernetes(merge)
    refuses(shards, "spec", "completions", value="four")
    refuses(shards, "spec", "completionsMode", value="Indexed")
    refuses(shards, "spec", "template", "spec", "containers", 0, "volumeMounts", 0, "path", value="/work")


def test_the_ray_job_is_what_kuberay_s_schema_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], messages: SnapshotAssertion
) -> None:
    options = '{ engine = "vllm", replicas = 8, resources = { GPU = 4 }, options = { tensor_parallel_size = 4 } }'
    config = written(tmp_path, RAY, options)
    file = printed(capsys, "--ray-job", config, *PODS, "--nodes", "4", "--gpus", "8", "--time", "90m")
    assert without_time(file) == messages
    job = yaml.safe_load(file)
    jsonschema.validate(job, RAY_SCHEMA)
    (workers,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]
    for group in (head, workers):
        check_kubernetes(
            {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "a"}, "template": group["template"]}
        )
    for key, value in (("suspend", "yes"), ("shutdownAfterJobFinishes", False), ("entryPoint", "accgate")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(job | {"spec": job["spec"] | {key: value}}, RAY_SCHEMA)


def test_the_gpus_are_those_that_the_models_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model, options, words, gpus in (
        (VLLM, "{}", (), 1),
        (VLLM, "{ tensor_parallel_size = 4, pipeline_parallel_size = 2 }", ("--gpus", "8"), 8),
        (VLLM, "{ prefill_context_parallel_size = 4, tensor_parallel_size = 2 }", (), 8),
        (VLLM, "{ tensor_parallel_size = 2 }", ("--gpus", "4"), 4),
        ('engine = "openai"\nmodel = "m"\noptions = {}\n', '{ base_url = "http://a/v1" }', (), None),
        ('engine = "openai"\nmodel = "m"\noptions = {}\n', '{ serve = ["vllm", "serve"] }', ("--gpus", "2"), 2),
    ):
        file = printed(capsys, "--slurm", written(tmp_path, model, options), *words)
        lines = [line for line in file.splitlines() if "--gres" in line]
        assert lines == ([] if gpus is None else [f"#SBATCH --gres=gpu:{gpus}"]), options
    for options, words, size in (
        ('{ engine = "vllm", replicas = 100 }', (), (100, 1)),
        ('{ engine = "vllm", replicas = 100 }', ("--gpus", "8"), (13, 8)),
        ('{ engine = "openai", replicas = 3, options = { base_url = "http://a/v1" } }', (), (3, 0)),
        ('{ engine = "vllm", replicas = 2, bundles = [{ GPU = 8 }, { GPU = 8 }] }', (), (4, 8)),
        (
            '{ engine = "vllm", replicas = 2, bundles = [{ GPU = 1 }, { GPU = 2 }, { GPU = 4 }] }',
            ("--gpus", "8"),
            (2, 8),
        ),
        ('{ engine = "vllm", replicas = 7, resources = { GPU = 0.5 } }', ("--gpus", "4", "--nodes", "1"), (1, 4)),
        ('{ engine = "vllm", replicas = 7, resources = { GPU = 0.6 } }', ("--gpus", "4"), (2, 4)),
        ('{ engine = "vllm", replicas = 10, resources = { GPU = 3 } }', ("--gpus", "8"), (5, 8)),
    ):
        job = yaml.safe_load(printed(capsys, "--ray-job", written(tmp_path, RAY, options), *PODS, *words))
        (workers,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
        limits = workers["template"]["spec"]["containers"][0].get("resources", {}).get("limits", {})
        assert (workers["replicas"], limits.get("nvidia.com/gpu", 0)) == size, options


JUDGED = """\
[judges.j]
engine = "vllm"
model = "a/judge"
options = {{ {options} }}
[tasks.judged]
file = "judged.toml"
judge = "j"
{models}
"""


def judged(folder: Path, model: str, options: str, judge: str, models: str = "") -> Path:
    """accuracy.toml with a task that a judge marks, and one without."""
    path = written(folder, model, options)
    (folder / "judged.toml").touch()
    path.write_text(path.read_text(encoding="utf-8") + JUDGED.format(options=judge, models=models), encoding="utf-8")
    return path


def gpu_lines(file: str) -> list[str]:
    return [line.partition("gres=")[2] for line in file.splitlines() if "--gres" in line]


def test_a_judge_in_process_has_its_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It shares them with the model: both are loaded from the first GPU on."""
    four = "tensor_parallel_size = 4"
    openai = 'engine = "openai"\nmodel = "m"\noptions = { base_url = "http://a/v1" }\n'
    for model, options, gpus in ((openai, "", 4), (VLLM, "{}", 4), (VLLM, "{ tensor_parallel_size = 8 }", 8)):
        assert gpu_lines(printed(capsys, "--slurm", judged(tmp_path, model, options, four))) == [f"gpu:{gpus}"]
    config = judged(tmp_path, openai, "", four)
    assert "judges.j.options: takes 4 GPUs" in refusal(capsys, config, "--slurm", "--gpus", "2")
    assert gpu_lines(printed(capsys, "--slurm", config, "--tasks", "arithmetic")) == [], "no judge is asked"
    config = judged(tmp_path, RAY, '{ engine = "vllm" }', four)
    assert "judges.j.engine: would load beside accgate" in refusal(capsys, config, "--ray-job", *PODS)


def test_a_model_without_a_task_takes_no_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    large = '[models.large]\nengine = "vllm"\nmodel = "a/b"\noptions = { tensor_parallel_size = 8 }\n'
    config = judged(tmp_path, VLLM, "{}", "", 'models = ["large"]')
    config.write_text(large + config.read_text())
    assert gpu_lines(printed(capsys, "--slurm", config)) == ["gpu:8"]
    config.write_text(config.read_text().replace("target = 20", 'target = 20\nmodels = ["m"]'))
    assert gpu_lines(printed(capsys, "--slurm", config, "--tasks", "arithmetic")) == ["gpu:1"]
    assert "no model has a task" in refusal(capsys, config, "--slurm", "--tasks", "arithmetic", "--models", "large")


FOUR, ONE = "{ tensor_parallel_size = 4 }", '{ engine = "vllm" }'
SERVE = 'engine = "openai"\nmodel = "m"\noptions = { serve = ["vllm", "serve"] }\n'
REPLICAS = '{ engine = "vllm", replicas = 8, resources = { GPU = 4 } }'
# The words of a command, where PODS stands for what pods need.
REFUSED: list[tuple[str, str, str]] = [
    (VLLM, FOUR, "--slurm --gpus 2"), (SERVE, "", "--slurm"), (RAY, REPLICAS, "--slurm"),
    (VLLM, FOUR, "--ray-job PODS"),
    (RAY, REPLICAS, "--ray-job PODS --nodes 3 --gpus 8"), (RAY, REPLICAS, "--ray-job PODS --gpus 2"),
    (RAY, '{ engine = "vllm", options = { tensor_parallel_size = 4 } }', "--ray-job PODS"),
    (RAY, '{ engine = "vllm", bundles = [{ GPU = 2 }], options = { tensor_parallel_size = 4 } }', "--ray-job PODS"),
    (RAY, '{ engine = "vllm", replicas = 7, resources = { GPU = 0.5 } }', "--ray-job PODS --nodes 1 --gpus 3"),
    (RAY, '{ engine = "vllm", replicas = "a" }', "--ray-job PODS"),
    (RAY, '{ engine = "vllm", address = "local" }', "--ray-job PODS"),
    (RAY, '{ engine = "openai", options = { serve = ["a"] } }', "--ray-job PODS"),
    (RAY, ONE, "--ray-job PODS --out ../out"), (RAY, ONE, "--ray-job PODS --folder /a$HOME"), (VLLM, "{}", "--k8s"),
    *((VLLM, "{}", f"--slurm {words}") for words in (
        "--shards 0", "--time soon", "--queue q", "--partition a\n#SBATCH\t--uid=0", "--name A_b", "--out a\nb",
        f"--name {'a' * 41}",
    )),
    *((VLLM, "{}", f"--k8s PODS {words}") for words in (
        f"--name {'a' * 26}", "--name a-", "--claim Bad/Claim", f"--queue {'a' * 64}", "--folder work",
        "--folder /dev/shm", "--folder /a:b", "--out /data/out",
    )),
]  # fmt: skip


def test_what_no_cluster_can_run_is_refused_with_the_fix(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], messages: SnapshotAssertion
) -> None:
    told = {}
    for model, options, line in REFUSED:
        words = [word for part in line.split(" ") for word in (PODS if part == "PODS" else [part])]
        fault = refusal(capsys, written(tmp_path, model, options), *words).strip()
        told[f"{line!r}, {options or model.strip()!r}"] = without_time(fault)
    assert told == messages


def test_a_file_for_sbatch_is_sound_shell_whatever_the_folder_is_called(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "it's $HOME; a `b`"
    folder.mkdir()
    file = printed(capsys, "--slurm", written(folder, VLLM), "--shards", "100", "--time", "1:30:00")
    assert "#SBATCH --array=1-100\n" in file
    assert "#SBATCH --time=90\n" in file
    command = [str(BIN / "shellcheck"), "--exclude=SC2016", "-"]
    checked = subprocess.run(command, input=file, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def run_shell(code: list[str], folder: Path, tools: Path, **variables: str) -> int:
    env = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"} | variables
    return subprocess.run(code, cwd=folder, env=env, capture_output=True, check=False, timeout=600).returncode


def by_the_kubelet(word: str) -> str:
    """A word of a command as the kubelet reads it, with variables that are all set to x."""
    return re.sub(r"\$(?:\$|\([^)]*\))", lambda match: "$" if match[0] == "$$" else "x", word)


def test_pods_get_names_with_dollars_unchanged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = "/mnt/a b$$(HOME)$$$"
    config = written(tmp_path, VLLM)
    config.write_text(config.read_text().replace("[models.m]", "[models.'m$(A)']"))
    (tmp_path / "accgate").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (tmp_path / "accgate").chmod(0o755)
    words = ("--k8s", config, *PODS, "--folder", folder, "--models", "m$(A)", "--out", f"{folder}/runs")
    for job in yaml.safe_load(printed(capsys, *words))["items"]:
        (container,) = job["spec"]["template"]["spec"]["containers"]
        assert container["volumeMounts"][0]["mountPath"] == folder
        shown = subprocess.run(
            list(map(by_the_kubelet, container["command"])),
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": "2"},
            capture_output=True,
            text=True,
            check=False,
        )
        given = shown.stdout.split("|")
        assert f"{folder}/accuracy.toml" in given
        assert "m$(A)" in given
        assert any(word.startswith(f"{folder}/runs/accgate-") for word in given), shown.stderr
        assert ("3/4" in given) == ("--shard" in given)


def test_a_task_of_slurm_submits_the_merge_once_and_is_started_again_where_that_can_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shell code alone; tests/real/test_slurm.py runs it under Slurm, which wraps a command in /bin/sh."""
    folder, tools, calls = tmp_path / "it's é\t$HOME; a `b`", tmp_path / "tools", tmp_path / "calls"
    for new in (folder, tools):
        new.mkdir()
    for name in ("accgate", "sbatch", "scontrol"):
        code = '[ "$1" = run ] && exit $CODE; exit 0' if name == "accgate" else "echo 8"
        (tools / name).write_text(f'#!/bin/sh\nprintf "%s|" {name} "$@" >>{calls}\necho >>{calls}\n{code}\n')
        (tools / name).chmod(0o755)
    (tools / "sleep").symlink_to(shutil.which("true") or "/bin/true")
    file = tmp_path / "job"
    file.write_text(printed(capsys, "--slurm", written(folder, VLLM), "--shards", "2"))
    out = folder / "accgate-out" / "job-7"

    def task(index: str, code: str = "0", restarts: str = "0") -> list[list[str]]:
        """What a task calls."""
        calls.write_text("")
        variables = {"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": index, "SLURM_RESTART_COUNT": restarts}
        assert run_shell(["bash", str(file)], folder, tools, CODE=code, LC_ALL="C", **variables) == int(code)
        return [line.split("|")[:-1] for line in calls.read_text().splitlines()]

    submission, run = task("1")
    assert "--dependency=afterany:7" in submission
    assert [*run[1:3], *run[-4:]] == ["run", f"{folder}/accuracy.toml", "--shard", "1/2", "--together", str(out)]
    calls.write_text("")
    assert run_shell(["sh", "-c", submission[-1].removeprefix("--wrap=")], folder, tools) == 0
    shards = [f"{out}/shard-1-of-2", f"{out}/shard-2-of-2"]
    merge = ["merge", *shards, "--config", f"{folder}/accuracy.toml", "--out", str(out)]
    assert calls.read_text().strip().split("|")[1:-1] == merge
    assert [call[0] for call in task("1")] == ["accgate"], "the merge is submitted once"
    assert [call[0] for call in task("2")] == ["accgate"]
    assert run_shell(["bash", str(file)], folder, tools) != 0, "it is no script for bash"
    for code, restarts, again in (("3", "0", 1), ("137", "2", 1), ("3", "3", 0), ("2", "0", 0), ("130", "0", 0)):
        assert task("2", code, restarts)[1:] == [["scontrol", "requeue", "7_2"]] * again, (code, restarts)


def test_without_the_cluster_s_command_a_submission_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = written(tmp_path, VLLM)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["launch", "--slurm", str(config), "--submit"]) == 3
    assert "there is no sbatch here" in capsys.readouterr().err
    for code, wanted in ((0, 0), (1, 3)):
        tool = tmp_path / "sbatch"
        tool.write_text(f'#!/bin/sh\n[ "$(/bin/head -n 1)" = "#!/bin/bash" ] && echo job 5\nexit {code}\n')
        tool.chmod(0o755)
        assert main(["launch", "--slurm", str(config), "--submit"]) == wanted
        streams = capsys.readouterr()
        assert "job 5" in (streams.out if code == 0 else streams.err)
    assert json.loads(printed(capsys, "--slurm", config, "--json"))["output"].startswith("#!/bin/bash\n")
