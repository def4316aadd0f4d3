"""Targets that a task's metric cannot tell apart, or of which its normalisation leaves nothing."""

from __future__ import annotations

from accgate.metrics.forms import label_form
from accgate.tasks import Task
from accgate.text import count_of

FIX = "write them alike if they are one label, else so that more than case and the marks around them differs"


def advice_on_targets(task: Task) -> tuple[str, ...]:
    """Return what a plan says of targets that become one target, or nothing.

    It is told of a task that scores as another tool does (`same_as`), and of free text, where whoever wrote `U.S.` and
    `US` means one answer. Rows that have the same target, and the texts that are right for one row, are no fault.

    Raises
    ------
    BadInput
        For labels that become one label, and for a target of which nothing is left.
    """
    content, statistic = task.content, task.definition.statistic
    are_read = statistic is not None and {"answer", "target"} <= {*statistic.needs}
    form = label_form if are_read else task.metric.form
    if form is None:
        return ()
    spelled: dict[str, set[str]] = {}  # the targets of each form
    emptied: set[str] = set()
    for sample in task.samples:
        texts = [text.strip() for text in task.targets(sample.target)] if sample.target.strip() else []
        forms = [*map(form, texts)]
        if not any(forms):
            emptied.update(filter(None, texts[:1]))
        elif len(texts) == 1:
            spelled.setdefault(forms[0], set()).add(texts[0])
    are_labels = form is label_form
    several = [sorted(texts) for texts in spelled.values() if len(texts) > 1]
    alike = sorted(texts for texts in several if are_labels or len({*map(label_form, texts)}) > 1)
    key, name = ("aggregate", content.aggregate) if are_read else ("metric", content.metric)
    faults = []
    if alike:
        one, other = alike[0][:2]
        fix = FIX if are_labels else 'metric = "exact_match" tells them apart'
        what = f"is {name!r}, which takes the targets {one!r} and {other!r} for the same"
        faults.append((are_labels, f"{what}{_more(sum(map(len, alike)) - 2)}; {fix}"))
    if emptied:
        what = (
            f"is {name!r}, whose normalisation leaves nothing of the target {min(emptied)!r}{_more(len(emptied) - 1)}"
        )
        faults.append((True, f'{what}; use metric = "exact_match", or leave such rows out'))
    for is_refused, fault in faults:
        if is_refused and not content.same_as:
            raise task.definition.fault((key,), fault)
    return tuple(f"{key} {fault}" for _, fault in faults)


def _more(n: int) -> str:
    return f", and {count_of(n, 'more target')} like that" if n else ""
