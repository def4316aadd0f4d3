"""The command `cache`, and the options of runs that use a cache."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import json_option, print_note, print_outcome
from accgate.cli.working_folder import from_start
from accgate.errors import PASSED, BadInput
from accgate.text import count_of

if TYPE_CHECKING:
    from accgate.evaluation.cache.engine import Cache
    from accgate.evaluation.cache.store import CacheEntry

FOLDER = "ACCGATE_CACHE"  # the environment variable that names it
SECONDS = {"h": 3600, "d": 86400, "w": 604800}
BYTES = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def cache_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `cache`."""
    command.add_argument("action", choices=["info", "prune"], help="show what the cache holds, or make it smaller")
    command.add_argument("--cache", metavar="DIR", help=f"the cache folder (${FOLDER})")
    age, size = partial(amount_of, SECONDS, "12h, 30d or 4w"), partial(amount_of, BYTES, "500MB or 10GB")
    command.add_argument("--older-than", type=age, metavar="AGE", help="prune what no run used for this long: 30d, 12h")
    command.add_argument("--max-size", type=size, metavar="SIZE", help="prune the least recently used down to this")
    json_option(command)


def caching_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a run that choose its cache."""
    choice = command.add_mutually_exclusive_group()
    choice.add_argument("--cache", metavar="DIR", help=f"reuse replies of earlier runs of the same model (${FOLDER})")
    choice.add_argument("--no-cache", action="store_true", help=f"use no cache, even if {FOLDER} is set")


def cache(arguments: argparse.Namespace) -> int:
    """Show or prune a cache folder."""
    from accgate.evaluation.cache.store import contents, prune

    folder = _folder_of(arguments)
    if folder is None:
        raise BadInput(f"which folder? Name it with --cache DIR, or in the environment variable {FOLDER}")
    if not folder.is_dir():
        raise BadInput(f"{folder}: there is no such folder, so there is no cache; name another with --cache")
    if arguments.action == "info":
        caches = contents(folder)
        print_outcome(arguments, caches, lambda _: _print_caches(caches))
        return PASSED
    if arguments.older_than is None and arguments.max_size is None:
        raise BadInput("prune what? Say --older-than 30d, --max-size 10GB or both")
    try:
        files, freed = prune(folder, older_than=arguments.older_than, max_size=arguments.max_size)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be pruned: {error.strerror}; check its permissions") from error
    print(f"removed {count_of(files, 'file')} of {freed / 1e6:,.1f} MB")
    return PASSED


def _print_caches(caches: Sequence[CacheEntry]) -> None:
    from datetime import datetime, timezone

    for each in caches:
        about, used = each.about, datetime.fromtimestamp(each.used, timezone.utc)
        what = ", ".join(str(about[key]) for key in ("model", "name", "version", "hardware") if about.get(key))
        print(f"{each.digest[:12]}  {each.replies:,} replies, {each.bytes / 1e6:,.1f} MB, used {used:%Y-%m-%d}: {what}")
    replies, megabytes = sum(each.replies for each in caches), sum(each.bytes for each in caches) / 1e6
    print(f"{replies:,} replies, {megabytes:,.1f} MB in all")


def cache_of(arguments: argparse.Namespace) -> Cache | None:
    """Return the cache that a run uses, or None."""
    folder = None if arguments.no_cache else _folder_of(arguments)
    if folder is None:
        return None
    if os.path.exists(folder) and not folder.is_dir():  # noqa: PTH110 (Path's own may raise)
        raise BadInput(f"{folder}: is no folder; name one with --cache or {FOLDER}, or run with --no-cache")
    from accgate.evaluation.cache.engine import Cache

    return Cache(folder, say=print_note)


def _folder_of(arguments: argparse.Namespace) -> Path | None:
    """Return the cache folder that arguments or environment name."""
    name = os.environ.get(FOLDER) or None if arguments.cache is None else arguments.cache
    return None if name is None else from_start(name)


def amount_of(units: Mapping[str, int], example: str, text: str) -> int:
    """Convert the text of an age to seconds, or of a size to bytes.

    >>> amount_of(SECONDS, "12h", "30d"), amount_of(BYTES, "10GB", "1.5 MB")
    (2592000, 1500000)
    """
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([A-Za-z]+)", text.strip())
    unit = {name.lower(): value for name, value in units.items()}.get(match[2].lower()) if match else None
    if match is None or unit is None:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be read; write it as {example}")
    return int(float(match[1]) * unit)
