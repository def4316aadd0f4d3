"""The `results_*.json` that lm-evaluation-harness writes beside its samples: what the samples must add up to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accgate.errors import BadInput


@dataclass(frozen=True)
class Results:
    """The part of a results file that is about one task."""

    path: Path
    task: str
    content: Mapping[str, Any]

    @property
    def model(self) -> str | None:
        """The model's name as lm-eval knows it."""
        name = self.content.get("model_name")
        return name if isinstance(name, str) and name else None

    @property
    def tool(self) -> str:
        """lm-eval with its version."""
        return f"lm-eval {self.content.get('lm_eval_version') or ''}".strip()

    def reported(self, metric: str, chosen: str) -> Any:
        """The figure that lm-eval reports of a metric behind a filter."""
        own = self._of("results")
        key = f"{metric},{chosen}"
        if key not in own:
            raise BadInput(f"{self.path}: reports no {key} of task {self.task}; is it of another run?")
        return own[key]

    def higher_is_better(self, metric: str) -> bool | None:
        """Whether more is better; None where the file does not tell."""
        found = self._of("higher_is_better").get(metric)
        return found if isinstance(found, bool) else None

    def aggregation(self, metric: str) -> str | None:
        """How lm-eval combines the samples' scores, by name; None where the file names nothing."""
        for entry in self._of("configs").get("metric_list") or ():
            if isinstance(entry, dict) and entry.get("metric") == metric:
                how = entry.get("aggregation")
                return how if isinstance(how, str) and how.isidentifier() else None
        return None

    def check_samples(self, path: Path, rows: Sequence[Mapping[str, Any]], documents: int) -> None:
        """Refuse a log that is not the whole of what lm-eval scored.

        Raises
        ------
        BadInput
            When it has another number of samples, or other samples or another order than lm-eval took the digest of.
        """
        effective = self._of("n-samples").get("effective")
        if effective is not None and effective != documents:
            raise BadInput(f"{path}: holds {documents} samples, but {self.path.name} counts {effective}")
        told = self._of("task_hashes", str)
        hashes = [[row.get(key) for key in ("doc_hash", "prompt_hash", "target_hash")] for row in rows]
        if told is None or not all(isinstance(part, str) for row in hashes for part in row):
            return
        own = hashlib.sha256("".join("".join(map(str, row)) for row in hashes).encode()).hexdigest()
        if own != told:
            raise BadInput(
                f"{path}: holds other samples than {self.path.name} was written of (its task_hashes differ); lines "
                "were changed, lost or added"
            )

    def _of(self, section: str, kind: type = dict) -> Any:
        """What a section says of this task; nothing of it where the version does not write it."""
        tasks = self.content.get(section)
        own = tasks.get(self.task) if isinstance(tasks, dict) else None
        return own if isinstance(own, kind) else ({} if kind is dict else None)


def results_beside(log: Path, date: str, task: str) -> Results | None:
    """The results of the run that wrote a log; None where there are none.

    Raises
    ------
    BadInput
        When there are several, or they cannot be read or are of other tasks.
    """
    found = sorted(log.parent.glob(f"*_{date}.json"))
    if len(found) > 1:
        raise BadInput(f"{log}: {' and '.join(path.name for path in found)} may be its results; keep one beside it")
    if not found:
        return None
    try:
        content = json.loads(found[0].read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{found[0]}: cannot be read ({error}); is the file cut off?") from error
    if not isinstance(content, dict) or not isinstance(content.get("results"), dict):
        raise BadInput(f"{found[0]}: is no results file of lm-eval")
    if task not in content["results"]:
        raise BadInput(f"{found[0]}: knows nothing of task {task}, whose samples stand beside it")
    return Results(found[0], task, content)
