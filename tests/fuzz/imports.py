"""Logs of other tools: what is imported has the mean that the tool reported, or is refused."""

from __future__ import annotations

from pathlib import Path

from accgate.records.file import read_records
from tests.fuzz.gates import finished
from tests.fuzz.target import Ended, Target, command
from tests.interop.inspect_logs import log_of, sample, write_eval, write_json
from tests.interop.lm_eval_logs import generated, scored, write_log
from tests.interop.test_nemo_import import bundle, rows

VALUES = (1.0, 0.0, 1.0, 1.0)
MEAN = 100.0 * sum(VALUES) / len(VALUES)


def imported(tool: str, folder: Path, path: str, *options: str, out: str = "out") -> Ended:
    """Import; a `pass` is a log whose samples have another mean than the undamaged ones."""
    ended = command("import", tool, folder / path, *options, "--out", folder / out)
    runs = [read_records(path) for path in sorted((folder / out).rglob("*.jsonl"))] if ended.code == 0 else []
    means = [sum(r.score or 0.0 for r in run) / len(run) for run in runs]
    is_checked = "not checked" not in ended.said  # without the log's results nothing says what the mean was
    return Ended(ended.code, ended.said, is_checked and any(abs(mean - MEAN) > 1e-6 for mean in means))


def lm_eval_logs(folder: Path) -> None:
    write_log(folder / "logs", [generated(doc, {"acc": value}, reply=" 4") for doc, value in enumerate(VALUES)])
    choices = [scored(doc, {"acc": value, "acc_norm": value}) for doc, value in enumerate(VALUES)]
    write_log(folder / "choices", choices, "choosing", results=False)


def lm_eval(folder: Path) -> Ended:
    with_results = imported("lm-eval", folder, "logs")
    if with_results.code:
        return with_results
    ended = command("import", "lm-eval", folder / "choices", "--metric", "acc", "--out", folder / "other")
    return Ended(ended.code, ended.said, with_results.passed)


def inspect_log() -> dict[str, object]:
    samples = [sample(number, "C" if value else "I") for number, value in enumerate(VALUES, 1)]
    samples[1]["input"] = [
        {"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image", "image": "y"}]}
    ]
    samples[2]["choices"] = ["a", "b"]
    samples[3]["output"]["choices"][0]["message"]["content"] = [{"type": "reasoning", "reasoning": "r"}, "yes"]
    return log_of(samples, {"match": sum(VALUES) / len(VALUES)}, status="success", reductions=[])


def inspect_logs(folder: Path) -> None:
    write_json(folder / "log.json", inspect_log())
    write_eval(folder / "log.eval", inspect_log(), method=8)


def inspect(folder: Path) -> Ended:
    ends = [imported("inspect", folder, f"log{name}", out=name.strip(".")) for name in (".json", ".eval")]
    return next((end for end in ends if end.passed), max(ends, key=lambda end: end.code))


SUITE = """\
meta-llama/Llama-3.1-8B-Instruct:
  - accuracy: 74.20
  - quant_algo: FP8
    kv_cache_quant_algo: FP8
    sigma: 50.0
    num_samples: 1319
    accuracy: 72.85
google/gemma-3-1b-it:
  - accuracy: 25.52 # lm-eval
    extra_acc_spec: temperature=0.8,top_p=0.95
"""


def suite(folder: Path) -> Ended:
    ended = command("import", "trtllm", folder / "gsm8k.yaml", "--references", folder / "references")
    return Ended(ended.code, ended.said)


def nemo_bundle(folder: Path) -> None:
    bundle(folder / "nemo", [row | {"reward": VALUES[row["problem_idx"] % 4]} for row in rows(0)])


def export(folder: Path) -> Ended:
    ends = [
        command("export", "lm-eval", folder / "out/m/sums.jsonl", "--out", folder / "exported"),
        command("export", "hf", folder / "out", "--dataset", "sums=org/sums", "--out", folder / "hf"),
        command(
            "export", "every-eval-ever", folder / "out", "--organisation", "us", "--model-id", "m=org/m", "--out",
            folder / "eee",
        ),
    ]  # fmt: skip
    return max(ends, key=lambda end: end.code)


IMPORTS = (
    Target("lm-eval", ("logs/*", "choices/*"), lm_eval_logs, lm_eval),
    Target("inspect", ("log.json", "log.eval"), inspect_logs, inspect),
    Target("nemo", ("nemo/*",), nemo_bundle, lambda folder: imported("nemo", folder, "nemo", "--scale", "100")),
    Target("trtllm", ("gsm8k.yaml",), lambda folder: (folder / "gsm8k.yaml").write_text(SUITE), suite),
    Target("export", ("out/m/*.jsonl", "out/m/*.gz", "out/m/*.json"), finished, export),
)
