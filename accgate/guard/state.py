"""The guard's state, with the rules that a pull request changes."""

from dataclasses import dataclass
from typing import Literal

Effect = Literal["loosening", "tightening", "new"]
GuardState = Literal["unchanged", "tightened", "approved", "loosened", "unreadable", "bootstrap"]


@dataclass(frozen=True)
class RuleChange:
    """One rule that differs between a pull request's base and head.

    `rule` is a dotted key of accuracy.toml (`gate.alpha`, `tasks.gsm8k.limit`), or a key and a part of another file
    (`tasks.gsm8k: prompt`, `references: smollm2/gsm8k`). `base` and `head` are the values, if any, as text of any
    content. `line` is the rule's line in the head's accuracy.toml, if it is there. `checks` are the base's checks, each
    (model, task), that the rule may decide.
    """

    rule: str
    base: str | None
    head: str | None
    effect: Effect
    why: str
    line: int | None = None
    checks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Guard:
    """Whether a pull request left the gate's rules as strict as before.

    A loosening may be approved. Verdict and guard must both hold. `approved_by` names who approved a loosening for this
    very commit. `reason` says what could not be read where the state is `unreadable`.
    """

    state: GuardState
    changes: tuple[RuleChange, ...] = ()
    approved_by: str | None = None
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the verdict counts."""
        return self.state in ("unchanged", "tightened", "approved", "bootstrap")
