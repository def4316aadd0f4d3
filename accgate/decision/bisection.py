"""What a search over commits found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Commit:
    """A commit of the searched history."""

    sha: str
    subject: str

    def __str__(self) -> str:
        """Its short name and subject."""
        return f"{self.sha[:9]} {self.subject}"


@dataclass(frozen=True)
class Culprit:
    """A commit that lost answers, or flips them either way.

    It lost `lost` of the `of` that were asked, and `gained` others.
    """

    commit: Commit
    probability: float
    lost: int
    of: int
    candidates: tuple[Commit, ...] = ()  # where those between could not be asked, it is one of these
    gained: int = 0


@dataclass(frozen=True)
class Bisection:
    """What a search over commits found.

    `culprits` are oldest first, and `skipped` have the reason of each. The commits of `flipping` lose about as many
    answers as they gain.
    """

    model: str
    task: str
    commits: int
    lost: int
    culprits: tuple[Culprit, ...]
    skipped: tuple[tuple[Commit, str], ...]
    questions: int
    flipping: tuple[Culprit, ...] = ()
