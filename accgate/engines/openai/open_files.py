"""Enough open files for thousands of connections: systems often allow a process 1,024."""

from __future__ import annotations

from accgate.errors import CannotEvaluate

SPARE = 128  # records, logs, libraries; beside the connections


def allow(connections: int) -> None:
    """Raise this process's limit of open files as far as so many connections need.

    Raises
    ------
    CannotEvaluate
        When the system does not allow as many.
    """
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + SPARE
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise CannotEvaluate(
            f"options.concurrency is {connections:,}, but this process may open {hard:,} files, a connection each; "
            f"raise that (`ulimit -n {needed}`, or docker's `--ulimit nofile={needed}`), or lower options.concurrency"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
