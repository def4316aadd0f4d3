"""Reference files of TensorRT-LLM's accuracy suite (`references/<dataset>.yaml`) as references with a mean alone.

The suite's tests and their defaults are in its `accuracy_core.py`; its thresholds follow from alpha, sigma and the
number of samples by the two-sample formula that accgate uses too.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

from accgate.errors import BadInput, needing, writing
from accgate.inputs.paths import read_plain
from accgate.interop.task_log import files_of
from accgate.records.file import is_number
from accgate.records.replacement import replacing
from accgate.references.store import ReferenceFile, reference_path, toml_of, variant_label
from accgate.references.writer import replaced_figures

LARGEST = 1_000_000  # bytes; the suite's largest file has 20,000
DEPTH = 20  # nested tables and lists; a file of the suite has 3
FIGURES = ("num_samples", "sigma", "alpha", "beta", "higher_is_better", "threshold", "reference_note")
# What tells the suite's entries apart (`get_hypothesis_testing_params`), and a key of old entries that it ignores.
SPECIFICATION = ("dtype", "quant_algo", "kv_cache_quant_algo", "spec_dec_algo", "extra_acc_spec", "mtp_enabled")
BOTH_FILTERS = "the suite's figure is the mean of lm-eval's two filters; the library's task scores flexible-extract"
CHAT = "no task of the library: a chat, with strict-match"
MEDIA = "no task of the library: pictures, sound and video in one request"


class NoAccuracies(BadInput):
    """A file of the suite without accuracies.

    It is empty, or has other figures, as acceptance_length.yaml does.
    """


@dataclass(frozen=True)
class Defaults:
    """The suite's values for an entry that sets none.

    sigma is in points. `task` is accgate's name, where it differs.
    """

    num_samples: int
    sigma: float
    alpha: float = 0.05
    beta: float = 0.2
    higher_is_better: bool = True
    metric: str = "accuracy"
    task: str | None = None
    note: str = ""


DEFAULTS: Mapping[str, Defaults] = {
    "mmlu": Defaults(4096, 50.0),
    "gsm8k": Defaults(1319, 50.0, note=BOTH_FILTERS),
    **dict.fromkeys(("gsm8k_inferencemax", "gsm8k_inferencex"), Defaults(1319, 50.0, note=CHAT)),
    "gpqa_diamond": Defaults(198, 50.0),
    "json_mode_eval": Defaults(100, 50.0),
    "mmmu": Defaults(900, 50.0),
    "longbench_v1": Defaults(4750, 50.0),
    "longbench_v2": Defaults(215, 50.0),
    "videomme": Defaults(300, 50.0),
    "cnn_dailymail": Defaults(512, 11.06, alpha=0.002),
    "zero_scrolls": Defaults(80, 6.97, alpha=0.002),
    # A task of its own: the suite's score is ROUGE-1 of the code, not the share of programs that pass their tests.
    "humaneval": Defaults(
        164, 15.08, alpha=0.002, task="humaneval_rouge1", note="the suite scores HumanEval by ROUGE, not by its tests"
    ),
    "SlimPajama-6B": Defaults(86, 4.48, alpha=0.01, higher_is_better=False, task="slimpajama"),
    **dict.fromkeys(("passkey_retrieval_64k", "passkey_retrieval_128k"), Defaults(20, 0.0, alpha=0.5)),
    **{f"mixed_modality_{name}": Defaults(50, 50.0, note=MEDIA) for name in ("omni", "qwen_vl", "video_audio_omni")},
    "voxpopuli": Defaults(32, 50.0, higher_is_better=False, metric="wer"),
}


@dataclass(frozen=True)
class SuiteReference:
    """An entry of the suite with all figures that decide on it.

    Mean and sigma are in points.
    """

    source: Path
    model: str
    variant: Mapping[str, Any]
    task: str
    mean: float
    n: int
    sigma: float
    alpha: float
    beta: float
    higher_is_better: bool
    note: str = ""

    @property
    def name(self) -> str:
        """The baseline that names it in accuracy.toml."""
        label = variant_label(self.variant)
        return f"{self.model}@{label}" if label else self.model


def read_suite(path: Path, *, sigma: float | None = None, num_samples: int | None = None) -> list[SuiteReference]:
    """Read every reference in a file of the suite.

    Parameters
    ----------
    path : Path
        Its name is the data set's.
    sigma : float or None
        Standard deviation of one score in points, for a data set without a default here.
    num_samples : int or None
        Likewise.

    Raises
    ------
    BadInput
        For a file of another kind, an entry without its figures, and two entries of one specification that differ.
    CannotEvaluate
        When the package that reads YAML is missing.
    """
    defaults = DEFAULTS.get(path.stem)
    content = _content(path)
    if all(isinstance(entries, dict) for entries in content.values()):
        keys = " and ".join(map(str, next(iter(content.values()))))
        raise NoAccuracies(f"{path}: holds {keys} of tests, no accuracies of models, so nothing to import")
    if defaults is None:
        if sigma is None:
            names = ", ".join(DEFAULTS)
            fault = f"sigma, the standard deviation of one score, is not known for {path.stem} (only for {names})"
            raise BadInput(f"{path}: {fault}; import the file by itself with --sigma, 50 for scores of 0 and 100")
        defaults = Defaults(num_samples or 0, sigma)
    references: dict[str, SuiteReference] = {}
    for model, entries in content.items():
        if not isinstance(entries, list):
            raise BadInput(f"{path}: {model} has no list of accuracies; is it a file of references/ in the suite?")
        for number, entry in enumerate(entries, 1):
            reference = _reference(path, str(model), entry, defaults, f"{path}: entry {number} of {model}")
            first = references.setdefault(reference.name, reference)
            if first != reference:
                figures = f"a mean of {first.mean:g} and of {reference.mean:g} or other figures"
                raise BadInput(f"{path}: {reference.name} comes twice, with {figures}; keep one")
    return list(references.values())


def suite_files(paths: Sequence[Path]) -> list[Path]:
    """List reference files that are named one by one or by their folder.

    Raises
    ------
    BadInput
        For a folder without any.
    """
    lack = "holds no reference files of the suite (.yaml)"
    return files_of(paths, lambda folder: sorted(folder.glob("*.yaml")), lack)


def _content(path: Path) -> dict[Any, Any]:
    with needing("YAML files need the package pyyaml", "interop"):
        import yaml
    try:
        text, loader = read_plain(path, LARGEST).decode(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        if fault := _fault(yaml.parse(text, Loader=loader)):
            raise BadInput(f"{path}: {fault}")
        content = yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: is not YAML: {error}") from error
    if content == {}:
        raise NoAccuracies(f"{path}: names no model yet, so nothing to import")
    if not isinstance(content, dict):
        raise BadInput(f"{path}: holds no models")
    return content


def _fault(events: Iterable[Any]) -> str | None:
    """Say which construct of YAML is there that the suite never has.

    Aliases and deep nesting could also keep a parser busy without end.
    """
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind.endswith(("SequenceStartEvent", "MappingStartEvent"))
        depth -= kind.endswith(("SequenceEndEvent", "MappingEndEvent"))
        if kind == "AliasEvent":
            return "holds an alias (*), which can stand for any amount of text; write it out"
        if depth > DEPTH:
            return "is nested too deeply; is it a file of references/ in the suite?"
    return None


def _reference(path: Path, model: str, entry: Any, defaults: Defaults, where: str) -> SuiteReference:
    if not isinstance(entry, dict):
        raise BadInput(f"{where} is not a table of figures")
    score = "accuracy" if defaults.metric not in entry else defaults.metric
    mean = _number(entry, score, None, where)
    n = entry.get("num_samples", defaults.num_samples)
    if type(n) is not int or n < 1:
        raise BadInput(f"{where}: num_samples is {n!r}; give a whole number, or --num-samples")
    higher = entry.get("higher_is_better", defaults.higher_is_better)
    if not isinstance(higher, bool):
        raise BadInput(f"{where}: higher_is_better is {higher!r}; write true or false")
    if unknown := [str(key) for key in entry if key not in (*FIGURES, *SPECIFICATION, score)]:
        keys = ", ".join((score, *FIGURES, *SPECIFICATION))
        raise BadInput(f"{where}: the suite has no key {' or '.join(unknown)}; it has {keys}")
    sigma = _number(entry, "sigma", defaults.sigma, where, 0.0)
    alpha = _number(entry, "alpha", defaults.alpha, where, 0.0, 1.0)
    note = defaults.note
    if entry.get("threshold") is not None:
        threshold = _number(entry, "threshold", None, where)
        alpha = _alpha_of(threshold, mean, sigma, n, where, higher=higher)
        note = "; ".join(filter(None, (note, f"alpha puts gamma at the suite's threshold of {threshold:g}")))
    return SuiteReference(
        source=path,
        model=model,
        task=defaults.task or path.stem,
        variant=_variant({key: value for key, value in entry.items() if key in SPECIFICATION}),
        mean=mean,
        n=n,
        sigma=sigma,
        alpha=alpha,
        beta=_number(entry, "beta", defaults.beta, where, 0.0, 1.0),
        higher_is_better=higher,
        note=note,
    )


def _alpha_of(threshold: float, mean: float, sigma: float, n: int, where: str, *, higher: bool) -> float:
    """Return the alpha that makes the entry's threshold the test's gamma.

    The test is the two-sample one. The suite's `compute_threshold` is `mean + z(alpha) * sqrt(2 sigma^2 / n)`; this
    solves it for alpha.
    """
    room = mean - threshold if higher else threshold - mean
    if room < 0.0 or sigma <= 0.0:
        lack = "no model like the reference would pass" if room < 0.0 else "sigma is 0, so no alpha gives it"
        raise BadInput(f"{where}: threshold is {threshold:g} for a mean of {mean:g}: {lack}; correct one of them")
    return round(NormalDist().cdf(-room / (sigma * math.sqrt(2.0 / n))), 6)


def _variant(specs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the specification without the suite's defaults. Commas would end a value of a variant."""
    own = {key: value for key, value in specs.items() if value is not None and (key, value) != ("dtype", "auto")}
    return {str(key): value.replace(",", ";") if isinstance(value, str) else value for key, value in own.items()}


def _number(
    entry: Mapping[str, Any],
    key: str,
    default: float | None,
    where: str,
    least: float = -math.inf,
    most: float = math.inf,
) -> float:
    value = entry.get(key, default)
    if not (is_number(value) and least <= value <= most):
        raise BadInput(f"{where}: {key} is {value!r}; write a number")
    return float(value)


def keep_means(store: Path, references: Sequence[SuiteReference], *, reason: str | None, date: str) -> list[Path]:
    """Write the suite's references, each with its mean alone.

    Either all are written or none.

    Raises
    ------
    BadInput
        When a reference exists and no reason is given, or two files have other figures for the same one.
    """
    paths: list[Path] = []
    files_of_store: dict[Path, tuple[Path, ReferenceFile]] = {}  # with the suite's file that each is from
    for one in references:
        path = reference_path(store, one.model, one.variant, one.task)
        about = ReferenceFile(
            model=one.model,
            task=one.task,
            mean=one.mean,
            n=one.n,
            sigma=one.sigma,
            date=date,
            engine="imported from TensorRT-LLM",
            reason=reason or "",
            replaced=replaced_figures(path, reason),
            variant=dict(one.variant),
        )
        source, first = files_of_store.setdefault(path, (one.source, about))
        if first != about:
            raise BadInput(f"{one.source}: {one.name} is in {source} too, with other figures; import one of them")
        paths.append(path)
    with writing(store, "correct that, then import again"), replacing() as files:
        for path, (_, about) in files_of_store.items():
            files.remove(path.with_suffix(".scores.csv"))
            files.remove(path.with_suffix(".replies.jsonl.gz"))
            files.write(path, toml_of(vars(about)))
    return paths


def task_tables(references: Sequence[SuiteReference]) -> str:
    """Write the `[tasks]` of accuracy.toml that decide as the suite does.

    >>> from accgate.interop.trtllm import SuiteReference
    >>> print(task_tables([SuiteReference(Path("mmlu.yaml"), "m", {}, "mmlu", 68.2, 4096, 50.0, 0.05, 0.2, True)]))
    [tasks.mmlu]
    test = "two-sample"
    sigma = 50.0
    alpha = 0.05
    beta = 0.2
    num_samples = 4096
    """
    by_task: dict[str, list[SuiteReference]] = {}
    for reference in references:
        by_task.setdefault(reference.task, []).append(reference)
    return "\n\n".join(_table(task, own) for task, own in by_task.items())


def _table(task: str, own: Sequence[SuiteReference]) -> str:
    usual = max(own, key=lambda one: sum(_figures(one) == _figures(other) for other in own))
    lines = [f"[tasks.{task}]", 'test = "two-sample"']
    lines += [f"{key} = {value}" for key, value in _figures(usual).items()]
    if not usual.higher_is_better:
        lines.append("# lower is better: the task's metric must say so too")
    if usual.note:
        lines.append(f"# {usual.note}")
    for one in own:
        differing = {key: value for key, value in _figures(one).items() if value != _figures(usual)[key]}
        if differing:
            lines.append(f"# {one.name}: " + ", ".join(f"{key} = {value}" for key, value in differing.items()))
    return "\n".join(lines)


def _figures(one: SuiteReference) -> dict[str, Any]:
    return {"sigma": one.sigma, "alpha": one.alpha, "beta": one.beta, "num_samples": one.n}
