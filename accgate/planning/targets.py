"""Targets that a task's metric cannot tell apart, or of which its normalisation leaves nothing."""

from accgate.metrics.forms import label_form
from accgate.tasks import Task
from accgate.text import count_of


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
    key, name, form = "metric", content.metric, task.metric.form
    if statistic is not None and {"answer", "target"} <= {*statistic.needs}:
        key, name, form = "aggregate", statistic.name, label_form
    if form is None:
        return ()
    targets: dict[str, set[str]] = {}  # of each form
    for sample in task.samples:
        texts = [text.strip() for text in task.targets(sample.target)] if sample.target else []
        if len(texts) == 1 or (texts and not any(map(form, texts))):
            targets.setdefault(form(texts[0]), set()).add(texts[0])
    emptied, are_labels = sorted(targets.pop("", set()) - {""}), form is label_form
    alike = [texts for texts in targets.values() if len(texts if are_labels else {*map(label_form, texts)}) > 1]
    faults = []
    if alike:
        pair, also = " and ".join(map(repr, min(map(sorted, alike))[:2])), f" ({count_of(len(alike), 'such group')})"
        fix = "write them alike if they are one label, else so that more than case and the marks around them differs"
        fix = fix if are_labels else "exact_match tells them apart"
        faults.append(f"is {name!r}, which takes the targets {pair} for the same{also}; {fix}")
    if emptied:
        what = f"leaves nothing of {count_of(len(emptied), 'target')}, such as {emptied[0]!r}"
        faults.append(f"is {name!r}, whose normalisation {what}; use exact_match, or leave such rows out")
    if faults and not content.same_as and (are_labels or emptied):
        raise task.definition.fault((key,), faults[-1])
    return tuple(f"{key} {fault}" for fault in faults)
