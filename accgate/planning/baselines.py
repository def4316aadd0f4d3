"""The references that models are held against, by name. The module says which can exist, and why one is missing."""

from accgate.config.config import Config
from accgate.errors import BadInput, Key, refuse_faults
from accgate.planning.model import PlannedModel
from accgate.references.store import baseline_of, folder_of, missing_reference
from accgate.text import nearest
from accgate.verdict import Reason


def labels_of(config: Config) -> set[str]:
    """Return the names under which the models of a config's file are recorded.

    The names include the variants.
    """
    return {baseline_of(name, each.variant, None) for name, each in config.models_in_file.items()}


def is_recordable(baseline: str, labels: set[str]) -> bool:
    """Tell whether some model is recorded under a baseline's name.

    The name may leave the variant out or give its values alone.

    >>> labels = {"m@quant=bf16"}
    >>> [is_recordable(name, labels) for name in ("m@quant=bf16", "m@bf16", "m", "m@fp8", "n")]
    [True, True, True, False, False]
    """
    return any(baseline in _names(label) for label in labels)


def _names(label: str) -> set[str]:
    model, _, variant = label.partition("@")
    values = ",".join(sorted(part.partition("=")[2] for part in variant.split(",")))
    return {label, model, f"{model}@{values}"}


def refuse_unknown_baselines(config: Config) -> None:
    """Refuse a `baseline` that names no recorded reference and no model.

    A model counts if the file lists it.

    Raises
    ------
    BadInput
        With every such name, its place, and the nearest that there is.
    """
    labels, faults = labels_of(config), list[tuple[Key, str]]()
    for name, model in config.models.items():
        baseline = baseline_of(name, model.variant, model.baseline)  # the variant in its own order
        if model.baseline is None or is_recordable(baseline, labels):
            continue
        if any(_is_recorded(config, baseline, task) for each, task in config.pairs() if each == name):
            continue
        recorded = {folder.name for folder in config.references.glob("*") if folder.is_dir()}
        fault = f"is {model.baseline!r}, which is neither recorded in {config.references} nor a model of this file"
        others = (labels | recorded) - {baseline_of(name, model.variant, None)}
        fix = nearest(model.baseline, others) if others else "record it, or import it, first"
        faults.append(((name, "baseline"), f"{fault}; {fix}"))
    with config.models_file.locating(("models",)):
        refuse_faults(faults)


def _is_recorded(config: Config, baseline: str, task: str) -> bool:
    try:
        return folder_of(config.references, baseline, task).is_dir()
    except BadInput:  # it fits several, which the plan says
        return True


def missing_note(config: Config, model: PlannedModel, baseline: str, task: str) -> Reason:
    """Say why there is no reference, and how to record one."""
    own = baseline_of(model.name, model.variant, None)
    recordable = is_recordable(baseline, labels_of(config))
    text = missing_reference(config.references, baseline, task, own=own, recordable=recordable)
    return Reason.of("no-reference" if recordable else "unrecorded-baseline", text=text)
