"""Enough open files for thousands of connections: systems often allow a process 1,024."""

from __future__ import annotations

from accgate.errors import CannotEvaluate

SPARE = 128  # records, logs, libraries; beside the connections
_allowed: list[int] = []  # connections of each engine that is open: a model's, its judge's


def release(connections: int) -> None:
    """Give back the connections of an engine that is closed."""
    _allowed.remove(connections)


def allow(connections: int) -> None:
    """Raise this process's limit of open files as far as so many connections need, beside those allowed already.

    Raises
    ------
    CannotEvaluate
        When the system does not allow as many.
    """
    try:
        import resource
    except ImportError:  # not a POSIX system
        _allowed.append(connections)
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    others = sum(_allowed)
    needed = connections + others + SPARE
    is_enough = soft == resource.RLIM_INFINITY or soft >= needed
    if not is_enough and hard != resource.RLIM_INFINITY and hard < needed:
        beside = f", beside {others:,} of other models or judges" if others else ""
        raise CannotEvaluate(
            f"options.concurrency is {connections:,}{beside}, but this process may open {hard:,} files, a connection "
            f"each; raise that (`ulimit -n {needed}`, or docker's `--ulimit nofile={needed}`), or lower "
            "options.concurrency"
        )
    if not is_enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    _allowed.append(connections)
