# ruff: noqa: RUF001 letters and words of other scripts
"""The label of the option that a reply chooses.

A reply becomes plain text. Each label in it is in a statement of one kind, by the words before and after it: stated as
the answer, alone on a line, called right, at the beginning of a line, or only named. One rule then picks: the last
answer that is stated, else the only label of the surest kind.
"""

import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from accgate.inputs.toml import tomllib
from accgate.metrics.equality import BOX, end_of_box, latex_boxes


def _words(table: dict[str, Any]) -> str:
    """Join words as alternatives.

    Words of scripts with spaces match only as whole words. Characters have the form that `_characters` gives a reply.
    """
    spaced, others = ("".join(table[key].splitlines()) for key in ("spaced", "others"))
    return unicodedata.normalize("NFKC", rf"(?:(?<![^\W_])(?:{spaced})(?![^\W_])|{others})")


_tables = tomllib.loads(files("accgate.metrics").joinpath("letter_words.toml").read_text("utf-8"))
ANSWER, RIGHT, LINK, OPTION, CHOOSE, SO, NOT, WRONG = (  # words around a label, in 25 languages
    _words(_tables[name]) for name in ("ANSWER", "RIGHT", "LINK", "OPTION", "CHOOSE", "SO", "NOT", "WRONG")
)

_KINDS = ("stated", "alone", "text", "right", "other", "begins", "bracketed", "named")  # the surest first
_LAST = {"stated", "other"}  # of several different ones the last counts
_WIDE = 100  # characters before and after a label in which the words stand that belong to it
_MOST = 100  # labels at the beginning of a reply, and at its end, that are looked at
_TAIL = 10_000  # characters at the end of a reply in which an option's text is looked for

# Circled and squared letters and digits, which NFKC leaves as they are.
_FORMS = {0x2212: "-", **{start + place: chr(65 + place) for start in (0x1F150, 0x1F170) for place in range(26)}}
_FORMS |= {start + place: str(place + 1) for start in (0x2776, 0x2780, 0x278A) for place in range(10)}
# Marks of width, direction and joining, which nobody sees.
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\u20e3\ufe0e\ufe0f\ufeff]")
_MARKUP = (  # in this order: a later pattern relies on the earlier
    (r"\\(boxed|fbox)\s*([^\W_])(?![^\W_])", r"\\\1{\2}"),
    (r"<\|[^|<>\n]{1,40}\|>|</?s>|(?i:[<\[]/\w{0,20}(?:answer|choice)\w{0,20}[>\]])", "\n"),
    (r"(?i:[<\[]\w{0,20}(?:answer|choice)\w{0,20}[>\]])", " Answer: "),
    (r"</?(?:[biup]|em|strong|span|div|br|think|final|result|response|output)\s?/?>", ""),
    (r"\\(?:(?:text|math)[a-z]*|bf|rm|it|sf|tt|bm|bfseries|boldsymbol|underline|emph|displaystyle|[lL]arge)\b", ""),
    (r"\\[,;! ]", " "),
    (r"\*+|`+|\$+|\\[()\[\]]|(?<!\w)_{1,9}|_{1,9}(?![\w{])|~~", ""),
    (r"(?m)^[^\S\n]*(?:[#>]+|[-•●▪])[^\S\n]+", ""),
    (r"[^\S\n]+", " "),
    (r" ?\n\s*", "\n"),
)
_NOT_AFTER = (
    r"\s?(?:では(?:なく|ない|ありません)|じゃな[いく]|[이가은는]?\s?아(?:니[라고며]?|닌|닙니다)|नहीं|নয়|değil|కాదు|不是)"
)
_AND = (
    r"(?:or|and|nor|und|oder|et|ou|e|y|o|of|en|и|или|và|hoặc|ve|veya|dan|atau|na|au|lub|albo|या|और|এবং|বা|و|أو)"
    r"(?![^\W_])|[/&、或和与與と]|및|또는|와|과"
)
_GOES_ON = (
    r"(?:or|because|since|as|for|so|which|due|given|and|but|is|was|by|therefore|thus|here|seems|appears|looks|must"
    r"|rather|not|instead|weil|porque|car|perché|bo|karena|vì)\b"
)
_ARTICLE = r"\b(?:the|an?|la|le|el|die|der|das|het|de|os?|most|also|yang|indeed)\b"
_FILLER = rf"(?:\s*(?:{_ARTICLE}|\b(?:likely|only|simply|now|then|thus|therefore|\w+ly)\b|\bl['’]?|[,:]))"
_OPENED, _CLOSED = " ([{<\"'“‘「『【《«„", r"[)\]}>\"'”’」』】》»]"
_AFTER_LABEL = " )]}.:,=–—-"  # what stands between a label and its option's text
_LEAD = re.compile(  # words before a label that is named as an answer, and not after a noun: "vitamin C"
    r"an?|adalah|am|and|answer|are|be|because|believe|but|choice|choose|conclude|das|der|die|either|es|est|for|guess"
    r"|hence|i|indeed|is|it's|la|lautet|le|letra|letter|likely|ma|mean|namely|nor|number|o|only|maybe|option|or|perhaps|pick|say"
    r"|select|so|mais|mas|sino|sondern|that's|the|then|therefore|think|thus|to|was|with|y|\w+ly"
)
_LINKS = {"is", "was", "are", "be", "it's", "that's", "indeed", "therefore", "thus"}  # before a word of small letters


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_OTHER = r"(?P<other>(?:wrong|incorrect|worst|false|(?:next|second)[ -]best|least likely)\s+)"
_ASIDE = rf"(?:(?P<doubt>\b(?:if|whether|suppose|assuming|were)\b[^.\n;]{{0,40}}?)|{_OTHER})?"
_SOME = r"(?:(?:people|students|some|tempted to)\s+)"
_SIGN = r"(?:['’]s\b|:|=>?|-|–|—|→|⇒)"
_IS = rf"(?:{LINK}|{_SIGN}|\n){_FILLER}{{0,3}}"
_ANSWER = rf"{ANSWER}(?!s?\s*(?:choices|options)\b)(?:_\w{{1,20}})?[\"'”»]?"
_BETWEEN = r"[^.!?\n:;]{0,60}?\s*"
_ONE_OF = rf"(?:\b(?:the|most)\b{_BETWEEN}|\bonly\s+)(?:{OPTION}|one\b)(?<!s)"  # "the best option", "the only one"
_NOUN = _compile(rf"(?:(?:{OPTION}|{ANSWER}|\bto\b)\s*(?:\bnumber\b|#)?|\bnumber\b|#)\s*\Z")
_BEFORE = tuple(  # the words before a label, the last ones of them next to it
    (_compile(rf"{pattern}\s*\Z"), kind)
    for kind, pattern in (
        ("not", rf"{NOT}(?:\s*\b(?:both|either|the|die|der|la|le|el|a))?"),
        ("stated", rf"{_ASIDE}{_ANSWER}(?:{_BETWEEN}(?:{LINK}|{_SIGN})|\s*\n)(?:\s*{_IS}){{0,3}}{_FILLER}{{0,3}}"),
        ("stated", rf"{_ASIDE}{RIGHT}(?:\s*(?:{OPTION}|one))?(?:\s*\w+)?\s*{_IS}"),
        ("stated", rf"{RIGHT}\s*(?:{OPTION}|{ANSWER})"),
        ("stated", rf"{_ONE_OF}{_BETWEEN}{LINK}{_FILLER}{{0,3}}"),
        ("stated", rf"{OPTION}(?<!s)(?:_\w{{1,20}})?[\"']?\s*[:=](?!\s*\n)"),
        ("stated", rf"{_ASIDE}{_SOME}?{CHOOSE}(?!\s*\n){_FILLER}{{0,3}}"),
        ("so", rf"{SO}(?:[^.!?\n;]{{0,50}}?{_IS})?{_FILLER}{{0,2}}"),
    )
)  # fmt: skip
_DOUBT = _compile(rf"\b(?:could|might|may)\b|{_SOME}")
_END = rf"{_CLOSED}*[.。।!]*\s*(?:\n|\Z)"
_HEAD = rf"{_CLOSED}{{0,4}}\s*(?:{OPTION}{_CLOSED}{{0,4}})?\s*"
_HEAD_IS = rf"{_HEAD}(?:[—–-]\s*)?(?:(?:{LINK}|['’]\w+)\s*){{0,2}}(?:\w+ly\b\s*)?"
_THE = rf"(?:{_ARTICLE}\s*)"
_AFTER = tuple(
    (_compile(pattern), kind)
    for kind, pattern in (
        ("not", rf"{_CLOSED}*\s*\?"),
        ("wrong", rf"{_HEAD_IS}(?:seems?|looks?)?\s*{_THE}?{WRONG}"),
        ("wrong", rf"{_HEAD}(?:n['’]est pas|can(?:not|['’]t)\b|(?:is|are|was)n['’]t)"),
        ("wrong", rf"{_HEAD}[:,–—-]\s*{WRONG}(?=\s*(?:[.,;:!(]|\n|\Z))"),
        ("stated", rf"{_HEAD_IS}(?:{_THE}{{0,2}}{RIGHT}?\s*的?\s*{ANSWER}|{_THE}{{1,2}}{RIGHT}\s*(?:{OPTION}|one\b))"),
        ("stated", rf"{_HEAD}(?:を選|[을를]\s?(?:선택|고르|택)|it is\b)"),
        ("stated", rf"{_HEAD}(?:है|is|です|だ|입니다|['’]d[ıiuü]r|şıkkıdır)(?:(?={_END})|।)"),
        ("right", rf"{_HEAD}(?:[:,–—-]\s*(?:yes|{RIGHT})(?=\s*(?:[.,;:!(]|\n|\Z))|[✓✔✅])"),
        ("right", rf"{_HEAD_IS}{_THE}{{0,2}}{RIGHT}(?!\S*\s*(?:değil|नहीं|নয়|では|않|కాదు))"),
    )
)
# A denial after a label, as Japanese and Korean have it.
_DENIED = re.compile(rf"{_CLOSED}?{_NOT_AFTER}")
_FORMULA = re.compile(r"[)}]*\s*(?:[=^+*×·∩∪≤≥∈/]|\\(?!\n)\w)|_")
_MARK = re.compile(rf"{_CLOSED}*(?:\s*[).:,;\]}}–—-]|\s+\()|{_CLOSED}*\s*(?:\n|\Z)|\s+{_GOES_ON}")
_REASON = re.compile(rf"{_CLOSED}*(?:\s*[).:,;]*\s*(?:(?i:because|since)\b|\n|\Z)|\s+{_GOES_ON})")
_LISTED = re.compile(rf"{_CLOSED}*\s*[).:]\s+\S")  # one of several in a row: "A) copper, B) iron"
# Text after a label that is only named.
_NAMED = re.compile(r"\s*(?:[).,:;!?。、।\]}/&]|(?:or|and)\b|\n|\Z)")
_JOIN = _compile(rf"{_CLOSED}*\s*(?:(?:,\s*)?(?:{_AND})|(?P<comma>,)|(?<=[)\]])\s*(?=[(\[]))\s*{OPTION}?\s*[(\[]*")
_NEXT = _compile(r"\n\W*(?:question|q|problem|human|user|input)\s*\d*\s*:")  # a base model goes on to ask itself
_MATH = re.compile(  # between dollars that are no money, or in LaTeX's brackets; the last formula may be cut off
    r"\$\$.+?(?:\$\$|\Z)|\$(?=[^\s$])[^$\n]{0,2000}(?<=\S)\$(?!\d)|\$[^$\n]*\Z|\\\[.+?(?:\\\]|\Z)|\\\(.+?(?:\\\)|\Z)",
    re.DOTALL,
)
_SAYS = _compile(rf"\\(?:boxed|fbox)|{ANSWER}|{OPTION}|{SO}|(?:(?<![\\{{])\b[a-z]{{2,}}\s+){{3}}")
_TEXT_AFTER = _compile(rf"(?:{_ANSWER}|\bit){_BETWEEN}(?:{LINK}|{_SIGN})|\bit['’]s\b")


class _Labels(NamedTuple):
    """The labels of options, in every form in which a reply may write them.

    `own` maps the form in an option to its label, `folded` the same without case. The patterns find a label anywhere,
    and one that is all of a line.
    """

    own: dict[str, str]
    folded: dict[str, str]
    mention: re.Pattern[str]
    alone: re.Pattern[str]

    def of(self, text: str) -> str:
        """Return the label that a text of the pattern stands for."""
        return self.own.get(text) or self.folded[text.casefold()]


def by_letter(reply: str, options: Sequence[tuple[str, str]] = ()) -> str | None:
    """Return the label of the option that a reply chooses.

    None means that it chooses none, or several alike. The last answer that the reply states counts, in a box, after
    "the answer is" or as in "B is the answer". Without one, the only label that is alone on the first or last line
    counts, then an option's text, the only label that is called right, that begins a line, or that is named. `A` and
    `I` are words too: before a small letter they are labels only where the sentence goes on, as in "A because". A label
    that is denied ("not A") never counts. One that is called wrong ("A is wrong") counts only where no other does: some
    questions ask for what is wrong.

    Parameters
    ----------
    options : sequence of (label, text)
        Those that were offered; A to Z where there are none.

    Examples
    --------
    >>> by_letter("The answer is (C)."), by_letter("b. Because 4 > 3"), by_letter("I think it is D")
    ('C', 'B', 'D')
    >>> by_letter("A student said so."), by_letter("B or C"), by_letter("It is iron.", [("A", "tin"), ("B", "iron")])
    (None, None, 'B')
    >>> by_letter("It is not A."), by_letter("A is wrong, so B"), by_letter("It needs vitamin C.")
    (None, 'B', None)
    """
    options = [*options] or [(label, "") for label in string.ascii_uppercase]
    labels = _labels(tuple(label for label, _ in options))
    plain_texts = _plain("\0".join(text for _, text in options)).split("\0")
    texts = {label: _bare(text) for (label, _), text in zip(options, plain_texts, strict=True) if text}
    prose = _without_formulas(reply, labels)
    plain = _with_boxes(_plain(prose), labels, texts)
    head = _NEXT.split(plain, maxsplit=1)[0]
    for part in (head, plain) if head.strip() else (plain,):
        text = _without_denied(_with_prefix(part.strip(), labels, texts), labels)
        runs = _runs(text, labels)
        lines = [*_of_lines(text if prose == reply else _with_boxes(_plain(reply), labels, texts), labels, texts)]
        for wrong in (False, True):
            if (label := _pick([*lines, *_of_labels(text, runs, labels, texts, wrong=wrong)])) is not None:
                return label
    return None


def _pick(statements: Sequence[tuple[str, str | None]]) -> str | None:
    """Choose the label that a reply's statements give.

    This is the last that is stated as the answer, else the only one of the surest kind.
    """
    conflict = False
    for kind in _KINDS:
        labels = [label for each, label in statements if each == kind]
        if kind == "named" and labels:  # which counts where no other is so much as mentioned
            labels += [label for each, label in statements if each == "mentioned"]
        if labels and (len({*labels}) == 1 or kind in _LAST):
            return labels[-1]
        conflict = conflict or bool(labels)
        if conflict and kind not in ("alone", "text", "right"):
            return None
    return None


def _characters(text: str) -> str:
    """Write each character of a text in one form.

    Characters that nobody sees go.
    """
    return _HIDDEN.sub("", unicodedata.normalize("NFKC", text.translate(_FORMS)))


def _plain(reply: str) -> str:
    """Strip the marks of Markdown, HTML and LaTeX from a reply.

    LaTeX's boxes stay.
    """
    text = _characters(latex_boxes(reply))
    for pattern, plain in _MARKUP:
        text = re.sub(pattern, plain, text)
    return text.strip()


def _bare(text: str) -> str:
    """Write an option's text as it is compared.

    Case, a leading article and marks around it go.
    """
    return re.sub(r"\A(?:an?|the) ", "", text.strip(" \n.:,\"'“”").casefold())


@cache
def _labels(labels: tuple[str, ...]) -> _Labels:
    own: dict[str, str] = {}
    for label in labels:
        bare = _characters(label).strip(" ().:[]")
        own[_characters(label).strip() if not bare or bare in own else bare] = label
    folded = {form.casefold(): label for form, label in own.items()}
    forms = sorted({*own, *folded, *map(str.upper, folded)}, key=len, reverse=True)
    alphabets = "A-Za-z0-9_\u00c0-\u024f\u0370-\u052f\u1e00-\u1eff"
    marks = "\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0966-\u0e7f"  # which are part of a word, and no \w
    follows = (
        "입니다|이다|이에요|예요|번|가|이|은|는|를|을|です|だ|が|は|を|项|項|选项|選項|是|对|對|错|錯|正确|正確|为|為"
    )
    ends = r"(?!['’](?!d[ıiuü]r|t[ıiuü]r|y[ıi]\b)\w|-\w|\+)"
    no_word = rf"(?!\s+(?!{_GOES_ON})[a-zß-ÿ])"
    mention = []
    for form in forms:
        escaped = re.escape(form) if len(form) == 1 else f"(?i:{re.escape(form)})"
        if form[-1].isdigit():
            mention.append(rf"(?<![{alphabets}.,/$€£+\\-]){escaped}(?![{alphabets}]|[.,:/]\d|\s?[%°]){ends}{no_word}")
        elif re.match("[\x00-\u024f]", form[-1]) and not re.fullmatch("[A-Za-z]", form):
            mention.append(rf"(?<![{alphabets}\\+°^·]){escaped}(?![{alphabets}]){ends}")
        elif len(form) > 1 or not form.isascii():
            mention.append(rf"(?:(?<![\w{marks}])|(?<=[是为為选選は가은는])){escaped}(?:(?={follows})|(?![\w{marks}]))")
    if letters := "".join(form for form in forms if re.fullmatch("[A-Za-z]", form)):
        # The letter comes before what must not stand before it, since a search for a letter is many times as fast.
        inside = rf"(?<!\w['’].)(?<![{alphabets}\\+°^·].)(?<![\w^}}]\{{.)(?![{alphabets}]){ends}"
        mention.append(rf"[{letters}]{inside}(?:(?<![AIaeiouy])|{no_word})")
    around = r"[\s.:,;!。।]{0,9}"
    label = rf"(?P<label>{'|'.join(map(re.escape, forms))})"
    alone = (
        rf"[{re.escape(_OPENED)}]{{0,9}}(?:{OPTION}\s*:?\s*[(\[]*)?{label}{around}{_CLOSED}{{0,9}}(?:번|项|項)?{around}"
    )
    return _Labels(own, folded, re.compile("|".join(mention)), _compile(alone))


def _without_formulas(reply: str, labels: _Labels) -> str:
    """Remove all formulas from a reply but those that hold a label.

    In other formulas letters are variables and units.
    """

    def keep_label(match: re.Match[str]) -> str:
        content = _plain(match[0]).strip(_OPENED + "\n}")
        first = labels.mention.match(content)
        is_label = first is not None and re.match(r"[\s})\]]*(?:[.):,]|\Z)", content[first.end() :])
        is_money = match[0][-1:] != "$" and not re.search(r"[\\^_=]", match[0])
        return match[0] if is_label or is_money or _SAYS.search(match[0]) else " … "

    return _MATH.sub(keep_label, latex_boxes(reply))


def _with_boxes(text: str, labels: _Labels, texts: dict[str, str]) -> str:
    """Write boxes that hold a label or an option's text as answers.

    All other boxes are removed.
    """
    parts, place = [], 0
    for match in BOX.finditer(text):
        if match.start() < place:
            continue
        parts.append(text[place : match.start()])
        end = end_of_box(text, match.end() - 1) or len(text)
        content = re.sub(r"[{}]", "", text[match.end() : end])
        first = labels.mention.search(content)
        is_label = labels.alone.fullmatch(content) or (
            first and not content[: first.start()].strip(_OPENED) and _LISTED.match(content, first.end())
        )
        parts.append(f" Answer: {content}\n" if is_label or _bare(content) in texts.values() else " ")
        place = end + 1
    return "".join(parts) + text[place:]


def _with_prefix(text: str, labels: _Labels, texts: dict[str, str]) -> str:
    """Replace the abbreviated prefix of an answer by the whole word.

    An "A:" becomes "Answer:" if a label or another option's text follows.
    """
    match = re.search(r"(?m)^\W{0,3}A\s*:\s*", text)
    if match is None or re.search(r"\n\W{0,3}B\s*:", text):
        return text
    rest = text[match.end() :]
    label = labels.mention.match(rest.lstrip(_OPENED))
    is_answer = label is not None and _MARK.match(rest.lstrip(_OPENED), label.end())
    lines = {_bare(own): label for label, own in texts.items()}
    if is_answer or lines.get(_bare(rest.partition("\n")[0]), "A") != "A":
        return f"{text[: match.start()]}\nAnswer: {rest}"
    return text


def _without_denied(text: str, labels: _Labels) -> str:
    """Remove labels that the words after them deny, as in Japanese.

    The label after them is then the one that is stated.
    """
    for run in reversed(_runs(text, labels)):
        if denied := _DENIED.match(text, run[-1].end()):
            text = text[: run[0].start()] + text[denied.end() :]
    return text


def _of_lines(text: str, labels: _Labels, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield labels that stand alone on the first or last line.

    A label may have its option's text beside it. Options whose text is stated as the answer follow, with the kind
    "text".
    """
    lines = text.split("\n")
    for line in dict.fromkeys((lines[0], lines[-1])):
        if match := labels.alone.fullmatch(line):
            yield "alone", labels.of(match["label"])
        elif match := labels.mention.match(opened := line.lstrip(_OPENED)):
            label = labels.of(match[0])
            if _bare(opened[match.end() :].lstrip(_AFTER_LABEL)) == texts.get(label):
                yield "alone", label
    answer = _TEXT_AFTER.split(text[-_TAIL:])[-1].partition("\n")[0]
    stated = {_bare(each) for each in (text, answer, answer.partition(". ")[0])}
    yield from (("text", label) for label, own in texts.items() if own in stated)


def _of_labels(
    text: str, runs: Sequence[Sequence[re.Match[str]]], labels: _Labels, texts: dict[str, str], *, wrong: bool
) -> Iterator[tuple[str, str | None]]:
    """Yield each label of the text with the kind of statement it is in.

    Several labels that are joined, as in "A or B", give None. A label that is called wrong is left out, unless `wrong`.
    """
    end = 0
    for run in runs:
        before, start, end = text[end : run[0].start()][-_WIDE:], run[0].start(), run[-1].end()
        different = {labels.of(match[0]) for match in run}
        label = different.pop() if len(different) == 1 else None
        own_text = texts.get(label or "", "")
        rest = text[end : end + len(own_text) + 9].lstrip(_AFTER_LABEL)
        has_text = bool(own_text) and _bare(rest).startswith(own_text)
        after = [kind for pattern, kind in _AFTER if pattern.match(text, end, end + _WIDE)]
        if "not" in after or ("wrong" in after and not wrong) or (_FORMULA.match(text, end) and not has_text):
            continue
        kind = _kind_before(before, ends=has_text or bool(re.match(_END, text[end : end + 9])))
        if kind is None and after and "wrong" not in after:
            kind = after[0]
        kind = kind or _kind_of_place(text, start, end, before, is_own=run[0][0] in labels.own, has_text=has_text)
        if kind not in (None, "not"):
            yield kind, label


def _runs(text: str, labels: _Labels) -> list[list[re.Match[str]]]:
    """Group the labels of a text that "or", "and" or commas join."""
    runs: list[list[re.Match[str]]] = []
    for match in labels.mention.finditer(text):
        joined = _JOIN.fullmatch(text, runs[-1][-1].end(), match.start()) if runs else None
        if joined and not (joined["comma"] and re.match(r"\s+[a-z]", text[match.end() : match.end() + 9])):
            runs[-1].append(match)
        else:
            runs.append([match])
    return runs if len(runs) <= 2 * _MOST else runs[:_MOST] + runs[-_MOST:]


def _kind_before(before: str, *, ends: bool) -> str | None:
    """Return the kind of statement that the words before a label make.

    `ends` says whether a sentence ends after the label.
    """
    before = before.rstrip(_OPENED)
    befores = {before, _NOUN.sub("", before).rstrip(_OPENED)}
    for pattern, kind in _BEFORE:
        match = next(filter(None, map(pattern.search, befores)), None)
        if match is None or (kind == "so" and not ends):
            continue
        groups = match.groupdict()
        if kind == "not":
            return kind
        if groups.get("doubt") or _DOUBT.search(match[0]):
            return None
        return "other" if groups.get("other") else "stated"
    return None


def _kind_of_place(text: str, start: int, end: int, before: str, *, is_own: bool, has_text: bool) -> str | None:
    """Return the kind of statement that a label makes by its place.

    It may begin a line, stand in brackets, or only be named.
    """
    bare = _NOUN.sub("", before.rstrip(_OPENED)).rstrip(_OPENED)
    is_small = not is_own and end - start == 1  # "(a)" is often a part of the question
    if re.search(r"(?:\d|[+*/^=×·])[\s{}~]*\Z", before):  # a unit, or part of a formula
        return None
    begins = has_text or (_REASON if is_small else _MARK).match(text, end)
    listed = bare[-1:] in (*".,;!:",) and text[start - 1] == " " and not is_small and _LISTED.match(text, end)
    if listed or (begins and bare[-1:] in ("", "\n")):
        return "begins"
    if text[max(0, start - 1) : start] in ("(", "[") and text[end : end + 1] in (")", "]") and not is_small:
        return "bracketed"
    match = re.search(r"\b([A-Za-z'’]+)\s+\Z", text[max(0, start - 30) : start].rstrip("(["))
    lead = "" if match is None else match[1].replace("’", "'").casefold()
    leads = not lead or _LEAD.fullmatch(lead) if is_own else lead in _LINKS and end - start > 1
    if not _NAMED.match(text, end):
        return None
    return "named" if leads else "mentioned" if is_own else None
