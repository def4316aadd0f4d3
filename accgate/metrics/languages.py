"""How languages write numbers.

Examples are `1.200,5` in German, `12 600` in Russian, `7万` and `十八` in Japanese and Chinese. `in_english`
writes them as English does, which `numbers.py` reads. A language is a code of ISO 639-1.
"""

import re
import unicodedata
from decimal import Decimal

_COMMA_CODES = "bg ca cs da de el es et fi fr hr hu id it lt lv nb nl no pl pt ro ru sk sl sr sv tr uk vi"
_POINT_CODES = "ar bn en fa gu he hi ja kn ko ml mr ms my ne pa si sw ta te th tl ur zh"
DECIMAL_COMMA = frozenset(_COMMA_CODES.split())
LANGUAGES = tuple(sorted((*DECIMAL_COMMA, *_POINT_CODES.split())))
_ANSWERS = {  # the words before an answer, which tell the language of a reply where its task does not
    "de": r"antwort|ergebnis", "es": "respuesta", "fr": r"r[ée]ponse", "it": "risposta", "nl": "antwoord",
    "pl": r"odpowied[źz]", "pt": "resposta", "ru": "ответ", "uk": "відповідь", "id": "jawaban",
    "en": "answer", "sw": "jibu", "zh": r"答案|答复", "ja": r"答え|解答|正解|答",
}  # fmt: skip
_ANSWER = re.compile("|".join(f"(?P<{code}>{words})" for code, words in _ANSWERS.items()), re.IGNORECASE)
_COMMA = re.compile(
    r"(?<![\d.,])(?P<whole>[1-9]\d{0,2}(?:(?P<mark>\\[,;: ]|[. \u00a0'\u2019])\d{3}(?:(?P=mark)\d{3})*)|\d+)"
    r"(?:(?:,|\{,\})(?P<part>\d+))?(?!\d|[.,]\d)"
)
_KOREAN = {"백": 100, "천": 1000, "만": 10**4, "억": 10**8}
_DIGIT, _UNIT = "〇零一二两兩三四五六七八九", "十百千万萬億亿"
_FIGURES = r"\d+(?:,\d{3})*(?:\.\d+)?"
_TOKEN = rf"{_FIGURES}|[{_DIGIT}{_UNIT}{''.join(_KOREAN)}]"
_NUMERAL = re.compile(
    rf"(?P<answer>(?:{_ANSWERS['zh']}|{_ANSWERS['ja']})[\s:はが是为為*$「\"]{{0,8}}(?:\\boxed\{{)?)?"
    rf"(?P<number>(?:(?<![\d.,]){_FIGURES}[ ]?(?=[{_UNIT}{''.join(_KOREAN)}])|[{_DIGIT}{_UNIT}])"
    rf"(?:(?:[ ](?={_FIGURES}[{''.join(_KOREAN)}]))?(?:{_TOKEN}))*)"
    r"(?P<counted>(?=\W|\Z|で|だ|[個个元円块塊人名只隻本枚匹頭头岁歳歲天日年月時时つ台张張条條杯度}$]))?"
)
_UNITS_OF_MEASURE = re.compile(r"千(?:[克米瓦卡帕焦赫]|字节)|百分")  # kilograms are no thousands
_IN_PROSE = re.compile(rf"(?:[{_DIGIT}十]|[百千][{_DIGIT}]).*[{_UNIT}]|十[{_DIGIT}]")


def language_of(text: str) -> str:
    """Return the language of the last word for "answer" in a reply.

    A text without such a word gives "".

    >>> language_of("Antwort: 1.200"), language_of("1.200")
    ('de', '')
    """
    return next((match.lastgroup or "" for match in reversed([*_ANSWER.finditer(text)])), "")


def in_english(text: str, language: str = "") -> str:
    """Write the numbers of a text's language as English does.

    The digits of the text are ASCII. Figures with ideograms (`7万`) are read in every language, numerals of ideograms
    alone after a word for "answer", as the whole text, and in Chinese and Japanese where they are no other word. With a
    decimal comma, `1,200` stays 1200: nobody ends a decimal so, and models write it in every language.

    >>> in_english("1.200,5 und 12 600", "de"), in_english("1.200,5"), in_english("7万", "ja"), in_english("答え: 十八")
    ('1200.5 und 12600', '1.200,5', '70000', '答え: 18')
    """
    if language in DECIMAL_COMMA:
        text = _COMMA.sub(_with_point, text)
    return text if text.isascii() else _NUMERAL.sub(lambda match: _in_figures(match, language), text)


def _with_point(match: re.Match[str]) -> str:
    whole, part = re.sub(r"\D", "", match["whole"]), match["part"]
    if part is None:
        return whole
    is_english = part.endswith("0") or match.string[: match.start()].rstrip(" \\")[-1:] in {"$", "£", "¥", "₹"}
    if len(part) == 3 and len(whole) < 4 and whole != "0" and is_english and not match["mark"]:
        return f"{whole}{part}"
    return f"{whole}.{part}"


def _in_figures(match: re.Match[str], language: str) -> str:
    number, answer = match["number"], match["answer"] or ""
    is_number = language in ("ja", "zh") and bool(_IN_PROSE.match(number))
    if number[0].isascii():
        is_number = not _UNITS_OF_MEASURE.match(match.string, match.end() - 1)
    elif answer or match[0] == match.string.strip():
        is_number = len(number) > 1 or match["counted"] is not None
    return f"{answer}{_value(number, language):f}" if is_number else match[0]


def _value(numeral: str, language: str) -> Decimal:
    """Return the number that a numeral stands for.

    Digits in a row are read by their places. Any other digit counts the unit after it.
    """
    tokens = [token.replace(",", "") for token in re.findall(_TOKEN, numeral)]
    if len(tokens) > 1 and set(tokens) <= set(_DIGIT):
        return Decimal("".join(f"{unicodedata.numeric(token):.0f}" for token in tokens))
    total = section = count = Decimal(0)
    is_counted, unit = False, Decimal(1)
    for place, token in enumerate(tokens):
        if token[0].isascii() or token in _DIGIT:
            count, is_counted = Decimal(token) if token[0].isascii() else Decimal(unicodedata.numeric(token)), True
            if language == "zh" and place == len(tokens) - 1 and unit > 10 and tokens[place - 1] not in "〇零":
                count *= unit / 10  # 二百五 is 250
            continue
        unit = Decimal(_KOREAN.get(token) or unicodedata.numeric(token))
        if unit < 10**4:
            section += (count if is_counted else 1) * unit
        else:
            total, section = total + ((section + count) or 1) * unit, Decimal(0)
        count, is_counted = Decimal(0), False
    return total + section + count
