"""What identifies a task: a hash for each part that can change a score."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from accgate.inputs import Row
from accgate.metrics import code_digest
from accgate.tasks.definition import Definition
from accgate.tasks.schema import Mode


def fingerprint_of(definition: Definition, rows: Sequence[Row], examples: Sequence[Row], mode: Mode) -> dict[str, str]:
    """First 16 hex digits of SHA-256 for dataset, prompt, extract, metric and reply.

    A key that a definition does not set leaves the hashes as they are, so that references outlive new keys.
    """
    content = definition.content
    choices = None if content.choices is None else asdict(content.choices)
    attacks = [asdict(attack) for attack in content.attack]
    confidence = None if content.confidence is None else asdict(content.confidence)
    judge = None if content.judge is None else asdict(content.judge)
    own = code_digest(content.metric, definition.folder) if ":" in content.metric else None
    scored = [content.metric_options, own, content.aggregate, content.aggregate_options, judge]
    target = content.target if content.targets is None else {"targets": content.targets}
    extract = content.extract
    parts: dict[str, Any] = {
        "dataset": rows,
        "prompt": [content.prompt, content.system, mode, examples, *_set(choices, attacks, content.images)],
        "extract": [target, extract.regex, extract.which, extract.json_path, *_set(confidence)],
        "metric": [content.metric, *scored] if any(scored) else content.metric,
        "reply": [content.stop, content.max_tokens],
    }
    return {key: _sha(json.dumps(part, sort_keys=True, default=_plain))[:16] for key, part in parts.items()}


def _set(*values: Any) -> list[Any]:
    return list(values) if any(values) else []


def _plain(value: Any) -> str:
    """What JSON does not hold: dates, and bytes or images of a dataset, by their content."""
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if hasattr(value, "tobytes"):
        return hashlib.sha256(value.tobytes()).hexdigest()
    return str(value)


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
