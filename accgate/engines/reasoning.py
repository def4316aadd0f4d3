"""The reasoning in a reply, separated from its answer.

It covers the forms that models write and that vLLM's parsers know.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Marks of a thought: those of vLLM's reasoning parsers (vllm/reasoning, 2026), of SGLang's, and of Open WebUI's list.
TAG = r"(?:\w+[:_])?think(?:ing)?(?::\w+)?|thought|reason(?:ing)?"
PAIRS = (
    # DeepSeek, Qwen, GLM, Kimi, MiniMax, Nemotron, OLMo, Step, Seed, ERNIE, EXAONE
    (rf"<(?:{TAG})>", rf"</(?:{TAG})>"),
    (r"\[THINK\]", r"\[/THINK\]"),  # Mistral
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),  # Cohere
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|think:start\|>", r"<\|think:end\|>"),  # Solar
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    (r"<\|channel>thought\b", r"<channel\|>"),  # Gemma
    (r"<\|open\|>think<\|sep\|>", r"<\|close\|>think<\|sep\|>"),  # Kimi K3
    (r"◁think▷", r"◁/think▷"),
    (r"<unused94>(?:thought\b)?", r"<unused95>"),  # MedGemma
)
MARK = re.compile("|".join(f"(?P<o{i}>{start})|(?P<c{i}>{end})" for i, (start, end) in enumerate(PAIRS)), re.IGNORECASE)
OPENED = re.compile(rf"(?:{'|'.join(start for start, _ in PAIRS)})\s*\Z", re.IGNORECASE)
GRANITE = re.compile(
    r"\s*(?:Here's|Here is) my thought process:(?P<thought>.*?)(?:(?:Here's|Here is) my response:(?P<answer>.*)|\Z)",
    re.DOTALL,
)
APRIEL = re.compile(
    r"(?P<thought>.*?)\[BEGIN FINAL RESPONSE\](?P<answer>.*?)(?:\[END FINAL RESPONSE\].*)?\Z", re.DOTALL
)  # its prompt opens the thought
HARMONY = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>")  # gpt-oss
FINAL = re.compile(r"<\|channel\|>final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
ENDED = re.compile(r"<\|(?:return|end|call)\|>")
TOKEN = re.compile(r"(?:<\|start\|>assistant)?<\|channel\|>\w*|<\|\w+\|>")
HARMONY_BARE = re.compile(r"analysis(?P<thought>.*)assistantfinal(?P<answer>.*)\Z", re.DOTALL)  # its tokens left out
HARMONY_BARE_CUT = re.compile(r"analysis(?=[A-Z])")
PLAIN = re.compile(r"(?!analysis|\s*Here)[^<\[◁]*\Z")  # no form begins so, and each mark begins with one of these
WRAPPERS = (
    ("<response>", "</response>"),  # ERNIE
    ("<|START_RESPONSE|>", "<|END_RESPONSE|>"),
    ("<|START_TEXT|>", "<|END_TEXT|>"),
    ("<|open|>response<|sep|>", "<|close|>response<|sep|>"),
    ("<|begin_of_solution|>", "<|end_of_solution|>"),
)
QUOTES = "`'\"“”‘’«»"  # noqa: RUF001


@dataclass(frozen=True)
class Split:
    """A reply in two parts.

    `reasoning` is None where there is none, and `answer` is None where the reply ended within the thought. `unopened`
    means that only the closing mark is there, because the prompt opened the thought.
    """

    answer: str | None
    reasoning: str | None = None
    unopened: bool = False


def split_reasoning(text: str, *, cut: bool = False, opened: str = "") -> Split:
    r"""Split a reply into its answer and its thought.

    A thought begins a reply or a line of it. A mark within a line, in quotes or in a code block is prose. A closing
    mark that nothing opened ends a thought that the prompt began.

    Parameters
    ----------
    text : str
        The reply, without what a server gives as `reasoning_content`.
    cut : bool
        Whether it was cut off at max_tokens.
    opened : str
        The mark that ends the prompt, see `opened_by`; empty without one.

    Examples
    --------
    >>> split_reasoning("<think>2 + 3 is 5</think>\n\n5")
    Split(answer='5', reasoning='2 + 3 is 5', unopened=False)
    >>> split_reasoning("<think>2 + 3 is").answer is None
    True
    >>> split_reasoning("Write <think> first. 5").answer
    'Write <think> first. 5'
    """
    text = text if text.startswith(opened) else opened + text
    if PLAIN.match(text):  # a twentieth of the time that the other expressions take
        return Split(text)
    return _harmony(text) or _granite(text, cut) or _apriel(text) or _split_marks(text)


def opened_by(prompt: str) -> str:
    r"""Return the mark by which a prompt opens its reply's thought, or "".

    >>> opened_by("What is 2 + 3?<|assistant|><think>\n"), opened_by("What is 2 + 3?")
    ('<think>\n', '')
    """
    match = OPENED.search(prompt[-200:])
    return match[0] if match else ""


def _harmony(text: str) -> Split | None:
    if HARMONY.match(text):
        final = [*FINAL.finditer(text)]
        thought = TOKEN.sub("\n", text[: final[-1].start()] if final else text).strip()
        return Split(ENDED.split(text[final[-1].end() :])[0] if final else None, thought or None)
    if match := HARMONY_BARE.match(text):
        return Split(match["answer"], match["thought"].strip() or None)
    return Split(None, text) if HARMONY_BARE_CUT.match(text) else None


def _granite(text: str, cut: bool) -> Split | None:
    """Split a reply in the form of IBM Granite.

    Without its second heading it is prose, unless it was cut off.
    """
    match = GRANITE.match(text)
    if match is None or (match["answer"] is None and not cut):
        return None
    return Split(match["answer"], match["thought"].strip() or None)


def _apriel(text: str) -> Split | None:
    match = APRIEL.match(text)
    return None if match is None else Split(match["answer"].strip("\n"), match["thought"].strip() or None, True)


@dataclass(frozen=True)
class _Mark:
    """One mark of a thought.

    `pair` is its index in `PAIRS`.
    """

    pair: int
    opens: bool
    start: int
    end: int


def _split_marks(text: str) -> Split:
    """Split a reply whose thoughts stand between marks."""
    before, at = "", 0
    thoughts: list[str] = []
    unopened = False
    for start, inner, end in _thoughts(text):
        unopened = unopened or (not at and inner.start == 0 and bool(text[inner].strip()))
        thoughts.append(text[inner])
        if end is None:
            return Split(None, _join(thoughts), unopened)
        before += text[at:start] if text[at:start].strip() else ""
        at = end
    if not at:
        return Split(text)
    return Split(_unwrap(before + text[at:] if before else without_blank_lines(text[at:])), _join(thoughts), unopened)


def _thoughts(text: str) -> Iterator[tuple[int, slice, int | None]]:
    """Yield where each thought starts, its text, and where it ends.

    The end is None for a thought that nothing closes.
    """
    marks, at, prose = [*_marks(text)], 0, 0  # marks before `prose` are mentions
    for number, mark in enumerate(marks):
        if mark.start < max(at, prose):
            continue
        if not mark.opens:
            if at == 0 or _is_alone(text, mark):
                yield at, slice(at, mark.start), mark.end
                at = mark.end
            continue
        close = next((each for each in marks[number:] if not each.opens and each.pair == mark.pair), None)
        if not _opens_thought(text, at, mark, is_closed=close is not None):
            prose = close.end if close is not None and _are_mentioned(text, at, mark, close) else mark.end
            continue
        if close is None:
            yield mark.start, slice(mark.end, len(text)), None
            return
        yield mark.start, slice(mark.end, close.start), close.end
        at = close.end


def _marks(text: str) -> Iterator[_Mark]:
    """Yield the marks of a text, except those in quotes."""
    for match in MARK.finditer(text):
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        if not (before and after and before in QUOTES and after in QUOTES):
            assert match.lastgroup is not None
            yield _Mark(int(match.lastgroup[1:]), match.lastgroup[0] == "o", match.start(), match.end())


def _opens_thought(text: str, at: int, mark: _Mark, *, is_closed: bool) -> bool:
    """Tell whether an opening mark is more than a mention.

    `at` is where the thought before it ended.
    """
    if not text[at : mark.start].strip():
        return True
    line = text[max(at, text.rfind("\n", 0, mark.start) + 1) : mark.start]
    if line.strip() or text.count("```", at, mark.start) % 2:
        return False
    return is_closed or _is_alone(text, mark)


def _are_mentioned(text: str, at: int, mark: _Mark, close: _Mark) -> bool:
    """Tell whether two marks are only mentioned.

    They are if they stand on one line, or in one code block.
    """
    between, is_code = text[mark.end : close.start], text.count("```", at, mark.start) % 2 == 1
    return "\n" not in between or (is_code and "```" not in between)


def _is_alone(text: str, mark: _Mark) -> bool:
    """Tell whether a mark is alone on its line."""
    end = text.find("\n", mark.end)
    line = text[text.rfind("\n", 0, mark.start) + 1 : mark.start] + text[mark.end : len(text) if end < 0 else end]
    return not line.strip()


def without_blank_lines(text: str) -> str:
    """Remove blank lines before a text.

    The first line keeps its indentation, for it may be code.
    """
    return re.sub(r"\A(?:[^\S\n]*\n)+", "", text)


def _unwrap(text: str) -> str:
    for start, end in WRAPPERS:
        if text.lstrip().startswith(start):
            return text.lstrip().removeprefix(start).partition(end)[0].strip("\n")
    return text


def _join(thoughts: list[str]) -> str | None:
    return "\n\n".join(each.strip() for each in thoughts if each.strip()) or None
