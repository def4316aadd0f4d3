"""Attacks, seeded changes of a text that should not change the right answer.

They serve the metrics of robustness.
"""

import re
from collections.abc import Iterator, Mapping
from hashlib import sha256, shake_256
from math import floor
from typing import Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate.inputs.typed import CLOSED, Number, Text, Whole
from accgate.tasks.attacks.edits import EDITS, Dice, Edit, Edits, apply_edits
from accgate.tasks.attacks.shape import shape_of
from accgate.tasks.prompts import CannotRender
from accgate.text import nearest

RATE = 0.1  # one of ten words or letters, docs/tasks.md
ANY = "any"
# The ways in which a kind changes a text; `style` picks one, "any" draws one for each change.
STYLES: Mapping[str, tuple[str, ...]] = {
    "typos": ("insert", "delete", "swap", "replace"),
    "keyboard": (),
    "swap_words": (),
    "case": ("random", "upper", "lower", "title"),
    "space": ("add", "remove", "tab", "newline", "split"),
    "distractor": (),
    "column": (),
}
# No figure, number word, yes or no, name, or letter alone: nothing that answers a question.
DISTRACTORS = (
    "The curtains in the hallway were washed last week.",
    "Somebody left their umbrella near the front door.",
    "The kettle in the kitchen makes an odd humming sound.",
    "Our street is quiet when the shops are closed.",
    "The old bicycle leans against the garden fence.",
    "Fresh bread smells best early in the morning.",
    "The librarian prefers tea over coffee.",
    "Tall grass grows beside the railway line.",
)


@dataclass(frozen=True, config=CLOSED)
class Attack:
    """The table `[[attack]]`.

    Each sample is asked once more, with its text changed in one way. `rate` is the share that is changed: of letters
    (`typos`, `keyboard`), of words (`swap_words`, `case`), or of words and the gaps between them (`space`). At least
    one change is made wherever one can be. Another seed makes other changes. Without `text` a distractor is a built-in
    sentence. Numbers and code stay even without `protect`.
    """

    kind: Text = Field(description="what is done to the text, see docs/tasks.md")
    rate: Number = Field(default=RATE, gt=0, le=1, description="share of what can be changed")
    seed: Whole = 0
    field: Text | None = Field(default=None, description="column that is changed; the whole prompt where unset")
    column: Text | None = Field(default=None, description="column with the changed text, for kind = column")
    text: Text | None = Field(default=None, description="what is added, for kind = distractor")
    style: Text = Field(default=ANY, description="one way of the kind alone, see docs/tasks.md")
    protect: Text | None = Field(default=None, description="regular expression of what stays")
    ask: Literal["right", "all"] = Field(default="right", description="attack what was right before, or all samples")

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield (key, fault) for every key with a value that cannot be used.

        >>> list(Attack("typo", field=" ").faults())
        [('kind', "is 'typo'; did you mean 'typos'?"), ('field', "is ' '; write text, or leave it out")]
        """
        if self.kind not in STYLES:
            yield "kind", f"is {self.kind!r}; {nearest(self.kind, STYLES)}"
        for key in ("field", "column", "text", "protect"):
            value = getattr(self, key)
            if value is not None and not value.strip():
                yield key, f"is {value!r}; write text, or leave it out"
        if self.kind in STYLES:
            yield from self._faults_of_kind()

    def _faults_of_kind(self) -> Iterator[tuple[str, str]]:
        if self.kind == "column" and self.column is None:
            yield "column", "is missing; name the column that holds the changed text"
        for key, kind in (("column", "column"), ("text", "distractor")):
            if getattr(self, key) is not None and self.kind != kind:
                yield key, f"is only for kind = {kind!r}; remove it"
        styles = (ANY, *STYLES[self.kind])
        if self.style not in styles:
            yield "style", f"is {self.style!r}; write one of {', '.join(styles)} for kind = {self.kind!r}"
        if self.kind in EDITS:
            if fault := pattern_fault(self.protect or ""):
                yield "protect", fault
            return
        for key, default in (("rate", RATE), ("protect", None)):
            if getattr(self, key) != default:
                yield key, f"does nothing for kind = {self.kind!r}; remove it"


def pattern_fault(pattern: str) -> str | None:
    """Say why a text is no regular expression.

    A text that is one gives None.
    """
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a regular expression: {error}"
    return None


def attack_text(attack: Attack, text: Any, *, key: str, paired: object = None) -> str:
    """Return the text after the attack.

    For one attack, text and key it is the same on every machine and Python version. Numbers, code in backticks or
    fences, LaTeX commands, Roman numerals and what `attack.protect` matches stay, and so do letters standing alone.
    Where nothing can be changed the text is returned as it is.

    Parameters
    ----------
    attack, text
        What is done, and to what: the prompt, or the value of a column.
    key
        Makes the changes of each sample its own: the sample's id, or the text.
    paired
        For kind `column`: the value of that column.

    Raises
    ------
    CannotRender
        When one of the columns holds no text.

    Notes
    -----
    The draws come from SHA-256 and SHAKE-256 over seed, kind and key (FIPS 180-4 and 202, the same everywhere), never
    from `random`, which promises the same `random()` but not the same `sample` or `shuffle` in the next Python.
    A larger rate makes the changes of a smaller one too.

    >>> attack_text(Attack("keyboard"), "Tom has 12 apples and eats 5 of them.", key="s1")
    'Yom has 12 apples and ears 5 of them.'
    """
    if not isinstance(text, str):
        raise CannotRender(f"column {attack.field!r} holds {text!r}, not a text to attack")
    if attack.kind == "column":
        if not isinstance(paired, str) or not paired.strip():
            raise CannotRender(f"column {attack.column!r} holds {paired!r}, not a text to ask instead; fill it in")
        return paired
    seed = f"{attack.seed}\0{attack.kind}\0{key}".encode("utf-8", "surrogatepass")
    if attack.kind == "distractor":
        return _with_suffix(text, attack.text or Dice(seed).choice(DISTRACTORS))
    edits = _choose(EDITS[attack.kind](shape_of(text, attack.protect), attack.style), attack.rate, seed)
    changed = apply_edits(text, edits)
    # Two changes can undo each other: the second a of "aa" deleted, another one inserted after the first.
    return changed if changed != text else apply_edits(text, edits[:1])


def _choose(edits: Edits[Any], rate: float, seed: bytes) -> list[Edit]:
    """Draw edits of random units until the rate is met.

    No edit is in the way of another. The first drawn come first.
    """
    wanted = max(1, floor(rate * edits.share * len(edits.units) + 0.5))
    draws = shake_256(seed).digest(8 * len(edits.units))
    order = sorted(range(len(edits.units)), key=lambda i: (draws[8 * i : 8 * i + 8], i))
    chosen: list[Edit] = []
    taken: set[int] = set()
    for i in order:
        if len(chosen) == wanted:
            break
        edit = edits.edit(edits.units[i], Dice(sha256(seed + b"\0%d" % i).digest()))
        if edit is not None and taken.isdisjoint(range(edit.start, edit.end)):
            chosen.append(edit)
            taken.update(range(edit.start, edit.end))
    return chosen


def _with_suffix(text: str, sentence: str) -> str:
    """Add the sentence to a text.

    A space goes before it where the text does not end in white space, or a new line after a code fence.
    """
    if not text or text[-1].isspace():
        return text + sentence
    fenced = text.rsplit("\n", 1)[-1].lstrip().startswith(("```", "~~~"))
    return "\n".join((text, sentence)) if fenced else f"{text} {sentence}"
