"""How sure a reply says that it is.

It is as `Confidence: 90%`, `.9`, `0,9`, `9/10`, `(0-100): 90`, "nine out of ten".
"""

import re

from accgate.metrics.numbers import plain

CONFIDENCE = 2  # raise it where a reply's confidence is read as another than before
FIRST_READING = r"(?i)confidence\D{0,20}(\d+(?:\.\d+)?\s*%?)"  # what stands for it where tokens say how sure a model is
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NAMES = (  # "confidence" in other languages
    "confidence|konfidenz|confiance|confianza|confiança|confidenza|fiducia|уверенность"
    "|置信度|自信度|確信度|确信度|信心|신뢰도|확신도|विश्वास|الثقة"
)
_FIGURE = r"(?:\d+(?:[.,]\d+)?|(?<![\d.,])[.,]\d+)(?:e[-+]?\d{1,3})?"
_COUNT = rf"(?:{_FIGURE}|\b(?:{'|'.join(_WORDS)})\b)"
_PERCENT = r"\s*(?:%|per ?cent\b|prozent\b|pour ?cents?\b|por ?ciento\b|процент\w*|パーセント|퍼센트)"
_SCALE = (  # "(0-100):", "out of 10:", "on a scale from 0 to 1:"
    rf"[^\d.,!?;\n]{{0,40}}?(?:(?P<low>{_FIGURE})\s*(?:-|to|bis|,|\.\.+)|/|\b(?:out )?of)\s*(?P<high>{_FIGURE})"
    r"\s*(?P<unit>%?)\s*(?:[)\]]\s*[:=]?|[:=])"
)
_STATED = re.compile(
    rf"(?<![^\W_])(?:{_NAMES})(?!\W{{1,3}}interval)(?:{_SCALE})?"
    rf"(?P<before>[^\w.,]{{0,20}}|[^\d.,!?;\n]{{0,40}}?(?:approx\.|ca\.)?\s*)"
    rf"(?:(?P<part>{_COUNT})\s*\(?(?:/|out of|of|von|sur|de|из)\s*(?P<whole>{_COUNT})"
    rf"|(?P<number>{_FIGURE})(?P<percent>{_PERCENT})?)"
    rf"|(?<![\d.,])(?P<first>{_FIGURE}){_PERCENT}\s*(?:confiden(?:t|ce)|sure|certain)\b(?!\W{{1,3}}interval)",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"\b(?:not|no|never|less|more|than|below|under|above|over|at (?:least|most)|up to|between|from)\b|[\s:=][<>≤≥]|-$",
    re.IGNORECASE,
)
_GOES_ON = re.compile(rf"(?i)(?:{_PERCENT})?[ ]*(?:(?:-|~|to|bis|or|±|\+/-|,)[ ]*\d|[)\]]?[ ]*[:=/])|\w|[.,]\d")


def stated_confidence(text: str) -> float | None:
    """Return the share from 0 to 1 that a reply's last statement gives.

    None where it gives none, or not one. Without a percent sign or a scale a number up to 1 is a share, and one above
    10 and up to 100 a percentage. Those between may be of a scale to ten, and are not read, nor are ranges and bounds
    ("95-99%", "over 90%").

    >>> stated_confidence("Confidence: .9"), stated_confidence("Confidence (0-100): 9"), stated_confidence("9 / 10")
    (0.9, 0.09, None)
    """
    bare = re.sub(r"\\boxed\{|[*`$\"“”{}\\]", "", plain(text))
    shares = [_share(match) for match in _STATED.finditer(bare)]
    return shares[-1] if shares else None


def _share(match: re.Match[str]) -> float | None:
    before = match["before"] or match.string[max(0, match.start() - 8) : match.start()]
    if _BOUND.search(before) or _GOES_ON.match(match.string, match.end()):
        return None
    if match["part"]:
        value, top = _number(match["part"]), _number(match["whole"])
    else:
        value, top = _number(match["first"] or match["number"]), 1.0
        if match["first"] or match["percent"] or "%" in before or match["unit"]:
            top = 100.0
        elif match["high"]:
            top = _number(match["high"])
            if _number(match["low"] or "0") and top != 100.0:
                return None  # on a scale from 1 to 10 the least is no 0
        elif value > 1.0:
            top = 100.0 if value > 10.0 else 0.0
    return value / top if 0.0 <= value <= top and top else None


def _number(text: str) -> float:
    return float(_WORDS.index(text.lower())) if text.lower() in _WORDS else float(text.replace(",", "."))
