"""The command `cache`: what a cache folder holds, and removing some of it."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.errors import PASSED, BadInput

if TYPE_CHECKING:
    from accgate.evaluation import Cache, CacheEntry

FOLDER = "ACCGATE_CACHE"
SECONDS = {"h": 3600, "d": 86400, "w": 604800}
BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def cache(arguments: argparse.Namespace) -> int:
    """Show or prune a cache folder."""
    from accgate.evaluation import contents, prune

    folder = folder_of(arguments, os.environ)
    if folder is None:
        raise BadInput(f"which folder? Name it with --cache DIR, or in the environment variable {FOLDER}")
    if not folder.is_dir():
        raise BadInput(f"{folder}: is no folder, so there is no cache; name another with --cache")
    if arguments.action == "info":
        return _info(contents(folder), as_json=arguments.json)
    if arguments.older_than is None and arguments.max_size is None:
        raise BadInput("prune what? Say --older-than 30d, --max-size 10GB or both")
    try:
        files, freed = prune(folder, older_than=arguments.older_than, max_size=arguments.max_size)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be pruned: {error.strerror}; mend that") from error
    print(f"removed {files:,} files of {freed / 1e6:,.1f} MB")
    return PASSED


def _info(found: list[CacheEntry], *, as_json: bool) -> int:
    if as_json:
        import json
        from dataclasses import asdict

        print(json.dumps([asdict(kept) for kept in found], indent=2))
        return PASSED
    for kept in found:
        about, used = kept.about, datetime.fromtimestamp(kept.used, timezone.utc)
        what = ", ".join(str(about[key]) for key in ("model", "name", "version", "hardware") if about.get(key))
        print(f"{kept.digest[:12]}  {kept.replies:,} replies, {kept.bytes / 1e6:,.1f} MB, used {used:%Y-%m-%d}: {what}")
    print(f"{sum(kept.replies for kept in found):,} replies, {sum(kept.bytes for kept in found) / 1e6:,.1f} MB in all")
    return PASSED


def folder_of(arguments: argparse.Namespace, environ: Mapping[str, str]) -> Path | None:
    """The cache folder that arguments or environment name; None where the cache is off."""
    if getattr(arguments, "no_cache", False):
        return None
    if arguments.cache is not None:
        return Path(arguments.cache)
    return Path(environ[FOLDER]) if environ.get(FOLDER) else None


def cache_of(arguments: argparse.Namespace) -> Cache | None:
    """The cache that a run is to use; None where it is off."""
    folder = folder_of(arguments, os.environ)
    if folder is None:
        return None
    from accgate.evaluation import Cache

    return Cache(folder, say=lambda text: print(f"accgate: {text}", file=sys.stderr))


def age(text: str) -> float:
    """Seconds of an age such as 30d.

    >>> age("12h"), age("30d")
    (43200.0, 2592000.0)
    """
    return _measured(text, SECONDS, "12h, 30d or 4w")


def size(text: str) -> int:
    """Bytes of a size such as 10GB.

    >>> size("10GB"), size("1.5 MB")
    (10000000000, 1500000)
    """
    return int(_measured(text, BYTES, "500MB or 10GB"))


def _measured(text: str, units: Mapping[str, int], example: str) -> float:
    found = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([A-Za-z]+)", text.strip())
    unit = {name.lower(): value for name, value in units.items()}.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not such as {example}")
    return float(found[1]) * unit
