"""Instructions about the form of a reply.

Instructions with a question of their own are here, too.
"""

import csv
import io
import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise, takewhile

from accgate.metrics.ifbench.text import PUNCTUATION, SPACED, sentences_of, tokens_of, without_punctuation

CAPITALS = [
    "Reykjavik", "Helsinki", "Oslo", "Tallinn", "Stockholm", "Riga", "Moscow", "Copenhagen", "Vilnius", "Minsk",
    "Dublin", "Berlin", "Amsterdam", "Warsaw", "London", "Brussels", "Prague", "Luxembourg", "Paris", "Vienna",
    "Bratislava", "Budapest", "Vaduz", "Chisinau", "Bern", "Ljubljana", "Zagreb",
]  # fmt: skip
OPTION = re.compile(r"[A-Ea-e][.|)]\s*\w+")
QUESTION = re.compile(r"\n*Question \d+[.|):;]?\s*")
DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})$")
CLOSING = {")": "(", "]": "[", "}": "{"}
TEMPLATE = ("My Answer:", "My Conclusion:", "Future Outlook:")


def _nested_brackets(text: str) -> bool:
    """Tell whether brackets stand five deep, and one of them is closed.

    A closing bracket that does not fit starts the count again.
    """
    levels: list[str] = []
    deepest = 0
    for char in text:
        if char in "([{":
            levels.append(char)
            deepest = max(deepest, len(levels))
        elif char in CLOSING:
            if not levels or levels.pop() != CLOSING[char]:
                levels, deepest = [], 0
            elif deepest >= 5:
                return True
    return False


def _nested_quotes(text: str) -> bool:
    levels: list[str] = []
    deepest = 0
    for char in text:
        if levels and char == levels[-1]:
            levels.pop()
            if deepest - len(levels) >= 3:
                return True
        elif char in "\"'":
            levels.append(char)
            deepest = max(deepest, len(levels))
    return False


def _options(text: str, options: str) -> bool:
    separator = next((each for each in ("/", "or") if each in options), ",")
    choices = [option.strip() for option in options.split(separator)]
    if re.match(r"\W*[aA]\W*[bB]\W*[cC]\W*", options):  # letters are held to their form
        return text in choices
    return text.strip(SPACED).lower() in [choice.strip(SPACED).lower() for choice in choices]


def _word_a_line(text: str) -> bool:
    bare = without_punctuation(text).strip()
    return sum(map(bool, bare.split("\n"))) == len(bare.split())


def _emoji(text: str) -> bool:
    from emoji import is_emoji

    sentences = [without_punctuation(sentence).strip() for sentence in sentences_of(text)]
    pairs = zip(sentences, [*sentences[1:], ""], strict=False)
    return all(sentence and (any(map(is_emoji, sentence[-2:])) or is_emoji(after[:1])) for sentence, after in pairs)


def _stairs(text: str) -> bool:
    lines = text.split("\n")
    for line in lines:  # as the authors' loop, which skips the line after one that it removes
        if not line.strip():
            lines.remove(line)
    indents = [len(line) - len(line.lstrip(" ")) for line in lines]
    return all(left < right for left, right in pairwise(indents))


def _quotes_explained(text: str) -> bool:
    text = "".join(text.replace("“", '"').replace("”", '"').replace("'\"'", "").split())
    return '""' not in text and not text.strip(string.digits + PUNCTUATION.replace('"', "")).endswith('"')


def _thesis(text: str) -> bool:
    begin = _first(text, ("<i>", "<em>"))
    end = _first(text[begin:], ("</i>", "</em>"))
    if begin < 0 or end < 0:
        return False
    text = text[begin:]
    return bool(text[3:end].strip() and text[end + 4 :].strip())


def _first(text: str, marks: Iterable[str]) -> int:
    """Return the place of the first mark that is in a text.

    Marks are tried in their order; -1 means that there is none.
    """
    return next((text.find(mark) for mark in marks if mark in text), -1)


def _sentences_then_bullets(text: str) -> bool:
    sentences = bullets = 0
    is_over = False  # the sentences: after a bullet, or a blank line
    for line in map(str.strip, text.split("\n")):
        if line.startswith("*"):
            is_over = True
            bullets += 1
            if sentences < 2:
                return False
        elif is_over:
            return False
        else:
            new = len(sentences_of(line))
            sentences += new
            is_over = not new
    return bullets >= 2


def _title_case(text: str) -> bool:
    return not any(token[0].isalpha() and token[0].islower() and _is_plain(token[1:]) for token in tokens_of(text))


def _is_plain(rest: str) -> bool:
    return not rest or rest.islower() or rest.isupper()


def _questions(text: str) -> bool:
    """Tell whether there are four questions, each longer than the one before.

    Each must have five options.
    """
    parts = [part.strip() for part in QUESTION.split(text) if part.strip()]
    if not text.startswith("Question") or len(parts) != 4:
        return False
    lengths = []
    for part in parts:
        lines = [line.strip() for line in part.split("\n")]
        options = [number for number, line in enumerate(lines) if OPTION.match(line)]
        if len(options) != 5:
            return False
        lengths.append(len(" ".join(lines[: options[0]]).strip()))
    return all(left < right for left, right in pairwise(lengths))


def _african_countries(text: str) -> bool:
    lines = [bare for line in text.split("\n") if (bare := line.strip(SPACED))]
    start = next((number for number, line in enumerate(lines) if "Zimbabwe" in line), len(lines))
    names = [_ascii(line) for line in lines[start:]]
    return len(names) >= 52 and names == sorted(names, reverse=True)


def _reversed_words(text: str) -> bool:
    turned = " ".join(without_punctuation(text.lower().strip()).split()[::-1])
    return "bald eagle" in turned and turned in sentences_of(turned)


def _alphabet_story(text: str) -> bool:
    bare = (sentence.lstrip(PUNCTUATION + string.whitespace) for sentence in sentences_of(text))
    return [sentence[:1].lower() for sentence in bare] == list(string.ascii_lowercase)


def _rows(text: str, delimiter: str = ",") -> Sequence[Sequence[str]]:
    """Return the rows of CSV text, or none where it is no CSV."""
    try:
        return list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except csv.Error:
        return ()


def _csv_cities(text: str) -> bool:
    rows = _rows(text)
    header = ["ID", "Country", "City", "Year", "Count"]
    return len(rows) == 8 and rows[0] == header and all(len(row) == 5 for row in rows)


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _has_header(text: str, columns: str, between: str) -> bool:
    pattern = between.join(f'(?:{name}|"{name}")' for name in columns.split())
    return re.match(f"{pattern}$", text.split("\n", maxsplit=1)[0].strip()) is not None


def _csv_special(text: str) -> bool:
    if not _has_header(text, "ProductID Category Brand Price Stock", r",[ \t]*"):
        return False
    rows = _rows(text.replace('"', '"""'))
    complete = takewhile(lambda row: len(row) == 5, rows[1:])
    # The rows after the first that has one are not looked at, as in the authors' code.
    return len(rows) == 15 and any(re.match(r'".*[^\d\w\s].*"', field) for row in complete for field in row)


def _csv_quotes(text: str) -> bool:
    if not _has_header(text, "StudentID Subject Grade Semester Score", "\t *"):
        return False
    rows = _rows(text.replace('"', '"""'), "\t")
    fields = [field.strip() for row in rows for field in row]
    is_table = len(rows) == 4 and all(len(row) == 5 for row in rows)
    return is_table and all(field.startswith('"') and field.endswith('"') for field in fields)


def _is_date(text: str) -> bool:
    match = DATE.match(text.strip())
    if match is None:
        return False
    year, month, day = map(int, match.groups())
    longest = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30, 0: 99}.get(month, 31)  # month 0 passes there
    return 1769 <= year <= 1821 and month <= 12 and day <= longest


FORM: Mapping[str, Callable[..., bool]] = {
    "custom:character_reverse": lambda text: "elgae dlab" in text.lower(),
    "custom:csv_city": _csv_cities,
    "custom:csv_quotes": _csv_quotes,
    "custom:csv_special_character": _csv_special,
    "custom:date_format_list": lambda text: all(map(_is_date, text.strip().split(","))),
    "custom:european_capitals_sort": lambda text: [*filter(None, map(str.strip, _ascii(text).split(",")))] == CAPITALS,
    "custom:mcq_count_length": _questions,
    "custom:multiples": lambda text: re.findall(r"\d+", text) == [str(n) for n in range(14, 51, 7)],
    "custom:reverse_newline": _african_countries,
    "custom:sentence_alphabet": _alphabet_story,
    "custom:word_reverse": _reversed_words,
    "format:emoji": _emoji,
    "format:line_indent": _stairs,
    "format:list": lambda text, sep: text.count(sep) >= 2,
    "format:newline": _word_a_line,
    "format:no_bullets_bullets": _sentences_then_bullets,
    "format:no_whitespace": lambda text: not any(map(str.isspace, text)),
    "format:options": _options,
    "format:output_template": lambda text: all(part in text for part in TEMPLATE),
    "format:parentheses": _nested_brackets,
    "format:quote_unquote": _quotes_explained,
    "format:quotes": _nested_quotes,
    "format:sub-bullets": lambda text: all("-" in bullet for bullet in text.split("*")[1:]),
    "format:thesis": _thesis,
    "format:title_case": _title_case,
}
