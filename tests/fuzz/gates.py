"""Gates whose model lost most of its answers: whatever is damaged, they cannot pass."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.target import Ended, Target, command
from tests.support.gates import Project, questions, right_but, toml, write_lines, write_task
from tests.support.servers import Fault, Server

N, LOST = 24, 20


def project(folder: Path, **keys: Any) -> Project:
    """A project whose reference is right everywhere and whose model lost nearly all."""
    made = Project(folder, n=N, **keys)
    assert made.record(right_but(0, N)) == 0
    shutil.rmtree(folder / "record-out-0")
    made.answer(right_but(LOST, N))
    return made


def gate(folder: Path, *more: object) -> Ended:
    """Run the gate of a folder."""
    return command("run", folder / "accuracy.toml", "--out", folder / "out", "--json", "--quiet", *more)


def base_and_head(folder: Path) -> None:
    (folder / "base").mkdir()
    made = project(folder / "base")
    made.models["n"] = {"engine": "openai", "model": "x", "options": {"base_url": "http://127.0.0.1:9/v1"}}
    made.tasks["sums"] |= {"models": ["m"], "theta": 30.0, "sigma": 50.0, "tags": ["a"], "max_unread": 0.2}
    made.write(alpha=0.05, beta=0.2, correction="holm", on_inconclusive="fail", max_failed=0.01)
    shutil.copytree(folder / "base", folder / "head")


def head_of_base(folder: Path) -> Ended:
    return gate(folder / "head", "--base", folder / "base" / "accuracy.toml")


def validated(folder: Path) -> Ended:
    """What `validate` and `plan` say; they decide nothing."""
    for name in ("validate", "plan"):
        ended = command(name, folder / "accuracy.toml")
        if ended.code:
            break
    return Ended(ended.code, ended.said)


def every_key(folder: Path) -> None:
    made = Project(folder, n=N)
    write_lines(folder / "solved.jsonl", questions(3, start=900))
    rows = [{**row, "page": f"p{i // 4}", "kind": "ab"[i % 2]} for i, row in enumerate(questions(N))]
    write_task(
        folder, "sums", rows, few_shot__file="solved.jsonl", few_shot__count=2, extract__regex=r"(-?\d+)\s*$",
        extract__which="last", system="Be brief.",
        prompt="{% for e in examples %}{{ e.q }} {{ e.a }}\n{% endfor %}{{ q }}",
        dataset__where="{{ a > -1 }}", columns__group="kind", columns__cluster="page", metric="numeric_match",
    )  # fmt: skip
    made.answer(right_but(0, N))


def finished(folder: Path) -> None:
    made = project(folder)
    assert made.run() == 1


def verified(folder: Path) -> Ended:
    return command("verify", folder / "out", "--config", folder / "accuracy.toml")


def resumed(folder: Path) -> Ended:
    return gate(folder, "--resume")


def reported(folder: Path) -> Ended:
    """The result in each form."""
    out = folder / "report"
    forms = "--markdown", f"{out}.md", "--html", f"{out}.html", "--junit", f"{out}.xml"
    ended = command("report", folder / "out/accgate.json", *forms)
    if ended.code == 0:
        ended = command("report", folder / "out/accgate.json", "--check", "m/sums")
    return Ended(ended.code, ended.said)


def two_files(folder: Path) -> None:
    for name, lost in (("before", 0), ("after", LOST)):
        rows = [
            {"id": f"q{i}", "repeat": 0, "score": s, "cluster": f"c{i % 5}"} for i, s in enumerate(right_but(lost, N))
        ]
        write_lines(folder / f"{name}.jsonl", rows)
        (folder / f"{name}.csv").write_text("id,score\n" + "".join(f"{row['id']},{row['score']}\n" for row in rows))


def compared(folder: Path) -> Ended:
    """The same with JSON lines and with CSV: neither may pass."""
    ends = [command("compare", folder / f"before.{kind}", folder / f"after.{kind}") for kind in ("jsonl", "csv")]
    return next((end for end in ends if end.passed), max(ends, key=lambda end: end.code))


FORMS: Mapping[str, Mapping[str, Any]] = {
    "number": {"extract__form": "number"},
    "boxed": {"extract__form": "boxed", "metric": "numeric_match"},
    "regex": {"extract__regex": r"(?:is|=)\s*(-?\d+)"},
    "slow": {"extract__regex": r"((?:\d+)+)$"},
    "path": {"extract__json_path": "$..answer"},
    "json": {"metric": "json_match"},
    "whole": {"metric": "exact_match"},
    "rouge": {"metric": "rouge_l"},
}  # fmt: skip


def replies(folder: Path) -> None:
    """Tasks of every extraction, and replies that are wrong but for a few."""
    made = Project(folder, tasks=tuple(FORMS), n=6)
    for name, keys in FORMS.items():
        write_task(folder, name, questions(6), **keys)
    perfect = [right_but(0, 6)] * len(FORMS)
    assert made.record(*perfect) == 0
    shutil.rmtree(folder / "record-out-0")
    rows = [
        {"id": i, "reply": 'So {"answer": "-1"} is \\boxed{-1} = -1', "finish_reason": "stop"}
        for t in FORMS
        for i in made.ids(t)
    ]
    write_lines(folder / "m.jsonl", rows)


PROMPT = "{% if q %}{{ q | trim }} {{ '%05d' % a }}{% else %}none{% endif %}"


def prompts(folder: Path) -> None:
    (folder / "prompt.txt").write_text(PROMPT)
    made = Project(folder, n=N)
    write_task(folder, "sums", questions(N), prompt=PROMPT)
    assert made.record(right_but(0, N)) == 0
    made.answer(right_but(LOST, N))


def prompted(folder: Path) -> Ended:
    file = folder / "prompt.txt"  # where it is taken away, the prompt is empty
    text = file.read_bytes().decode("utf-8", "replace") if file.exists() else ""
    lines = [line for line in (folder / "sums.toml").read_text().splitlines() if not line.startswith("prompt")]
    (folder / "sums.toml").write_text("\n".join([*lines, f"prompt = {toml(text)}", ""]))
    return gate(folder)


ANSWER = {
    "id": "1", "object": "chat.completion", "model": "toy",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "It is -1"}, "finish_reason": "stop",
                 "logprobs": {"content": [{"token": "It", "logprob": -0.5}]}}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 3, "completion_tokens_details": {"reasoning_tokens": 0}},
}  # fmt: skip


@cache
def server() -> Server:
    """The server of this process."""
    return Server().__enter__()


def served(folder: Path) -> None:
    made = Project(folder, n=6)
    write_task(folder, "sums", questions(6), system="Be brief.", extract__form="number")
    assert made.record(right_but(0, 6)) == 0
    (folder / "reply.json").write_text(json.dumps(ANSWER, indent=1))


def asked(folder: Path) -> Ended:
    """Run the gate on a server that gives one answer to all, which is wrong for most."""
    made = Project(folder, n=6)
    options = {"base_url": server().url, "max_retries": 0, "max_outage": 0.0}
    made.models = {"m": {"engine": "openai", "model": "toy", "options": options}}
    made.write()
    write_task(folder, "sums", questions(6), system="Be brief.", extract__form="number")
    file = folder / "reply.json"
    body = file.read_bytes() if file.exists() else b""
    server().fault_of = lambda _: Fault(body=body)
    return gate(folder)


GATES = (
    Target("config", ("head/accuracy.toml",), base_and_head, head_of_base),
    Target("tasks", ("*.toml", "*.jsonl"), every_key, validated),
    Target("rules", ("sums.toml", "sums.jsonl", "references/m/*", "m.jsonl"), project, gate),
    Target("records", ("out/m/*", "out/accgate.json"), finished, verified),
    Target("resume", ("out/m/*",), finished, resumed),
    Target("results", ("out/accgate.json", "out/m/*"), finished, reported),
    Target("scores", ("*.jsonl", "*.csv"), two_files, compared),
    Target("replies", ("m.jsonl",), replies, gate),
    Target("servers", ("reply.json",), served, asked),
    Target("prompts", ("prompt.txt",), prompts, prompted),
)
