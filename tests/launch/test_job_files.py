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


def test_the_jobs_of_kubernetes_are_what_its_schema_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = written(tmp_path, VLLM, "{ tensor_parallel_size = 2, data_parallel_size = 2 }")
    words = ("--k8s", config, *PODS, "--shards", "4", "--time", "4h")
    shards, merge = json.loads(printed(capsys, *words))["items"]
    check_kubernetes(shards)
    check_kubernetes(merge)
    spec = shards["spec"]
    assert (spec["completionMode"], spec["completions"], spec["activeDeadlineSeconds"]) == ("Indexed", 4, 14400)
    container = spec["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 4}
    assert shards["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team"}
    assert spec["suspend"], "Kueue starts it"
    assert merge["spec"]["suspend"], "it waits for the shards"
    assert "resources" not in merge["spec"]["template"]["spec"]["containers"][0], "merging takes no GPU"
    refuses(shards, "spec", "completions", value="four")
    refuses(shards, "spec", "completionsMode", value="Indexed")
    refuses(shards, "spec", "template", "spec", "containers", 0, "volumeMounts", 0, "path", value="/work")


def test_the_ray_job_is_what_kuberay_s_schema_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = '{ engine = "vllm", replicas = 8, resources = { GPU = 4 }, options = { tensor_parallel_size = 4 } }'
    config = written(tmp_path, RAY, options)
    job = json.loads(printed(capsys, "--ray-job", config, *PODS, "--nodes", "4", "--gpus", "8", "--time", "90m"))
    jsonschema.validate(job, RAY_SCHEMA)
    (workers,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]
    for group in (head, workers):
        check_kubernetes(
            {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "a"}, "template": group["template"]}
        )
    assert (workers["replicas"], workers["minReplicas"], workers["maxReplicas"]) == (4, 4, 4)
    assert workers["template"]["spec"]["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": 8}
    assert job["spec"]["entrypoint"].startswith("accgate run /work/accuracy.toml --resume")
    assert job["spec"]["backoffLimit"] == 0, "a regression is not evaluated twice"
    for key, value in (("suspend", "yes"), ("shutdownAfterJobFinishes", False), ("entryPoint", "accgate")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(job | {"spec": job["spec"] | {key: value}}, RAY_SCHEMA)


def test_the_gpus_are_those_that_the_models_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model, options, words, gpus in (
        (VLLM, "{}", (), 1),
        (VLLM, "{ tensor_parallel_size = 4, pipeline_parallel_size = 2 }", (), 8),
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
        job = json.loads(printed(capsys, "--ray-job", written(tmp_path, RAY, options), *PODS, *words))
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


def test_what_no_cluster_can_run_is_refused_with_the_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    four = "{ tensor_parallel_size = 4 }"
    serve = 'engine = "openai"\nmodel = "m"\noptions = { serve = ["vllm", "serve"] }\n'
    replicas = '{ engine = "vllm", replicas = 8, resources = { GPU = 4 } }'
    halves = '{ engine = "vllm", replicas = 7, resources = { GPU = 0.5 } }'
    for model, options, words, text in (
        (VLLM, four, ("--slurm", "--gpus", "2"), "takes 4 GPUs, and --gpus is 2"),
        (serve, "", ("--slurm",), "give --gpus"),
        (RAY, replicas, ("--slurm",), "--ray-job"),
        (VLLM, four, ("--ray-job", *PODS), 'engine = "ray"'),
        (RAY, replicas, ("--ray-job", *PODS, "--nodes", "3", "--gpus", "8"), "raise --nodes or --gpus"),
        (RAY, replicas, ("--ray-job", *PODS, "--gpus", "2"), "raise --nodes or --gpus"),
        (RAY, '{ engine = "vllm", options = { tensor_parallel_size = 4 } }', ("--ray-job", *PODS), "resources"),
        (
            RAY,
            '{ engine = "vllm", bundles = [{ GPU = 2 }], options = { tensor_parallel_size = 4 } }',
            ("--ray-job", *PODS),
            "gives the engine of a replica 2 GPUs, and it takes 4; write bundles",
        ),
        (RAY, halves, ("--ray-job", *PODS, "--nodes", "1", "--gpus", "3"), "takes 4 GPUs"),
        (RAY, '{ engine = "vllm", replicas = "a" }', ("--ray-job", *PODS), "options.replicas: is 'a', text; write a"),
        (RAY, '{ engine = "vllm", address = "local" }', ("--ray-job", *PODS), "leave address out"),
        (RAY, '{ engine = "openai", options = { serve = ["a"] } }', ("--ray-job", *PODS), "write resources"),
        (VLLM, "{}", ("--k8s",), "--image"),
        (VLLM, "{}", ("--k8s",), "--claim"),
        (VLLM, "{}", ("--slurm", "--shards", "0"), "--shards is 0"),
        (VLLM, "{}", ("--slurm", "--time", "soon"), "--time is 'soon'"),
        (VLLM, "{}", ("--slurm", "--queue", "q"), "--queue is not for --slurm"),
        (VLLM, "{}", ("--slurm", "--partition", "a b\n#SBATCH --uid=0"), "--partition is"),
        (VLLM, "{}", ("--slurm", "--name", "A b"), "--name is 'A b'"),
        (VLLM, "{}", ("--slurm", "--out", "a\nb"), "rename it"),
        (VLLM, "{}", ("--k8s", *PODS, "--folder", "work"), "not an absolute path"),
        (VLLM, "{}", ("--slurm", "--name", "a" * 41), "at most 40 of"),
        (VLLM, "{}", ("--k8s", *PODS, "--name", "a" * 26), f"--name is {'a' * 26!r}; write at most 25 of"),
        (VLLM, "{}", ("--k8s", *PODS, "--name", "a-"), "no - last"),
        (VLLM, "{}", ("--k8s", *PODS, "--claim", "Bad/Claim"), "--claim is 'Bad/Claim'"),
        (VLLM, "{}", ("--k8s", *PODS, "--queue", "a" * 64), "at most 63"),
        (VLLM, "{}", ("--k8s", *PODS, "--folder", "/dev/shm"), "--folder is '/dev/shm'"),
        (VLLM, "{}", ("--k8s", *PODS, "--folder", "/a:b"), "--folder is '/a:b'"),
        (VLLM, "{}", ("--k8s", *PODS, "--out", "/data/out"), "is outside the volume at /work"),
        (RAY, '{ engine = "vllm" }', ("--ray-job", *PODS, "--out", "../out"), "outside the volume"),
        (RAY, '{ engine = "vllm" }', ("--ray-job", *PODS, "--folder", "/a$HOME"), "does not reach accgate unchanged"),
    ):
        said = refusal(capsys, written(tmp_path, model, options), *words)
        assert text in said, (words, said)
        assert "Traceback" not in said
    assert refusal(capsys, written(tmp_path, VLLM, four), "--slurm", "--gpus", "2").startswith(
        f"accgate: {tmp_path / 'accuracy.toml'}:4: models.m.options"
    ), "with file and line"


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
    for job in json.loads(printed(capsys, *words))["items"]:
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
