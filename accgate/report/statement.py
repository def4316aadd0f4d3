"""A verified verdict as an in-toto statement, for signing: what was decided, of which commit, by which files.

in-toto Attestation Framework, Statement v1: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from accgate._version import REPOSITORY
from accgate.errors import BadInput
from accgate.inputs.paths import file_digest
from accgate.records import NOT_COMPARED, paths_of, settings_of_run
from accgate.result import NAME, Result, to_json
from accgate.verdict import Verdict

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = f"https://github.com/{REPOSITORY}/verdict/v1"
FIGURES = (
    "model", "task", "verdict", "test", "n", "difference", "alpha", "beta", "theta", "theta_target", "gamma",
    "p_value", "p_adjusted", "is_new",
)  # fmt: skip


def statement_of(result: Result, out: Path, *, commit: str) -> dict[str, Any]:
    """The statement of a run's verdict; the result must have been verified.

    Its subjects are the commit and, for each model, the digest of the settings that its answers were made with (engine
    and version, weights by name, options, sampling). The predicate has every check's figures in points, and the SHA-256
    of accgate.json and of every file of records.

    Raises
    ------
    BadInput
        When the commit is no full name of one, or a file cannot be read.
    """
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit):
        raise BadInput(f"--commit is {commit!r}; write the whole name of the commit, 40 or 64 hexadecimal digits")
    pairs = [(v.model, v.task) for v in result.checks if v.model is not None and v.task is not None]
    places = {pair: paths_of(out, *pair) for pair in pairs}
    evaluated = {pair: paths for pair, paths in places.items() if paths.records.exists()}
    settings = {
        model: {key: value for key, value in settings_of_run(paths).items() if key in ANSWERING}
        for (model, _), paths in evaluated.items()
    }
    files = [out / NAME, *(paths.records for paths in evaluated.values())]
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": "commit", "digest": {"gitCommit": commit}},
            *({"name": f"model {name}", "digest": {"sha256": _sha(table)}} for name, table in settings.items()),
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "verdict": result.verdict,
            "exitCode": result.exit_code,
            "rules": result.rules,
            "accgate": result.accgate,
            "checks": [_figures(verdict) for verdict in result.decided],
            "files": [
                {"name": file.relative_to(out).as_posix(), "digest": {"sha256": file_digest(file)}} for file in files
            ],
        },
    }


ANSWERING = frozenset({"engine", "model", "variant", "options", "sampling"}) - NOT_COMPARED


def _figures(verdict: Verdict) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(to_json(verdict))
    return {key: row[key] for key in FIGURES}


def _sha(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
