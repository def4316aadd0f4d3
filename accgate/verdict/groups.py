"""The groups of a check, such as the subjects of MMLU.

Here is how far each changed, and which of them stand out.
"""

from accgate.text import clip, count_of
from accgate.verdict.figures import Figures, GroupFigures
from accgate.verdict.points import points_text

NAMED = 3  # groups that a sentence names
LONGEST = 60  # characters of a group's name in a sentence


def groups_sentence(verdict: Figures) -> str | None:
    """Say which groups stand out, three of them by name.

    None where none does. It has no full stop.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
    >>> from accgate.verdict.figures import Groups
    >>> law = GroupFigures("law", 40, 80.0, 67.5, -12.5, (-30.1, -1.2), 0.0001, 0.005, 5, 0, 0, True)
    >>> sides = ReferenceSummary(75.0, 400), CandidateSummary(74.0, 400)
    >>> groups = Groups(9, 0.05, any_stop=False, rows=(law,))
    >>> print(groups_sentence(Verdict("m", "t", "pass", "paired", 400, *sides, 0.05, 0.2, groups=groups)))
    1 of 9 groups stands out: law fell by 12.5 points (of 40 samples 5 got worse, 0 better)
    """
    if verdict.groups is None or not (rows := verdict.groups.standing_out):
        return None
    more = f"; and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    stand = "stands" if len(rows) == 1 else "stand"
    sign = 1.0 if verdict.higher_is_better else -1.0
    worst = sorted(rows, key=lambda row: sign * row.difference)
    listed = "; ".join(_change(verdict, row) for row in worst[:NAMED])
    return f"{len(rows):,} of {verdict.groups.count:,} groups {stand} out: {listed}{more}"


def _change(verdict: Figures, row: GroupFigures) -> str:
    moved = "rose" if row.difference > 0.0 else "fell"
    counts = f"of {row.n:,} samples {row.lost:,} got worse, {row.gained:,} better"
    size = points_text(verdict, abs(row.difference))
    return f"{clip(row.name, LONGEST, ' …')} {moved} by {size} points ({counts})"


def groups_paragraph(verdict: Figures) -> str | None:
    """Describe what the groups' figures say, and how sure that is. It is None where there are no groups."""
    groups = verdict.groups
    if groups is None:
        return None
    if not groups.rows:
        return f"{groups.note}."
    outcome = groups_sentence(verdict) or f"None of the {groups.count:,} groups stands out"
    absent = groups.count - len(groups.rows)
    unseen = f" The check used no sample of {count_of(absent, 'group')}." if absent else ""
    where = ", wherever the check stopped" if groups.any_stop else ""
    sure = f"All {groups.count:,} intervals hold together with {100 * (1 - groups.alpha):.4g}% probability{where}"
    more = " With early_stopping = false each group has all its samples." if verdict.is_early else ""
    about = "The groups are information: the verdict is on all samples together."
    if groups.level is not None:
        about = "A group that fell by more than chance explains fails the check."
    return f"{outcome}.{unseen} {groups.note or sure}.{more} {about}"
