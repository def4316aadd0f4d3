"""Formulas between dollar signs and in fences of `math`, as GitHub reads them, become MathML: no script is loaded."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, fromstring

from latex2mathml.converter import convert
from markdown import Extension, Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor

FENCE = re.compile(r"^```math\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = r"(?<![\\$\w])\$(?=\S)([^$\n]+?)(?<=\S)\$(?![\w$])"


class _Blocks(Preprocessor):
    """Fences of `math`; runs before fences are taken for code."""

    def run(self, lines: list[str]) -> list[str]:
        return FENCE.sub(self._block, "\n".join(lines)).split("\n")

    def _block(self, match: re.Match[str]) -> str:
        formula = convert(match[1].strip(), display="block")
        return "\n" + self.md.htmlStash.store(f'<div class="formula">{formula}</div>') + "\n"


class _Inline(InlineProcessor):
    """One formula within a sentence; runs after code spans."""

    def handleMatch(  # type: ignore[override]  # noqa: N802 (Markdown's name)
        self,
        match: re.Match[str],
        data: str,  # noqa: ARG002 (Markdown's)
    ) -> tuple[Element, int, int]:
        formula = convert(match[1]).replace(
            ' xmlns="http://www.w3.org/1998/Math/MathML"', ""
        )  # HTML knows the tag itself
        return fromstring(formula), match.start(0), match.end(0)


class Formulas(Extension):
    """Both kinds."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Markdown's name)
        """Add both."""
        md.preprocessors.register(
            _Blocks(md), "formula_blocks", 27
        )  # after line ends are normal, before fences are code
        md.inlinePatterns.register(_Inline(INLINE, md), "formulas", 185)


def makeExtension(**options: str) -> Formulas:  # noqa: N802 (Markdown's name)
    """What Markdown calls."""
    return Formulas(**options)
