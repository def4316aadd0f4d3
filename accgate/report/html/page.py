"""The report as one HTML file that needs no other: light or dark, on paper or on a phone, without a network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.errors import SEVERITY
from accgate.report import words
from accgate.report.html.cause import cause_section, cause_style
from accgate.report.html.checks import Pictures, pictures_of, why
from accgate.report.html.flips import STATIC, ShownFlip, flips_of_report
from accgate.report.html.groups import GroupTable, group_table
from accgate.report.html.inline import policy_hash
from accgate.report.markdown import values_of
from accgate.report.views import ROOMS, CheckView, FlipsByCheck, check_view
from accgate.text import visible

if TYPE_CHECKING:
    from accgate.report.flips import Flip
    from accgate.result import Result
    from accgate.verdict import Verdict

HERE = " (`accgate report --html report.html`)"  # what the advice names is this page
DRAWN = 40  # checks with charts; of more, those that did not pass come first


@dataclass(frozen=True)
class Section:
    """One check of the page: `number` names it in links and data, `flips` are those that stand in the page itself.

    `steps` explain the verdict, each under a heading; every second part of `advice` is a command. `marked` says whether
    the words that differ between two replies are marked.
    """

    number: int
    view: CheckView
    why: str
    steps: tuple[tuple[str, str], ...]
    advice: tuple[str, ...]
    pictures: Pictures
    groups: GroupTable | None
    flips: tuple[ShownFlip, ...]
    all_flips: int
    marked: bool

    @property
    def cells(self) -> list[tuple[str, str]]:
        """The cells of its row, each with what it sorts by."""
        return list(zip(self.view.row, sort_keys(self.view.verdict), strict=True))


def html_report(result: Result, flips: FlipsByCheck | None = None, folder: Path | None = None) -> str:
    """The report of a run as a whole HTML page.

    Names, prompts and replies can hold anything: each shows as text, and the page's policy lets only its own style and
    script load and run.

    Parameters
    ----------
    result : Result
        The run.
    flips : mapping of (model, task) to flips, optional
        Samples that got worse; with `folder` they are read there, all of them.
    folder : Path, optional
        Where accgate.json lies with the run's records; without it charts and flips of single samples are left out.

    Raises
    ------
    BadInput
        When a file of the folder is damaged.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("accgate.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
        finalize=_on_one_line,
    )
    values = values_of(result, {}, ROOMS[0])
    views = tuple(_with_row(check_view(verdict, (), ROOMS[0])) for verdict in values["result"].decided)
    values |= {"headings": words.HEADINGS, "beside": tuple(map(_with_row, values["beside"]))}
    sections, data = _sections(result, views, flips or {}, folder)
    style, script = _part("report.css") + cause_style(), _part("report.js")
    policy = (
        f"default-src 'none'; script-src {policy_hash(script)}; style-src {policy_hash(style)}; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    values["legend"] = words.legend(result)  # without that of the comment's lines, which are no charts
    return (
        environment.get_template("report.html.j2").render(
            values,
            sections=sections,
            cause=cause_section(result, folder),
            policy=policy,
            style=Markup(style),
            script=Markup(script),
            data=Markup(data),
            markup=Markup,
        )
        + "\n"
    )


def _with_row(view: CheckView) -> CheckView:
    return replace(view, row=words.row(view.verdict))


def _sections(
    result: Result, views: tuple[CheckView, ...], flips: FlipsByCheck, folder: Path | None
) -> tuple[list[Section], str]:
    from accgate.report.flips import flips_of
    from accgate.report.words import explanation_of

    by_check: dict[int, tuple[Flip, ...]] = {}
    for at, verdict in enumerate(result.decided):
        if folder is not None:
            by_check[at] = flips_of(verdict, folder, shown=len(verdict.flips))
        else:
            by_check[at] = tuple(flips.get((verdict.model, verdict.task), ()))
    cut = flips_of_report({at: own for at, own in by_check.items() if own})
    drawn = sorted(range(len(result.decided)), key=lambda i: -SEVERITY.index(result.decided[i].verdict))[:DRAWN]
    sections = []
    for at, (verdict, view) in enumerate(zip(result.decided, views, strict=True)):
        if at in drawn:
            pictures = pictures_of(verdict, folder, result.seed, f"c{at}")
        else:
            pictures = Pictures(missing=(f"Only {DRAWN} checks have charts, those with the worst verdicts.",))
        own = cut.by_check.get(at, ())
        _, *steps, (_, advice) = explanation_of(result, verdict)
        parts = tuple(advice.replace(HERE, " below" if own else "").split("`"))
        marked = any(flip.alike for flip in own)
        told = why(verdict), tuple(steps), parts, pictures, group_table(verdict)
        sections.append(Section(at, view, *told, own[:STATIC], len(own), marked))
    return sections, cut.data


def sort_keys(verdict: Verdict) -> tuple[str, ...]:
    """What each cell of a check's row sorts by: whole figures, texts, and the verdict by how bad it is."""
    p = verdict.p_adjusted if verdict.p_adjusted is not None else verdict.p_value
    figures: tuple[float | None, ...] = (
        verdict.n,
        verdict.reference.mean,
        verdict.candidate.mean,
        verdict.difference,
        verdict.gamma,
        verdict.theta,
        p,
    )
    texts = (verdict.model or "", verdict.task or "")
    numbers = tuple("" if value is None else repr(value) for value in figures)
    return (*map(visible, texts), *numbers, str(SEVERITY.index(verdict.verdict)))


def _on_one_line(value: Any) -> Any:
    """Texts on one line, without characters that turn or hide what is beside them; marked text as it is."""
    return visible(value) if type(value) is str else value


def _part(name: str) -> str:
    text = files("accgate.report").joinpath("templates", name).read_text(encoding="ascii")
    return "\n" + text
