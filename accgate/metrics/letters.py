# ruff: noqa: RUF001 letters and words of other scripts
"""The label of the option that a reply chooses.

A reply becomes plain text. Each label in it is a statement of one kind, by the words before and after it: the reply's
answer, called right, alone on a line, at a line's beginning, or only named. One rule then picks: the last stated answer,
else the only label of the surest kind. Words are those of some 25 languages.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from accgate.metrics.equality import latex_boxes

READING = 2  # raise it where a reply's label is read otherwise than before; part of a task's fingerprint

_WIDE = 100  # characters before a label in which the words stand that belong to it
_MOST = 200  # labels at a reply's beginning, and at its end, that are looked at
_KINDS = ("stated", "alone", "text", "right", "other", "begins", "bracketed", "named")  # the surest first
_LAST = {"stated", "other"}  # of several different ones the last counts

_FORMS = {start + place: chr(65 + place) for start in (0x1F150, 0x1F170) for place in range(26)}
_FORMS[0x2212] = "-"
_FORMS |= {start + place: str(place + 1) for start in (0x2776, 0x2780, 0x278A) for place in range(10)}
_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\u20e3\ufe0e\ufe0f\ufeff]")
_MARKUP = (
    (r"\\(boxed|fbox)\s*([^\W_])(?![^\W_])", r"\\\1{\2}"),
    (r"<\|(?!.*_of_box)[^|<>\n]{1,40}\|>|</?s>", "\n"),  # special tokens
    (r"<\w{0,20}(?:answer|choice)\w{0,20}>", " Answer: "),
    (r"</\w{0,20}(?:answer|choice)\w{0,20}>", "\n"),
    (r"</?(?:b|i|u|p|em|strong|span|div|br|think|final|result|response|output)\s?/?>", ""),
    (r"\\(?:text|math)[a-z]*\b|\\(?:bf|rm|it|sf|tt|bm|bfseries|boldsymbol|underline|emph|displaystyle|large|Large)\b", ""),
    (r"\*+|`+|\$+|\\[()\[\],;!]|(?<!\w)_+|_+(?![\w{])|~~", ""),
    (r"(?m)^[^\S\n]*(?:[#>]+|[-•●▪])[^\S\n]+", ""),
    (r"[^\S\n]+", " "),
    (r" ?\n\s*", "\n"),
)  # fmt: skip


def _words(spaced: str, others: str = r"(?!)") -> str:
    """Join the words of scripts that put spaces between words, which match whole, and those of others.

    All are in the form that `_plain` brings a reply to.
    """
    return unicodedata.normalize("NFKC", rf"(?<![^\W_])(?:{spaced})(?![^\W_])|{others}")


_ANSWER = _words(
    r"answers?|ans|solution|antwort\w*|antwoord\w*|respuesta|resposta|gabarito|risposta|réponse|odpowied\w+|odpověď|svar\w*|cevab\w*|cevap\w*"
    r"|yanıt\w*|jawaban\w*|jibu|đáp án|trả lời|răspuns\w*|válasz\w*|vastaus|ответ\w*|відповідь|απάντηση",
    r"답변|정답|답|答案|答え|答复|回答|解答|正解|正答|答|उत्तर|जवाब|উত্তর|คำตอบ|సమాధానం|జవాబు|பதில்|الإجابة|الاجابة|إجابة|الجواب|جواب|پاسخ|תשובה",
)
_RIGHT = _words(
    r"correct\w*|right|true|best|valid|most (?:likely|accurate|appropriate)|richtig\w*|korrekt\w*|zutreffend\w*|juiste?|goede?|verdader[ao]"
    r"|cert[ao]|corret[ao]|corrett[ao]|giust[ao]|esatt[ao]|bonne|juste|exacte?|vraie?|poprawn\w+|prawidłow\w+|správn\w+|верн\w+|правильн\w+"
    r"|doğru\w*|benar|tepat|sahihi|đúng|σωστ\w+",
    r"正确|正確|对(?!于)|對(?!於)|正し(?!く)い?|適切|正解|正答|맞(?!지)\w*|옳(?!지)\w*|올바\w+|정답|सही|সঠিক|ถูก\S*|సరైన\S*|صحيح\w*|الصحيح\w*|صواب|נכונה",
)
_LINK = _words(
    r"is|was|are|would be|should be|must be|has to be|will be|be|ist|lautet|wäre|es|está|sería|est|serait|é|seria|è|sarebbe|jest|este|är|adalah|ialah"
    r"|là|ni|ndiyo|ndio|είναι|является|это",
    r"是|为|為|应为|应该是|应选|选择|选|選|は|が|이|가|은|는|हैं?|है|হলো?|হবে|คือ|เป็น|هي|هو|هى",
)
_OPTION = _words(
    r"options?|choices?|letter|alternative|statement|opción|opciones|opção|alternativa|opzione|lettera|letra|lettre|buchstabe|variante?"
    r"|optie|opcja|pilihan|opsi|huruf|chaguo|herufi|phương án|câu|lựa chọn|seçenek|seçeneği|şıkkı|şık|şıkkıdır|вариант\w*|буква|пункт",
    r"选项|選項|選択肢|项|項|번|보기|선택지|विकल्प|বিকল্প|ข้อ|ตัวเลือก|ఎంపిక|الخيار|خيار|الحرف|حرف|گزینه",
)
_CHOOSE = _words(
    r"choose|chose|select(?:ed)?|pick(?:ed)?|go(?:ing)? with|opt for|settle on|conclude|leav(?:es|ing)(?: us)?(?: with)?(?: only)?|it remains"
    r"|c['’]est|say|(?:it|this|that)(?:['’]s| is| must be| has to be| would be)|w[äa]hle|nehme|elijo|escojo|selecciono|marco|escolho|choisis|scelgo|wybieram"
    r"|kies|выбираю|memilih|pilih|chọn|seçiyorum|nachagua|ninachagua",
    r"เลือก|ตอบ|选择?|選擇?|أختار|اختار",
)
_SO = _words(
    r"so|thus|hence|therefore|consequently|finally|ultimately|overall|conclusion|summary|verdict|result|also|daher|deshalb|somit|donc|ainsi"
    r"|por (?:lo )?tanto|así que|portanto|logo|então|quindi|dunque|поэтому|значит|итак|следовательно|jadi|maka|vậy|do đó|kwa hiyo|hivyo"
    r"|dolayısıyla|więc|zatem|dus",
    r"所以|因此|故|综上|よって|したがって|따라서|그러므로|इसलिए|अतः|তাই|অতএব|ดังนั้น|కాబట్టి|لذلك|إذن|لذا",
)
_NOT = _words(
    r"not|never|neither|nor|none of|cannot be|except(?: for)?|other than|unlike|(?:rul(?:e[sd]?|ing)|leav(?:e|es|ing)) out|rather than|instead of"
    r"|(?:eliminat|exclud|discard|reject)(?:e|es|ed|ing|s)?|anything but|\w+n['’]t(?: be)?|nicht|kein\w*|no es|non è|não é|pas|bukan|не|nie|niet"
    r"|si|sio|không(?: phải)?",
    r"ليس\w?|ไม่ใช่|ไม่|并非|並非|而非|不(?:会|會)?(?:是|选|選)|不",
)
_NOT_AFTER = (
    r"\s?(?:では(?:なく|ない|ありません)|じゃな[いく]|[이가은는]?\s?아(?:니[라고며]?|닌|닙니다)|नहीं|নয়|değil|కాదు|不是)"
)
_WRONG = _words(
    r"not|no|wrong|false|incorrect\w*|inaccurate|eliminated|excluded|ruled out|implausible|nicht|falsch\w*|unzutreffend|onjuist|fout|niet|pas"
    r"|faux|fausse|inexacte?|falso|falsa|errad[ao]|errat[ao]|sbagliat[ao]|scorrett[ao]|błędn\w+|niepoprawn\w+|nieprawidłow\w+|nie|неверн\w+"
    r"|неправильн\w+|ошибочн\w+|не|yanlış\w*|salah|bukan|tidak|si|sio|makosa|sai|không",
    r"错|錯|误|誤り|誤|間違|不|違|틀\w+|오답|잘못|गलत|ভুল|ผิด|ไม่|తప్పు|خطأ|خاطئ\w*|غير|ليس\w*",
)
_AND = (
    r"(?:or|and|nor|und|oder|et|ou|e|y|o|of|en|и|или|và|hoặc|ve|veya|dan|atau|na|au|lub|albo|या|और|এবং|বা|و|أو)(?![^\W_])"
    r"|[/&、或和与與と]|및|또는|와|과"
)
_GOES_ON = (
    r"(?:or|because|since|as|for|so|which|due|given|and|but|is|was|by|therefore|thus|here|seems|appears|looks|must|rather|not|instead|weil|porque|car|perché|bo|karena|vì)\b"
)
_ARTICLE = r"(?:\s*(?:\b(?:the|an?|la|le|el|die|der|das|het|de|os?|indeed|likely|only|simply|most|also|now|then|yang|thus|therefore|\w+ly)\b|l['’]?|[,:]))"
_OPENED, _CLOSED = " ([{<\"'“‘「『【《«„", r"[)\]}>\"'”’」』】》»]"
_END = rf"{_CLOSED}*[.。।!]*\s*(?:\n|\Z)"
_LEAD = re.compile(  # words before a label that is named as an answer, and not after a noun: "vitamin C"
    r"(?i)an?|adalah|am|and|answer|are|be|because|but|choice|choose|conclude|das|der|die|either|es|est|for|guess|hence|i"
    r"|believe|indeed|is|it's|la|lautet|le|letra|letter|likely|ma|mean|namely|nor|number|o|only|option|or|pick|say|select|so"
    r"|mais|mas|sino|sondern|that's|the|then|therefore|think|thus|to|was|with|y|\w+ly"
)
_LINKS = {"is", "was", "are", "be", "it's", "that's", "indeed", "therefore", "thus"}  # before a word of small letters
_ASIDE = r"(?:(?P<if>\b(?:if|whether|suppose|assuming|were)\b[^.\n;]{0,40}?)|(?P<other>(?:wrong|incorrect|worst|false|(?:next|second)[ -]best|least likely)\s+))?"
_CHOSEN = r"(?P<doubt>\b(?:might|may|could|people|students|some|tempted to)\s+)?"


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_SIGN = r":|=>?|-|–|—|→|⇒"
_OF = rf"(?:{_LINK}|{_SIGN}|\n){_ARTICLE}{{0,3}}"  # between what is told and the label
_TOLD = rf"(?:{_ANSWER})(?!s?\s*(?:choices|options)\b)(?:_\w+)?[\"'”»]?"
_NOUN = _compile(rf"(?:(?:{_OPTION}|{_ANSWER}|\bto\b)\s*(?:\bnumber\b|#)?|\bnumber\b|#)\s*\Z")
_BEFORE = tuple(
    (_compile(rf"{pattern}\s*\Z"), kind)
    for pattern, kind in (
        (rf"(?:{_NOT})(?:\s*\b(?:both|either|the|die|der|la|le|el|a))?", "not"),
        (rf"{_ASIDE}{_TOLD}(?:[^.!?\n:;]{{0,60}}?\s*(?:{_LINK}|{_SIGN})|\s*\n)(?:\s*{_OF}){{0,3}}{_ARTICLE}{{0,3}}", "stated"),
        (rf"{_ASIDE}(?:{_RIGHT})(?:\s*(?:{_OPTION}|one))?(?:\s*\w+)?\s*{_OF}", "stated"),
        (rf"(?:\b(?:the|most)\b[^.!?\n:;]{{0,30}}|\bonly\s+)(?:{_OPTION}|one\b)(?<!s)[^.!?\n:;]{{0,60}}?\s*(?:{_LINK}){_ARTICLE}{{0,3}}", "stated"),
        (rf"(?:{_OPTION})(?<!s)(?:_\w+)?[\"']?\s*[:=](?!\s*\n)", "stated"),
        (rf"{_ASIDE}{_CHOSEN}(?:{_CHOOSE}){_ARTICLE}{{0,3}}", "stated"),
        (rf"(?:{_SO})(?:[^.!?\n;]{{0,50}}?{_OF})?{_ARTICLE}{{0,2}}", "so"),
    )
)
_HEAD = rf"{_CLOSED}*\s*(?:(?:{_OPTION}){_CLOSED}*)?\s*"
_IS = rf"(?:(?:{_LINK}|['’]\w+)\s*){{0,2}}(?:\w+ly\b\s*)?"
_THE = r"(?:\b(?:the|an?|la|le|el|die|der|das|het|de|os?|most|also|yang|indeed)\b\s*)"
_AFTER = tuple(
    (_compile(pattern), kind)
    for pattern, kind in (
        (rf"{_CLOSED}*\s*\?", "not"),
        (rf"{_HEAD}(?:{_IS}(?:seems?|looks?)?\s*{_THE}?(?:{_WRONG})|n['’]est pas|can(?:not|['’]t)\b|(?:is|are|was)n['’]t)", "wrong"),
        (rf"{_HEAD}[:,–—-]\s*(?:{_WRONG})(?=\s*(?:[.,;:!(]|\n|\Z))", "wrong"),
        (rf"{_HEAD}(?:{_IS}{_THE}{{0,2}}(?:{_RIGHT})?\s*的?\s*(?:{_ANSWER})|{_IS}{_THE}{{1,2}}(?:{_RIGHT})\s*(?:{_OPTION}|one\b))", "stated"),
        (rf"{_HEAD}(?:を選|[을를]\s?(?:선택|고르|택)|it is\b|(?:है|is)(?={_END}|।))", "stated"),
        (rf"{_HEAD}(?:[—–-]\s*)?{_IS}{_THE}{{0,2}}(?:{_RIGHT})(?!\S*\s*(?:değil|नहीं|নয়|では|않|కాదు))", "right"),
    )
)
_DENIED = re.compile(rf"{_CLOSED}?{_NOT_AFTER}")
_DOUBT = _compile(r"\b(?:could|might|may)\b")
_FORMULA = re.compile(r"[)}]*\s*(?:[=^+*×·∩∪≤≥∈/]|\\(?!\n)\w)|_")
_MARK = re.compile(rf"{_CLOSED}*(?:\s*[).:,;\]}}–—-]|\s+\()|{_CLOSED}*\s*(?:\n|\Z)|\s+{_GOES_ON}")
_REASON = re.compile(rf"{_CLOSED}*(?:\s*[).:,;]*\s*(?:(?i:because|since)\b|\n|\Z)|\s+{_GOES_ON})")
_LISTED = re.compile(rf"{_CLOSED}*\s*[).:]\s+\S")  # one of several in a row: "A) copper, B) iron"
_NAMED = re.compile(r"\s*(?:[).,:;!?。、।\]}/&]|(?:or|and)\b|\n|\Z)")
_JOIN = _compile(rf"{_CLOSED}*\s*(?:(?:,\s*)?(?:{_AND})|(?P<comma>,)|(?<=[)\]])\s*(?=[(\[]))\s*(?:{_OPTION})?\s*[(\[]*")
_NEXT = _compile(r"\n\W*(?:question|q|problem|human|user|input)\s*\d*\s*:")  # a base model goes on to ask itself
_TEXT_AFTER = _compile(rf"(?:(?:{_TOLD}|\bit)[^.!?\n:;]{{0,40}}?\s*(?:{_LINK}|{_SIGN})|\bit['’]s\b)")


class _Labels(NamedTuple):
    """The labels of options: as they may be written, each with its own form, and what finds them."""

    own: dict[str, str]
    folded: dict[str, str]
    mention: re.Pattern[str]
    alone: re.Pattern[str]

    def of(self, text: str) -> str:
        """The label that a text of the pattern stands for."""
        return self.own.get(text) or self.folded[text.casefold()]


def by_letter(reply: str, options: Sequence[tuple[str, str]] = ()) -> str | None:
    """The label of the option that a reply chooses; None where it chooses none, or several alike.

    The last answer that the reply states counts, in a box, after "the answer is" or as in "B is the answer". Without
    one, the only label that is alone on the first or last line counts, then an option's text, the only label that is
    called right, that begins a line, or that is named. `A` and `I` are words too: before a small letter they are labels
    only where the sentence goes on, as in "A because". A label that is denied ("not A", "A is wrong") counts for
    nothing, the latter unless it is all there is: some questions ask what is wrong.

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
    plain = _with_boxes(_plain(reply), labels, texts)
    head = _NEXT.split(plain, maxsplit=1)[0]
    for text in (head, plain) if head.strip() else (plain,):
        text = _with_prefix(text.strip(), labels, texts)
        for run in reversed(_runs(text, labels)):
            if denied := _DENIED.match(text, run[-1].end()):
                text = text[: run[0].start()] + text[denied.end() :]
        whole, runs = [*_of_lines(text, labels, texts)], _runs(text, labels)
        for wrong in (False, True):
            if (label := _pick([*whole, *_of_labels(text, runs, labels, texts, wrong=wrong)])) is not None:
                return label
    return None


def _pick(statements: Sequence[tuple[str, str | None]]) -> str | None:
    """The label of the surest kind of statement: the last one stated, else the only one."""
    conflict = False
    for kind in _KINDS:
        said = [label for each, label in statements if each == kind]
        if said and (len({*said}) == 1 or kind in _LAST):
            return said[-1]
        conflict = conflict or bool(said)
        if conflict and kind not in ("alone", "text", "right"):
            return None
    return None


def _characters(text: str) -> str:
    """The text in one form of each character, without those that nobody sees."""
    return _HIDDEN.sub("", unicodedata.normalize("NFKC", text.translate(_FORMS)))


def _plain(reply: str) -> str:
    """The reply without the marks of Markdown, HTML and LaTeX; a box stays."""
    text = _characters(latex_boxes(reply))
    for pattern, plain in _MARKUP:
        text = re.sub(pattern, plain, text)
    return text.strip()


def _bare(text: str) -> str:
    """An option's text as it is compared: no case, article, or marks around it."""
    return re.sub(r"\A(?:an?|the) ", "", text.strip(" \n.:,\"'“”").casefold())


@cache
def _labels(labels: tuple[str, ...]) -> _Labels:
    own: dict[str, str] = {}
    for label in labels:
        bare = _characters(label).strip(" ().:[]")
        own[_characters(label).strip() if not bare or bare in own else bare] = label
    folded = {form.casefold(): label for form, label in own.items()}
    forms = sorted({*own, *folded, *map(str.upper, folded)}, key=len, reverse=True)
    latin = "A-Za-z0-9_\u00c0-\u024f\u0370-\u052f\u1e00-\u1eff"
    marks = "\u0300-\u036f\u064b-\u065f\u0900-\u0963\u0966-\u0e7f"  # which are part of a word, and no \w
    follows = "입니다|이다|이에요|예요|번|가|이|은|는|를|을|です|だ|が|は|を|项|項|选项|選項|是|对|對|错|錯|正确|正確|为|為"
    ends = r"(?!['’](?!d[ıiuü]r|t[ıiuü]r|y[ıi]\b)\w|-\w|\+)"
    no_word = rf"(?!\s+(?!{_GOES_ON})[a-zß-ÿ])"
    letters = [form for form in forms if re.fullmatch(r"[A-Za-z]", form)]
    # The letter comes before what must not stand before it, since a search for a letter is many times as fast.
    found = [rf"[{''.join(letters)}](?<![{latin}\\+°^·].)(?<![\w^}}]\{{.)(?![{latin}]){ends}(?:(?<![AIaeiouy])|{no_word})"] if letters else []
    for form in forms:
        escaped = re.escape(form) if len(form) == 1 else f"(?i:{re.escape(form)})"
        if form[-1].isdigit():
            found.append(rf"(?<![{latin}.,/$€£+\\-]){escaped}(?![{latin}]|[.,:/]\d|\s?[%°]){ends}{no_word}")
        elif form not in letters and re.match(r"[\x00-\u024f]", form[-1]):
            found.append(rf"(?<![{latin}\\+°^·]){escaped}(?![{latin}]){ends}")
        elif form not in letters:
            found.append(rf"(?:(?<![\w{marks}])|(?<=[是为為选選は가은는])){escaped}(?:(?={follows})|(?![\w{marks}]))")
    alone = rf"[{re.escape(_OPENED)}]*(?:(?:{_OPTION})\s*:?\s*[(\[]*)?(?P<label>{'|'.join(map(re.escape, forms))})[\s.:,;!。।]*{_CLOSED}*(?:번|项|項)?[\s.:,;!。।]*"
    return _Labels(own, folded, re.compile("|".join(found)), _compile(alone))


def _with_boxes(text: str, labels: _Labels, texts: dict[str, str]) -> str:
    """The text with boxes that hold a label or an option's text as answers, and no other boxes."""
    parts, place = [], 0
    for match in re.finditer(r"\\(?:boxed|fbox)\s*\{", text):
        if match.start() < place:
            continue
        parts.append(text[place : match.start()])
        depth, end = 1, len(text)
        for brace in re.finditer(r"[{}]", text[match.end() :]):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                end = match.end() + brace.start()
                break
        content = re.sub(r"[{}]", "", text[match.end() : end])
        first = labels.mention.search(content)
        is_label = labels.alone.fullmatch(content) or (
            first and not content[: first.start()].strip(_OPENED) and _LISTED.match(content, first.end())
        )
        parts.append(f" Answer: {content}\n" if is_label or _bare(content) in texts.values() else " ")
        place = end + 1
    return "".join(parts) + text[place:]


def _with_prefix(text: str, labels: _Labels, texts: dict[str, str]) -> str:
    """The text with "Answer:" for an "A:" before another label, or before another option's text."""
    match = re.search(r"(?m)^\W{0,3}A\s*:\s*", text)
    if match is None or re.search(r"\n\W{0,3}B\s*:", text):
        return text
    rest = text[match.end() :]
    label = labels.mention.match(rest.lstrip(_OPENED))
    told = label is not None and _MARK.match(rest.lstrip(_OPENED), label.end())
    lines = {_bare(own): label for label, own in texts.items()}
    if told or lines.get(_bare(rest.partition("\n")[0]), "A") != "A":
        return f"{text[: match.start()]}\nAnswer: {rest}"
    return text


def _of_lines(text: str, labels: _Labels, texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The labels alone on the first and the last line, and those whose text is the whole reply or told as its answer."""
    lines = text.split("\n")
    for line in dict.fromkeys((lines[0], lines[-1])):
        if match := labels.alone.fullmatch(line):
            yield "alone", labels.of(match["label"])
    told = _TEXT_AFTER.split(text)[-1].partition("\n")[0]
    wanted = {_bare(each) for each in (text, told, told.partition(". ")[0])}
    yield from (("text", label) for label, own in texts.items() if own in wanted)


def _of_labels(
    text: str, runs: Sequence[Sequence[re.Match[str]]], labels: _Labels, texts: dict[str, str], *, wrong: bool
) -> Iterator[tuple[str, str | None]]:
    """Each label of the text with the kind of statement it is in; None for several that are joined.

    A label that is called wrong is none, unless `wrong`.
    """
    done = 0
    for run in runs:
        start, end = run[0].start(), run[-1].end()
        named = {labels.of(match[0]) for match in run}
        label = named.pop() if len(named) == 1 else None
        kind = _kind(text, start, end, done, run[0][0] in labels.own, texts.get(label or "", ""), wrong=wrong)
        if kind is not None:
            yield kind, label
        done = end


def _runs(text: str, labels: _Labels) -> list[list[re.Match[str]]]:
    """The labels of a text, those joined by "or", "and" or commas together."""
    runs: list[list[re.Match[str]]] = []
    for match in labels.mention.finditer(text):
        joined = _JOIN.fullmatch(text, runs[-1][-1].end(), match.start()) if runs else None
        if joined and not (joined["comma"] and re.match(r"\s+[a-z]", text[match.end() : match.end() + 9])):
            runs[-1].append(match)
        else:
            runs.append([match])
    return runs if len(runs) <= 2 * _MOST else runs[:_MOST] + runs[-_MOST:]


def _kind(text: str, start: int, end: int, done: int, is_own: bool, own_text: str, *, wrong: bool) -> str | None:
    """The kind of statement that a label is in; None where it is none."""
    left = text[max(done, start - _WIDE) : start].rstrip(_OPENED)
    noun = _NOUN.search(left)
    bare = left if noun is None else left[: noun.start()].rstrip(_OPENED)
    has_text = bool(own_text) and _bare(text[end : end + len(own_text) + 9].lstrip(" )]}.:,=–—-")).startswith(own_text)
    kinds = [kind for pattern, kind in _AFTER if pattern.match(text, end)]
    if "not" in kinds or ("wrong" in kinds and not wrong) or (not has_text and _FORMULA.match(text, end)):
        return None
    for pattern, kind in _BEFORE:
        if (match := pattern.search(left) or (pattern.search(bare) if noun else None)) is None:
            continue
        groups = match.groupdict()
        if kind == "not":
            return None
        if groups.get("if") or groups.get("doubt") or _DOUBT.search(match[0]):
            break
        if groups.get("other"):
            return "other"
        if kind == "stated" or has_text or re.match(_END, text[end : end + 9]):
            return "stated"
    if kinds and "wrong" not in kinds:
        return kinds[0]
    if noun and re.search(rf"(?:{_RIGHT})\s*\Z", bare, re.IGNORECASE):
        return "stated"
    if re.search(r"(?:\d|[+*/^=×·])[\s{}~]*\Z", left):  # a unit, or part of a formula
        return None
    is_small = not is_own and end - start == 1  # "(a)" is often a part of the question
    if (not bare or bare[-1] == "\n") and (has_text or (_REASON if is_small else _MARK).match(text, end)):
        return "begins"
    if bare and bare[-1] in ".,;!:" and text[start - 1] == " " and _LISTED.match(text, end) and not is_small:
        return "begins"
    before = re.search(r"\b([A-Za-z'’]+)\s+\Z", text[max(0, start - 30) : start].rstrip("(["))
    lead = "is" if before is None else before[1].replace("’", "'").casefold()
    if text[start - 1 : start] in ("(", "[") and text[end : end + 1] in (")", "]") and not is_small:
        return "bracketed"
    leads = _LEAD.fullmatch(lead) if is_own else lead in _LINKS and end - start > 1 and before
    return "named" if leads and _NAMED.match(text, end) else None
