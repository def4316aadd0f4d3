# ruff: noqa: RUF001 digits, signs and words of other scripts
"""How sure a reply says that it is: read right, or not at all."""

from __future__ import annotations

import pytest

from accgate.tasks.extract import stated_confidence

READ = {
    0.9: [
        "Confidence: .9", "Confidence: 0,9", "Confidence: 9/10", "Confidence: 90 %", "Confidence: 90",
        "Confidence: 0.9.",
        "Confidence (0-100): 90", "Confidence (0-1): 0.9", "Confidence (%): 90",
        "Confidence: nine out of ten",
        "Confidence: 90 out of 100", "**Confidence:** 90%", '{"confidence": 0.9, "answer": 3}',
        '{"confidence": "90%"}',
        "Confidence: ٩٠٪", "Confidence: ٠٫٩", "Confidence: ０．９", "Konfidenz: 0,9", "Confianza: 9 de 10",
        "Confiance : 90 %",
        "Уверенность: 90%", "置信度：90%", "確信度: 0.9", "I am 90% confident.", "<confidence>0.9</confidence>",
        "| Confidence | 90% |", "Confidence:\n\n90%", r"Confidence: $90\%$", "Confidence score out of 10: 9",
        "Confidence: high (0.9)", "Confidence: 0.9 - very sure", "Confidence: about 90%",
        "Confidence: 90 percent",
        "Confidence: 0.5\nI checked. Confidence: 0.9", "Confidence: 0.9. My confidence is high.",
        "Confidence: 0.9\n\n- 3 items", "Confidence: 90 (on a scale from 0 to 100)",
        "Confidence in this one: 0.9",
        "Confidence: 0.90, because I counted 3", "Confidence: **9**/10", "Confidence level (0 to 10): 9",
    ],
    1.0: ["Confidence: 1", "Confidence: 100%", "Confidence: ten out of ten", "I'm 100% sure."],
    0.01: ["Confidence: 1%", "Confidence (0-100): 1", "Confidence: 1e-2", "Confidence (%): 1"],
    0.005: ["Confidence: 0.5%"],
    0.0: ["Confidence: 0"],
    None: [
        "", "0.9", "Confidence: high", "Confidence: 95-99%", "Confidence: 95% – 99%",
        "Confidence: 0.8 to 0.9", "Confidence: 8",
        "Confidence: 10", "Confidence (1-10): 8", "Confidence: 150%", "Confidence: 250", "Confidence: -0.5",
        "Confidence: over 90%", "Confidence: > 90%", "Confidence: at least 0.9",
        "Confidence: between 80 and 90%",
        "Confidence: not 0.9", "I am not 90% sure.", "95% confidence interval", "Confidence interval: 95%",
        '{"confidence": null, "steps": 40}', "Confidence for answer 1: 0.9", "Confidence: [0.8, 0.9]",
        "Overconfidence: 0.9",
        "Confidence: 95th percentile", "Confidence: 9/10/2024", "Confidence is high. 90 apples",
        "Confidence: 90% or 95%",
        "Confidence: 0.8\nConfidence: 0.7-0.9",
    ],
}  # fmt: skip


@pytest.mark.parametrize("share", READ, ids=str)
def test_a_stated_confidence_is_read_right_or_not_at_all(share: float | None) -> None:
    read = {text: stated_confidence(text) for text in READ[share]}
    assert read == {text: share if share is None else pytest.approx(share) for text in READ[share]}


def test_long_replies_are_read_in_one_pass() -> None:
    for piece in ("confidence ", "9", "9 ", "confidence (0-", "0.9%", ".", " of 1"):
        stated_confidence(piece * 1_000)
