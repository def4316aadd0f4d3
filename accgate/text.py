"""Figures, counts, times, names and differences as short texts."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

LONGEST = 80  # characters of a value that are shown
NOT_SET = object()
MESSAGE = 1_500  # characters of a line of a message
LISTED_IDS = 5  # ids that a message lists before it only counts
MOST_DIGITS = 4  # behind the point


def mismatches(about: str, sources: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a message for every key whose value is not the same everywhere.

    Nested tables are compared key by key.

    >>> mismatches("m / sums", {"shard-1": {"sampling": {"temperature": 0.0}}, "shard-2": {"sampling": {}}})
    ['m / sums: sampling.temperature is 0.0 in shard-1, not set in shard-2; evaluate every shard alike']
    """
    places = list(sources)
    faults = []
    for path, values in differences(list(sources.values())):
        places_of: dict[str, list[str]] = {}
        for place, value in zip(places, values, strict=True):
            places_of.setdefault(_text(value), []).append(place)
        by_value = ", ".join(f"{clip(text, LONGEST, ' …')} in {some_of(having)}" for text, having in places_of.items())
        faults.append(f"{about}: {path_text(path)} is {by_value}; evaluate every shard alike")
    return faults


def value_text(value: Any) -> str:
    """Write a value for people in at most 80 characters.

    A SHA-256 digest is cut to its first 12 digits.

    >>> value_text("q4_0"), value_text(NOT_SET), value_text([1, True]), value_text("sha256:" + "0a" * 32)
    ('q4_0', 'not set', '[1, true]', 'sha256:0a0a0a0a0a0a…')
    """
    text = value if isinstance(value, str) else _text(value)
    return clip(re.sub(r"\b(sha256:[0-9a-f]{12})[0-9a-f]{52}\b", r"\1…", text), LONGEST, " …")


def differences(values: Sequence[Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Sequence[Any]]]:
    """Yield the paths whose values differ, with the value of each table.

    Nested tables are compared key by key.
    """
    if all(isinstance(value, Mapping) for value in values):
        for name in sorted({name for value in values for name in value}):
            yield from differences([value.get(name, NOT_SET) for value in values], (*path, name))
    elif len(set(map(_text, values))) > 1:
        yield path, values


def path_text(path: Sequence[str]) -> str:
    """Write the path to a key as TOML does.

    A key that holds a dot or a quote, or is empty, is put in quotes.

    >>> path_text(["options", "n_ctx"]), path_text(["options", "rope.scale"])
    ('options.n_ctx', 'options."rope.scale"')
    """
    return ".".join(json.dumps(part, ensure_ascii=False) if not part or {*part} & {*'."'} else part for part in path)


def _text(value: Any) -> str:
    return "not set" if value is NOT_SET else json.dumps(value, sort_keys=True, default=str)


def clip(text: str, length: int, ellipsis: str = "...") -> str:
    """Cut a text to at most `length` characters, the ellipsis included.

    >>> clip("abcdefgh", 8), clip("abcdefghi", 8), clip("abcdefghi", 8, " …")
    ('abcdefgh', 'abcde...', 'abcdef …')
    """
    return text if len(text) <= length else text[: length - len(ellipsis)].rstrip() + ellipsis


def some_of(ids: Sequence[str]) -> str:
    """Name the first few ids for a message, and how many more there are.

    >>> some_of(["a", "b", "c", "d", "e", "f", "g"])
    'a, b, c, d, e and 2 more'
    """
    text = ", ".join(ids[:LISTED_IDS])
    return text if len(ids) <= LISTED_IDS else f"{text} and {len(ids) - LISTED_IDS} more"


LISTED = 12  # names that a message lists before it only counts


def closest(word: str, known: Iterable[str]) -> str | None:
    """Find the known word that an unknown one was probably meant to be.

    >>> closest("Sgima", ["sigma", "theta"]), closest("zzz", ["sigma", "theta"])
    ('sigma', None)
    """
    import difflib  # only for what is misspelt

    names = sorted(known)
    for tried in (word, word.lower()):
        if close := difflib.get_close_matches(tried, names, n=1, cutoff=0.6):
            return close[0]
    return None


def nearest(word: str, known: Iterable[str]) -> str:
    """Suggest a known word for an unknown one.

    Without a similar word the known ones are listed, at most about a dozen.

    >>> nearest("sgima", ["sigma", "theta"])
    "did you mean 'sigma'?"
    >>> nearest("zzz", ["sigma", "theta"])
    'known are sigma, theta'
    """
    names = sorted(known)
    if close := closest(word, names):
        return f"did you mean {close!r}?"
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED + 3 else ""
    return f"known are {', '.join(names[:LISTED] if more else names) or 'none'}{more}"


def with_capital(text: str) -> str:
    """Begin a text with a capital where it begins with a word.

    A text that begins with a URL, a path or a name from code is returned unchanged.

    >>> with_capital("it fell"), with_capital("http://gpu-1 is away"), with_capital("max_failed is 0")
    ('It fell', 'http://gpu-1 is away', 'max_failed is 0')
    """
    word = text.partition(" ")[0].rstrip(",:;.")
    return text[:1].upper() + text[1:] if word.replace("'", "").replace("-", "").isalpha() else text


def with_stop(text: str) -> str:
    """End a text with a full stop, unless it ends a sentence already.

    >>> with_stop("it fell"), with_stop("is the server up?")
    ('it fell.', 'is the server up?')
    """
    return text if text.endswith(("?", "!", ".")) else f"{text}."


def number(value: float | None, digits: int = 2, *, sign: bool = False) -> str:
    """Write a figure with a fixed number of digits, None as a dash.

    With `sign` a figure above 0 begins with a plus. One that rounds to 0 has no sign.

    >>> number(44.5), number(None), number(-0.001), number(1.5, sign=True), number(0.001, sign=True)
    ('44.50', '-', '0.00', '+1.50', '0.00')
    >>> number(0.006), number(-12345.678, sign=True)
    ('0.01', '-12,345.68')
    """
    if value is None:
        return "-"
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    return text.lstrip("+-") if float(text.replace(",", "")) == 0.0 else text


def drop_word(higher_is_better: bool) -> str:
    """Name a change for the worse, a drop or else a rise.

    A rise is worse where a lower score is better.

    >>> drop_word(True), drop_word(False)
    ('drop', 'rise')
    """
    return "drop" if higher_is_better else "rise"


def signed_number(value: float | None) -> str:
    """Write a difference with its sign and two digits.

    >>> signed_number(1.5), signed_number(-2.25), signed_number(None)
    ('+1.50', '-2.25', '-')
    """
    return number(value, sign=True)


def figure(value: float | None, digits: int = 1, *, sign: bool = False) -> str:
    """Write a figure as reports print it, with a typographic minus and dash.

    >>> figure(48.45), figure(-17.53, sign=True), figure(0.7, sign=True), figure(-0.001, sign=True), figure(None)
    ('48.5', '−17.5', '+0.7', '0.0', '–')
    """
    return "–" if value is None else number(value, digits, sign=sign).replace("-", "−")


def change_figure(before: float | None, now: float | None, digits: int = 1) -> str:
    """Write the change between two figures from their rounded values.

    So the printed figures and the printed change add up.

    >>> change_figure(82.46, 51.24), change_figure(75.0, 75.0), change_figure(None, 75.0)
    ('−31.3', '0.0', '–')
    """
    change = None if before is None or now is None else round(now, digits) - round(before, digits)
    return figure(change, digits, sign=True)


def drop_figure(theta: float | None, asked: float | None = None) -> str:
    """Write the smallest drop that a run detects, rounded up.

    Rounding down would promise more than the run does. There is one digit behind the point, or as many as the drop that
    was `asked` for has, so that the figure reads larger than that only where it is.

    >>> drop_figure(7.51), drop_figure(7.51, 7.55), drop_figure(0.023), drop_figure(None)
    ('7.6', '7.51', '0.03', '–')
    """
    if theta is None or theta > 1e15:  # so large a float has no tenths
        return figure(theta)
    written = asked or 1.0
    digits = next((n for n in range(1, MOST_DIGITS + 1) if math.isclose(round(written, n), written)), 2)
    digits = max(digits, digits_apart((theta, 0.0)))
    return figure(math.ceil(theta * 10**digits - 1e-6) / 10**digits, digits)


def asked_figure(theta: float | None) -> str:
    """Write a drop that somebody asked for, with up to four of its digits.

    >>> asked_figure(8.0), asked_figure(2.25), asked_figure(0.823765)
    ('8.0', '2.25', '0.83')
    """
    return drop_figure(theta, theta)


def digits_apart(*pairs: tuple[float | None, float | None]) -> int:
    """Count the digits behind the point that show which figures of a pair differ.

    There are one to four. Figures that four digits cannot tell apart count as equal, and read the same.

    >>> digits_apart((75.0, 70.0)), digits_apart((75.0, 74.98), (75.0, None)), digits_apart((75.04999, 75.05001))
    (1, 2, 2)
    """
    known = [(a, b, abs(a - b) >= 0.5 * 10.0**-MOST_DIGITS) for a, b in pairs if a is not None and b is not None]
    right = (n for n in range(1, MOST_DIGITS) if all((figure(a, n) != figure(b, n)) == apart for a, b, apart in known))
    return next(right, MOST_DIGITS)


def digits_of_means(before: float | None, now: float | None, gamma: float | None) -> int:
    """Count the digits behind the point that two means and gamma need.

    One is enough unless different figures would read the same, or a change would read as 0.

    >>> digits_of_means(75.0, 74.0, 72.5), digits_of_means(75.0, 74.96, 72.5), digits_of_means(75.0, 72.48, 72.5)
    (1, 2, 2)
    """
    change = None if before is None or now is None else now - before
    return digits_apart((before, now), (change, 0.0), (now, gamma))


def count_of(number: int, noun: str) -> str:
    """Write a count with its noun.

    >>> count_of(1, "sample"), count_of(1319, "sample")
    ('1 sample', '1,319 samples')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def compact(count: float) -> str:
    """Write a count of tokens, from a million on in millions.

    >>> compact(9485), compact(5_120_000), compact(48_300)
    ('9,485', '5.1 M', '48,300')
    """
    return f"{count / 1e6:,.1f} M" if count >= 1e6 else f"{count:,.0f}"


def duration(seconds: float) -> str:
    """Write a time in hours and minutes, or minutes and seconds.

    >>> duration(12.4), duration(700), duration(7_260)
    ('12 s', '11 min 40 s', '2 h 1 min')
    """
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minute} min"
    return f"{minute} min {second} s" if minute else f"{second} s"


def clock_text(seconds: float) -> str:
    """Write the time left as a clock does, with hours where there are some.

    >>> clock_text(75.2), clock_text(3700)
    ('1:15', '1:01:40')
    """
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def p_text(value: float | None) -> str:
    """Write a p-value with four digits, or as below 0.0001.

    >>> p_text(0.03123), p_text(1e-9), p_text(None)
    ('0.0312', '<0.0001', '-')
    """
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def p_relation(value: float) -> str:
    """Write a p-value with its relation, to follow the letter p.

    >>> p_relation(0.03123), p_relation(1e-9)
    ('= 0.0312', '< 0.0001')
    """
    text = p_text(value)
    return f"< {text[1:]}" if text.startswith("<") else f"= {text}"


def visible(text: str) -> str:
    """Write any text on one line, with control and direction characters replaced.

    >>> visible("a\\n b\\x1b[2J")
    'a b�[2J'
    """
    return _printable(" ".join(text.split()))


def message_line(text: str) -> str:
    """Write a line of a message, which may quote what anybody wrote.

    Control characters are replaced. Of a line over 1,500 characters the middle is left out.

    >>> message_line("key \x1b[2J: unknown"), len(message_line("a" * 10_000))
    ('key �[2J: unknown', 1503)
    """
    if len(text) > MESSAGE:
        text = f"{text[: MESSAGE * 2 // 3]} … {text[-MESSAGE // 3 :]}"  # what to do stands at the end
    return _printable(text)


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def fill_template(package: str, name: str, /, **values: Any) -> str:
    """Fill a template of a package, and escape nothing.

    Use it for scripts and configuration, never for HTML.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(name).render(values)
