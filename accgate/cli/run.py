"""The commands that evaluate: run, whole or a shard of it, merge and record."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.cache import cache_of
from accgate.cli.common import config_of, console, observer, reported, rulings_of, write
from accgate.errors import PASSED, BadInput

if TYPE_CHECKING:
    from accgate.config import Config
    from accgate.guard import Rulings


def run(arguments: argparse.Namespace) -> int:
    """Evaluate, decide and report; what it exits with."""
    from accgate import gate
    from accgate.report import forget_result

    forget_result(arguments.out)
    if arguments.shard is not None:
        return _run_shard(arguments)
    config, rulings, bootstrap = _judging(arguments)
    with _partly_reported(arguments.out):
        result = gate.run(
            config, rulings=rulings, bootstrap=bootstrap, out=arguments.out, resume=arguments.resume,
            observer=observer(arguments), cache=cache_of(arguments),
        )  # fmt: skip
    return reported(arguments, result)


@contextlib.contextmanager
def _partly_reported(out: Path) -> Iterator[None]:
    """Of a run that is interrupted, report.md says what it evaluated; there is no accgate.json."""
    from accgate.evaluation import Interrupted

    try:
        yield
    except Interrupted as stopped:
        from accgate.report import interrupted_report
        from accgate.result import REPORT

        out.mkdir(parents=True, exist_ok=True)
        write(str(out / REPORT), interrupted_report(stopped.checks, stopped.evaluated))
        raise


def _run_shard(arguments: argparse.Namespace) -> int:
    from accgate import gate
    from accgate.evaluation import parse_shard

    shard = parse_shard(arguments.shard)
    config, rulings, _ = _judging(arguments)
    with _partly_reported(arguments.out):
        done = gate.run_shard(
            config, shard, rulings=rulings, out=arguments.out, resume=arguments.resume,
            observer=observer(arguments), cache=cache_of(arguments),
        )  # fmt: skip
    if arguments.json:
        from accgate.result import to_json

        print(to_json(done))
    else:
        for share in done.checks:
            print(f"shard {shard}: {share.model} / {share.task}: {share.problem or f'{share.records:,} records'}")
        print(f"shard {shard} decides nothing; `accgate merge` does, on all {shard.count}")
    assert done.exit_code is not None
    return done.exit_code


def merge(arguments: argparse.Namespace) -> int:
    """Join shards, decide and report; what it exits with."""
    from accgate import gate
    from accgate.evaluation import refuse_own_output
    from accgate.report import forget_result

    refuse_own_output(arguments.shards, arguments.out)
    forget_result(arguments.out)
    config, rulings, bootstrap = _judging(arguments)
    result = gate.merge(config, arguments.shards, rulings=rulings, bootstrap=bootstrap, out=arguments.out)
    return reported(arguments, result)


def _judging(arguments: argparse.Namespace) -> tuple[Config, Rulings | None, bool]:
    """The config, the base's rules where a base has some, and whether it has none."""
    rulings = rulings_of(arguments)
    config = config_of(arguments) if rulings is None else rulings.own
    return config, rulings, arguments.base is not None and rulings is None


def record(arguments: argparse.Namespace) -> int:
    """Evaluate and write references."""
    from accgate.record import record as record_references
    from accgate.references import commit_of

    if arguments.shard is not None:
        raise BadInput("record takes no --shard: a reference is of one run; leave --shard out")
    config = config_of(arguments)
    if not arguments.models:
        config = config.without_baselines()
    written = record_references(
        config, out=arguments.out, resume=arguments.resume, reason=arguments.reason,
        commit=commit_of(config.folder), replies=not arguments.no_replies, add=arguments.add,
        observer=observer(arguments),
    )  # fmt: skip
    if arguments.json:
        import json

        print(json.dumps({"references": [str(path) for path in written]}))
    else:
        for path in written:
            print(f"{'added to' if arguments.add else 'recorded'} {path}")
        if not arguments.quiet:
            console(stderr=True).print(
                "Next: commit it, then `accgate run` on a change.", markup=False, highlight=False
            )
    return PASSED
