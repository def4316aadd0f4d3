"""Forms in which texts are compared.

One form is SQuAD's. The other is for labels, and keeps every sign that tells labels apart.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache

Form = Callable[[str], str]

FORMS = 2  # raise it where texts are compared in another form than before; part of a task's fingerprint
FORMED = (  # metrics whose scores that changes
    "classification", "normalized_match", "token_precision", "token_recall", "token_f1", "f_a", "f_beta", "em_h",
    "squad_v2", "triviaqa", "drop", "multiple_choice", "mmmu",
)  # fmt: skip

ARTICLES = re.compile(r"\b(a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

_UNSEEN = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe0e\ufe0f\ufeff]")
_ONE_SIGN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
        **dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"),
        "\u2264": "<=", "\u2a7d": "<=", "\u2265": ">=", "\u2a7e": ">=", "\u0131": "i",
    }
)  # fmt: skip
_SIGN_APART = r"(?<=^[<>=+\-~$€£¥#]) (?=\d)|(?<=^[<>]=) (?=\d)|(?<=\d) (?=%)"
_PICTURE = r"[\u2600-\u27bf\U0001f000-\U0001faff]"
# As in "<= 5" and "yes 👍".
_BESIDE = re.compile(rf"{_SIGN_APART}|^{_PICTURE}+ (?!{_PICTURE})|(?<!{_PICTURE}) {_PICTURE}+$")
_WRAPPED = re.compile(r"(\*{1,3}|_{1,3}|~~|`{1,3}|\$|['\"])(.+)\1", re.DOTALL)
_BEGUN = re.compile(r"[*_~]{2,}|(?:[-*+\u2022\u2192]|[-=]>|#{1,6}) (?=[^\W\d_])|`+")  # Markdown whose end is elsewhere
_MOST, _LONGEST = 32, 1000  # marks that are taken off, of a text of so many characters
_LOW_QUOTES = "\u201a\u201e\u2e42\u301d\u301f"  # which are brackets to Unicode
_KEPT = "#%&*/@\\'\u00a7\u00b6\u2020\u2021\u2030\u2031\u2032\u2033\u2034\u066a"  # signs that end and quote nothing


def squad_form(text: str) -> str:
    """Write a text as SQuAD's evaluation compares it.

    Case, ASCII punctuation, English articles and repeated spaces go.

    >>> squad_form("The Eiffel  tower.")
    'eiffel tower'
    """
    return " ".join(ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


@lru_cache(maxsize=4096)
def label_form(text: str) -> str:
    """Strip case, quotes, brackets, emphasis and sentence marks around a label.

    Signs that tell labels apart stay, as in `-1`, `C++`, `.NET`, `5*`, `<=50K` and `A+`; what consists of marks alone
    stays whole. Letters of another width, with separate accents, and Turkish i's of any kind have one form.

    >>> [label_form(text) for text in ("**Positive**.", "(C++)", "“Nein!”", "5*", "?")]
    ['positive', 'c++', 'nein', '5*', '?']
    """
    plain = unicodedata.normalize("NFKC", _UNSEEN.sub("", text)).casefold().replace("i\u0307", "i")
    bare = plain = " ".join(unicodedata.normalize("NFKC", plain).translate(_ONE_SIGN).split())
    for _ in range(_MOST if len(plain) <= _LONGEST else 0):
        before, bare = bare, _BESIDE.sub("", _peeled(bare))
        if bare == before:
            break
    return bare or plain


def _peeled(text: str) -> str:
    """Strip the outermost marks of a text.

    These are a pair of marks, Markdown that is not closed, or marks at one end.
    """
    if wrapped := _WRAPPED.fullmatch(text):
        return wrapped[2].strip()
    if begun := _BEGUN.match(text):
        return text[begun.end() :].lstrip()
    if text.endswith(("**", "__", "~~", "`")):
        return text.rstrip("*_~`").rstrip()
    first, last = text[:1], text[-1:]
    opens, closes = _kind(first) == "Ps", _kind(last) == "Pe"
    if opens and closes and ord(last) - ord(first) in (1, 2):
        return text[1:-1].strip()
    kinds = [*map(_kind, text)] if opens or closes else []
    more = kinds.count("Ps") - kinds.count("Pe")
    if _is_mark(last) or (closes and more < 0):
        text = text.rstrip(last).rstrip()
    elif (_is_mark(first) and (first not in ".!?" or text[1:2] == " ")) or (opens and more > 0):
        text = text.lstrip(first).lstrip()  # but not of .NET and !important
    return text


def _kind(character: str) -> str:
    return unicodedata.category(character or " ")


def _is_mark(character: str) -> bool:
    """Tell whether a character quotes, or ends or divides sentences.

    Marks of every script count.
    """
    kind = _kind(character)
    return kind in ("Pi", "Pf") or (kind == "Po" and character not in _KEPT) or (character or " ") in _LOW_QUOTES


def filled(form: Form, text: str, *, as_published: bool = False) -> str:
    """Return the form of a text, or else its form as a label.

    The label replaces an empty form. A text that says something is then never compared as an empty answer: `A` is
    compared as `a`. As published scripts have it, nothing stays nothing.

    >>> filled(squad_form, "The end."), filled(squad_form, "A"), filled(squad_form, "A", as_published=True)
    ('end', 'a', '')
    """
    return form(text) or ("" if as_published else label_form(text))


def one_spelling(names: Iterable[str]) -> Callable[[str], str]:
    """Return a function that spells a label as the first of `names` does.

    Other texts stay as they are.

    >>> one_spelling(["No", "Yes"])(" yes."), one_spelling(["No", "Yes"])("maybe")
    ('Yes', 'maybe')
    """
    spelled = {label_form(name): name for name in reversed([*names])}
    return lambda text: spelled.get(label_form(text), text)
