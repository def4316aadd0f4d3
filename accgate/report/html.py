"""The report as one HTML file that needs nothing else: no script, no network, light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from accgate.report import words
from accgate.report.markdown import values_of
from accgate.report.views import ROOMS, FlipsByCheck

if TYPE_CHECKING:
    from accgate.result import Result


def html_report(result: Result, flips: FlipsByCheck | None = None) -> str:
    """The report of a run as a whole HTML page.

    Names, prompts and replies can hold anything: each shows as text, and the page's policy lets nothing load or run.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("accgate.report"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=True, finalize=_shown,
    )  # fmt: skip
    return environment.get_template("report.html.j2").render(values_of(result, flips or {}, ROOMS[0])) + "\n"


def _shown(value: Any) -> Any:
    """Texts on one line, without characters that turn or hide what is beside them; marked text as it is."""
    return words.visible(value) if type(value) is str else value
