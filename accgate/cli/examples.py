"""A line to try for each command, which its --help ends with."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, str] = {
    "accgate init": "accgate init --base-url http://127.0.0.1:8000/v1 --data questions.jsonl",
    "accgate validate": "accgate validate accuracy.toml --probe",
    "accgate plan": "accgate plan accuracy.toml --models llama",
    "accgate run": "accgate run accuracy.toml --html",
    "accgate merge": "accgate merge shard-1 shard-2 --out accgate-out",
    "accgate launch": "accgate launch --slurm --shards 4 --partition gpu --time 4h",
    "accgate ab": "accgate ab llama llama-fp8 --tasks gsm8k",
    "accgate blame": "accgate blame accgate-out --samples 2000",
    "accgate bisect": "accgate bisect --good v1.4 --bad HEAD --out accgate-out/bisect",
    "accgate rerun": "accgate rerun accgate-out --flips --times 5",
    "accgate verify": "accgate verify accgate-out --config accuracy.toml",
    "accgate record": 'accgate record accuracy.toml --reason "new weights"',
    "accgate compare": "accgate compare before.jsonl after.jsonl --theta 2",
    "accgate sigma": "accgate sigma run-1.jsonl run-2.jsonl --theta 2",
    "accgate report": "accgate report accgate-out/accgate.json --html report.html",
    "accgate view": "accgate view accgate-out",
    "accgate explain": "accgate explain llama/gsm8k",
    "accgate publish": "accgate publish --dry-run",
    "accgate respond": "accgate respond --check-name accgate",
    "accgate propose": "accgate propose references --head-sha 0123456789abcdef0123456789abcdef01234567",
    "accgate cache": "accgate cache prune --older-than 30d",
    "accgate questionnaire": "accgate questionnaire accgate-out",
    "accgate import lm-eval": "accgate import lm-eval results/ --metric exact_match --references references",
    "accgate import inspect": "accgate import inspect logs/ --references references",
    "accgate import trtllm": "accgate import trtllm tests/integration/defs/accuracy/references",
    "accgate export": "accgate export lm-eval accgate-out/llama/gsm8k.jsonl",
    "accgate history add": "accgate history add accgate-out/accgate.json",
    "accgate history show": "accgate history show --check llama/gsm8k --last 50",
    "accgate history merge": "accgate history merge a.jsonl b.jsonl --out history.jsonl",
    "accgate history push": "accgate history push accgate-out/accgate.json --page",
    "accgate history html": "accgate history html history.jsonl --out history.html",
    "accgate history badge": "accgate history badge --out badge.svg",
    "accgate schema": "accgate schema config > accuracy.schema.json",
    "accgate completion": "source <(accgate completion bash)",
}
