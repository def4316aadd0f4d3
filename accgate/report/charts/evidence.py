"""The evidence that a test by betting gathered: what two bets have won, as shares of what decides."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from accgate.report.charts.axes import across, frame, upward
from accgate.report.charts.sequential import TABLE, WHY, thin
from accgate.report.charts.svg import Chart, drawing, element, legend, path, pixel
from accgate.text import number

if TYPE_CHECKING:
    from accgate.decision import Bets
    from accgate.verdict import Verdict

LOWEST = -1.0  # shares are drawn from here: a bet that lost is lost


def evidence_chart(verdict: Verdict, n: tuple[int, ...], bets: Bets, key: str) -> Chart:
    """The evidence of a drop and of none after each unit, with `n` samples used by then; the run ends at 1."""
    drop, sound, n_max = bets.drop, bets.sound, verdict.n_max or verdict.n
    x, y = across(0.0, float(min(n_max, 3 * verdict.n))), upward(LOWEST, 1.15 * max(1.0, *drop, *sound))
    parts = [frame(x, y, x_words="samples, in the fixed order", y_words="share of the evidence needed")]
    level = pixel(y.at(1.0))
    parts.append(element("line", x1=x.start, x2=x.end, y1=level, y2=level, class_="mark faint"))
    for class_, shares in (("line bad", drop), ("line good", sound)):
        run = list(zip([0, *n], [0.0, *shares], strict=True))
        parts.append(path([(x.at(k), y.at(share)) for k, share in thin(run)], class_))
    parts.append(
        legend([("line", "line bad", "a drop"), ("line", "line good", "none"), ("line", "mark faint", "enough")])
    )
    title = "The evidence, sample by sample"
    why = WHY.get(verdict.stop or "", "it ended")
    description = (
        f"The evidence for a drop and for none, as shares of what decides. After {verdict.n:,} of at most {n_max:,} "
        f"samples that for a drop was {number(drop[-1])} and that for none {number(sound[-1])}: {why}."
    )
    count = len(n)
    places = sorted({round(k * (count - 1) / (TABLE - 1)) for k in range(TABLE)})
    rows = tuple((f"{n[k]:,}", number(drop[k]), number(sound[k])) for k in places)
    svg = drawing(
        key,
        "evidence",
        title,
        description,
        *parts,
        data_n=verdict.n,
        data_n_max=n_max,
        data_stop=verdict.stop,
        data_p_value=min(1.0, math.exp(-max(0.0, *drop) * -math.log(verdict.alpha_applied or verdict.alpha))),
        data_drop=drop[-1],
        data_sound=sound[-1],
    )
    return Chart("evidence", title, description, svg, ("Samples", "Evidence of a drop", "Evidence of none"), rows)
