"""The verdict of a check, which reads as a sentence."""

from dataclasses import dataclass

from accgate.text import visible
from accgate.verdict.figures import Figures
from accgate.verdict.paragraphs import explanation
from accgate.verdict.sentences import summary


@dataclass(frozen=True)
class Verdict(Figures):
    """The decision of one check, with its `Figures` and its words.

    >>> from accgate.verdict import CandidateSummary, ReferenceSummary
    >>> sides = ReferenceSummary(75.0, 400), CandidateSummary(70.0, 400)
    >>> print(Verdict("m", "gsm8k", "regression", "paired", 400, *sides, 0.05, 0.2, difference=-5.0, p_value=0.0007))
    m / gsm8k regressed: the mean fell by 5.0 points, from 75.0 to 70.0 on 400 samples (p = 0.0007).
    """

    def __str__(self) -> str:
        """Say the verdict and the figures behind it in one sentence."""
        return visible(summary(self))

    def explain(self) -> str:
        """Explain how the verdict came about, in words and with its figures.

        `accgate report --check` prints it.
        """
        (title, meaning), *rest = explanation(self)
        body = [f"{heading}\n  {visible(text)}" for heading, text in rest]
        return "\n".join([visible(title), visible(meaning), *body])

    def _repr_html_(self) -> str:
        """Show the sentence, and the explanation as a table, in a notebook."""
        from html import escape

        rows = "".join(
            f'<tr style="text-align:left"><th>{heading}</th><td>{escape(visible(text))}</td></tr>'
            for heading, text in explanation(self)[1:]
        )
        return f"<p><strong>{escape(str(self))}</strong></p><table>{rows}</table>"
