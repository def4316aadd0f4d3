"""What is kept beside records: the settings that they were made with, and facts about their run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from accgate.errors import BadInput
from accgate.inputs.paths import read_plain
from accgate.records.file import RecordPaths
from accgate.records.replacement import write_atomically

# In the settings beside records: scored records of a run that was decided early; the whole plan of a shard's part; the
# shards whose records were merged; how long how many records took; who the replies and the server's list say answered,
# and who they say marked the answers; the options that change no answer; the digests of the files that answers depend
# on, as far as this machine has them.
STOPPED, PLAN, MERGED, MEASURED, SERVED = "stopped_with", "plan", "merged", "measured", "served"
JUDGE_SERVED, OPERATIONAL, FILES = "judge_served", "operational", "files"
LARGEST = 200_000_000  # bytes; the plan of a shard of a million samples has 20 million
# Not as they are: of who answered or marked, and of files, what both runs tell is compared.
NOT_COMPARED = frozenset({STOPPED, PLAN, MERGED, MEASURED, SERVED, JUDGE_SERVED, OPERATIONAL, FILES})


def settings_of_run(paths: RecordPaths) -> dict[str, Any]:
    """The settings that records were made with.

    Raises
    ------
    BadInput
        When the file cannot be read, or is damaged.
    """
    unknown = f"so what its records belong to is unknown; delete {paths.records} or name another --out"
    if not paths.settings.exists():
        raise BadInput(f"{paths.settings}: is missing, {unknown}")
    try:
        settings = json.loads(read_plain(paths.settings, LARGEST).decode())
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{paths.settings}: is not JSON ({error}), {unknown}") from error
    if not isinstance(settings, dict):
        raise BadInput(f"{paths.settings}: is damaged; delete {paths.records} or name another --out")
    return settings


def write_settings(paths: RecordPaths, settings: Mapping[str, Any]) -> None:
    """Write the settings beside the records that were made with them."""
    write_atomically(paths.settings, json.dumps(settings, sort_keys=True, indent=1).encode())
