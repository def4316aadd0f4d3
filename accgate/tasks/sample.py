"""One sample of a task, and its id."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from accgate.tasks.choices import Option


@dataclass(frozen=True, slots=True)
class Sample:
    """One prompt with its target.

    `prompt` is everything the model is asked, the system message first; `user` is the part without it. `attacked` has
    the user's part once more for each attack, `images` are data URLs, and `rubric` is what a judge is asked, with
    <<answer>> where the answer goes.
    """

    id: str
    prompt: str
    user: str
    system: str
    target: str
    cluster: str | None = None
    group: str | None = None
    label: str | None = None
    options: tuple[Option, ...] = ()
    images: tuple[str, ...] = ()
    attacked: tuple[str, ...] = ()
    rubric: str = ""


def sample_id(task: str, prompt: str, target: str, occurrence: int) -> str:
    r"""First 16 hex digits of SHA-256 over `task \0 prompt \0 target \0 occurrence`.

    >>> sample_id("arithmetic", "1 + 1 =", "2", 0)
    '69dc3a0c0980ceb6'
    """
    return hashlib.sha256(f"{task}\0{prompt}\0{target}\0{occurrence}".encode()).hexdigest()[:16]
