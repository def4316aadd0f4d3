"""The Python code in a reply.

Code is in fences or marks of any kind, or in prose without one. A block ends at the first closing fence behind which
its code is Python, since a docstring may hold fences too. Of several blocks the one counts that defines a name which
the program needs, as EvalPlus keeps the definitions that the entry point needs (evalplus/sanitize.py). Imports and
helpers that this block takes from earlier ones go before it.
"""

import ast
import builtins
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from accgate.sandbox.assertions import parse_python

PROGRAMS = 2  # raise it where other code is read from a reply than before; part of a task's fingerprint
MARK = "```"
UNLABELLED = frozenset({"", "code", "text"})
MARKDOWN = frozenset({"markdown", "md"})
# Names of Python behind a fence.
_PYTHON = re.compile(r"i?python[23]?(?:-repl)?|py[23]?|pycon|tool_code")
# A line with a fence, which may stand in a quote or a list, and its language.
_FENCE = re.compile(
    r"(?P<lead>[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t][ \t>]*)*)(?P<mark>`{3,}|~{3,})"
    r"[\s{.]*(?P<language>[\w+#-]*)[^`]*"
)
# A fence behind words.
_BEHIND = re.compile(r"^([^`\n]*[\w)\]}\"'!?,:;])[ \t]*(```(?:py|python)?)[ \t]*$", re.MULTILINE)
# Lines with which code begins in prose, with which a function begins, and a function on one line of prose.
_START = re.compile(r"^[ \t]*(?:(?:async[ ]+def|def|class|import|from)\b|@\w)", re.MULTILINE)
_DEF = re.compile(r"^[ \t]*(?:async[ ]+)?def[ ]+\w+[ ]*\(", re.MULTILINE)
_INLINE = re.compile(r"(?:async[ ]+)?def[ ]+\w+[ ]*\(.*")
_WORD = re.compile(r"\w+")
# Marks around code at an edge of a line: those of MBPP's prompt, of Code Llama's, and of chat templates.
_TOKENS = r"(?:<\|[a-z]\w*\|>(?:assistant\b)?|</s>)+"
_MARK = re.compile(rf"(?m)^[ \t]*(?:{_TOKENS}|<s>|\[/?(?:BEGIN|DONE|END|PYTHON|CODE)\][ \t]*$)|{_TOKENS}[ \t]*$")
_TAG_NAMES = "pre|code|python|py|script|source|program|answer|solution"
_TAG = re.compile(rf"</?(?:{_TAG_NAMES})\b[^<>\n]*>(?:\s*</?(?:{_TAG_NAMES})\b[^<>\n]*>)*", re.IGNORECASE)
_TILDES = re.compile(r"^[ \t>]*~~~+\w*[ \t]*$", re.MULTILINE)  # Python too, with a name or number behind it
_LABEL = re.compile(r"\A\s*(?:python3?|py)[ \t]*\n", re.IGNORECASE)  # of a fence that the prompt opened
_PROMPT = re.compile(r"^[ \t]*(?:>>>|\.\.\.)(?: (.*)|)$", re.MULTILINE)
_INVISIBLE = {0xA0: " ", 0xFEFF: "", 0x200B: "", 0x2060: ""}  # a byte-order mark among them
_LONGEST = 100_000  # characters that are parsed as one: Python 3.10's parser overflows its stack on some 800,000


class Block(NamedTuple):
    """A piece of code in a reply.

    It is `closed` where its end is in the reply, and `labelled` where a mark says that it is Python.
    """

    code: str
    closed: bool = True
    labelled: bool = False


@dataclass
class Patience:
    """Characters that may still be parsed for one reply.

    Some replies are made so that every beginning of them is nearly Python, and parsing them would take for ever.
    """

    left: int = 400_000


def python_in(reply: str, program: str = "", which: Literal["first", "last"] = "last") -> str | None:
    """Find the Python code in a reply.

    A reply without code gives None. Blocks that define a name in `program` come first, then those that are labelled as
    Python and define anything, then all others; `which` picks the first or last of these. Invisible characters are left
    out where the code is no Python with them.

    >>> python_in("Run it:\\n```bash\\npython a.py\\n```\\nwith\\n```Python3\\ndef f():\\n    return 1\\n```")
    'def f():\\n    return 1\\n'
    >>> python_in("def f():\\n    return 1\\n```\\nThe prompt opened that fence."), python_in("I cannot do that.")
    ('def f():\\n    return 1\\n', None)
    """
    reply = _LABEL.sub("", reply.replace("\r\n", "\n").replace("\r", "\n"))
    needed = set(_WORD.findall(program))
    code, visible = _code_in(reply, needed, which), reply.translate(_INVISIBLE)
    if visible != reply and (code is None or _tree(code) is None):
        other = _code_in(visible, needed, which)
        return code if other is None or (code is not None and _tree(other) is None) else other
    return code


def _code_in(text: str, needed: set[str], which: Literal["first", "last"]) -> str | None:
    """Return the code of the first reading that gives a name the program needs.

    Where no reading does, it is that of the first reading with code.
    """
    if _is_code(text) and not _MARK.search(text):
        return text
    text = _BEHIND.sub(r"\1\n\2", _MARK.sub("\n" if MARK in text else f"\n{MARK}\n", text))
    answer = None
    for blocks in _readings(text):
        codes = [_repaired(block) for block in blocks]
        names = [defined_names(code) for code in codes]
        needing = [place for place, each in enumerate(names) if each & needed]
        if not codes or (answer is not None and not needing):
            continue
        places = needing or range(len(codes))
        places = [place for place in places if blocks[place].labelled] or places
        places = [place for place in places if names[place]] or places
        answer = _with_helpers(codes, names, places[0 if which == "first" else -1])
        if needing:
            break
    return answer


def _readings(text: str) -> Iterator[list[Block]]:
    """Yield the blocks of a text, the surest reading first.

    A reading goes by fences, by HTML's tags, or by neither.
    """
    yield _opened_blocks(text)
    yield fenced_blocks(text)
    if (tagged := _TAG.sub(f"\n{MARK}\n", text)) != text and MARK not in text:
        blocks = _opened_blocks(tagged) or fenced_blocks(tagged)
        yield [block for block in blocks if _is_code(html.unescape(block.code))]
    yield [Block(code)] if (code := unfenced_code(text)).strip() else []


def _opened_blocks(text: str) -> list[Block]:
    """Return the blocks of a text whose first fence the prompt opened.

    A text that does not begin with code has none.
    """
    fence = next((match["mark"] for match in map(_FENCE.fullmatch, text.split("\n")) if match), None)
    blocks = fenced_blocks(f"{fence}python\n{text}") if fence else []
    is_opened = blocks and blocks[0].closed and text.startswith(blocks[0].code.rstrip()) and _is_code(blocks[0].code)
    return blocks if is_opened else []


def fenced_blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a text that can be Python, in their order.

    Blocks of other languages are left out.
    """
    lines, place, patience = text.split("\n"), 0, Patience()
    blocks: list[Block] = []
    while place < len(lines):
        fence, place = _FENCE.fullmatch(lines[place]), place + 1
        if fence is None:
            continue
        language = fence["language"].lower()
        labelled = _PYTHON.fullmatch(language) is not None
        can_be = labelled or language in UNLABELLED
        allowed = patience if can_be else Patience(0)
        code, closed, place = _to_its_end(lines, place, fence["lead"], fence["mark"], allowed)
        if language in MARKDOWN:
            blocks += fenced_blocks(code)
        elif can_be and code.strip():
            blocks.append(Block(code, closed, labelled))
    return blocks


def _to_its_end(lines: Sequence[str], start: int, lead: str, mark: str, patience: Patience) -> tuple[str, bool, int]:
    """Return a block's code, whether it is closed, and the line behind it."""
    first = None
    for place in range(start, len(lines)):
        line = lines[place].strip(" \t>")
        if not line.startswith(mark) or line.strip(mark[0]):
            continue
        code = _without_lead(lines[start:place], lead)
        first = first or (code, True, place + 1)
        if _tree(code) is not None or _is_body(code):
            return code, True, place + 1
        patience.left -= len(code)
        if patience.left < 0:
            break
    return first or (_without_lead(lines[start:], lead), False, len(lines))


def _without_lead(lines: Sequence[str], lead: str) -> str:
    """Strip the quote's marks and the fence's indentation from a block's lines."""
    if depth := lead.count(">"):
        quote = re.compile(rf"(?:[ \t]*>[ ]?){{0,{min(depth, 9)}}}")
        lines = [quote.sub("", line, count=1) for line in lines]
        lead = lead.rpartition(">")[2].removeprefix(" ")
    width = min([len(lead), *(len(line) - len(line.lstrip(" \t")) for line in lines if line.strip())])
    return "".join(f"{line[width:]}\n" for line in lines)


def _repaired(block: Block) -> str:
    """Repair the code of a block.

    HTML's escapes are resolved where that gives Python. Of code that was cut off only the beginning that is Python
    stays.
    """
    plain = html.unescape(block.code)
    code = plain if _tree(block.code) is None and _is_code(plain) else block.code
    return code if block.closed else parsable(code) or code


def _prompted(text: str) -> str:
    """Return what was typed in an interactive session of Python.

    Next to definitions there is none: their docstrings may hold such lines.
    """
    return "" if _START.search(text) else "\n".join(match[1] or "" for match in _PROMPT.finditer(text))


def unfenced_code(text: str) -> str:
    """Return the code of a text without a fence.

    A text that is all Python is returned whole, else its part from a definition or import on, else nothing. What
    follows `def` counts even where it is no Python: it is wrong code, and not a reply without code.
    """
    if _is_code(text):
        return text
    if _is_code(session := _prompted(text)):
        return session
    pieces, end, patience = [], 0, Patience()
    for match in _START.finditer(text):
        if match.start() >= end and patience.left > 0:
            rest = text[match.start() : match.start() + _LONGEST]
            patience.left -= len(rest)
            code = parsable(_dedent(rest), patience)
            pieces.append(code)
            end = match.start() + len("\n".join(rest.split("\n")[: code.count("\n") + 1]))
    if any(defined_names(piece) for piece in pieces):
        return "\n".join(piece for piece in pieces if piece)
    for match in _INLINE.finditer(text):
        for code in (match[0], match[0].split("`")[0]):
            if _tree(code) is not None:
                return code
    if (definition := _DEF.search(text)) is not None:
        return _dedent(text[definition.start() :])
    return ""


def _is_code(text: str) -> bool:
    """Tell whether a text is Python, or the rest of a function.

    Words that happen to parse as Python are no code.
    """
    tree = None if _TILDES.search(text) else _tree(text)
    return _is_body(text) if tree is None else not all(map(_is_prose, tree.body))


def _is_prose(node: ast.stmt) -> bool:
    """Tell whether a statement does nothing, as words that parse as Python do.

    Examples are `Done`, `Yes, it is` and `Answer: add`.
    """
    is_idle = isinstance(node, ast.Expr) or (isinstance(node, ast.AnnAssign) and node.value is None)
    return is_idle and not any(isinstance(each, (ast.Call, ast.Await, ast.Yield)) for each in ast.walk(node))


def _is_body(text: str) -> bool:
    """Tell whether a text is the rest of a function, indented."""
    tree = _tree(f"def _():\n{text}") if text.startswith((" ", "\t", "\n")) else None
    return tree is not None and not all(map(_is_prose, tree.body[0].body))  # type: ignore[attr-defined]


def _dedent(text: str) -> str:
    """Strip the first line's indentation from a text.

    A line with less indentation ends the text.
    """
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    lines = []
    for line in text.split("\n"):
        if line.strip() and not line.startswith(indent):
            break
        lines.append(line.removeprefix(indent))
    return "\n".join(lines)


def parsable(code: str, patience: Patience | None = None) -> str:
    """Return the longest beginning of a text that is Python, in whole lines.

    Where no line is, it is empty.

    >>> parsable("def f():\\n    return 1\\nThat is it.")
    'def f():\\n    return 1'
    """
    lines, patience = code.split("\n"), patience or Patience()
    while patience.left > 0:
        text = "\n".join(lines)
        patience.left -= len(text) + 1
        try:
            tree = _parse(text)
        except SyntaxError as error:
            # the fault is in or before the line that is named, and may be the end of what began far above
            lines = lines[: min(max((error.lineno or len(lines)) - 1, 0), len(lines) - 1)]
        else:
            return text if tree is not None and text.strip() else ""
    return ""


def _parse(code: str) -> ast.Module | None:
    """Parse a piece of code.

    Long code gives None, and so does code that the parser refuses otherwise than by a SyntaxError.
    """
    return parse_python(code) if len(code) <= _LONGEST else None


def _tree(code: str) -> ast.Module | None:
    try:
        return _parse(code)
    except SyntaxError:
        return None


def defined_names(code: str) -> set[str]:
    """Name what a piece of code defines at its top.

    These are functions, classes and values that are assigned.
    """
    tree = _tree(code)
    if tree is None:
        return set(re.findall(r"^(?:async[ ]+def|def|class)[ ]+(\w+)", code, re.MULTILINE))
    named = {node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return named | {target.id for target in targets if isinstance(target, ast.Name)}


def _with_helpers(codes: Sequence[str], names: Sequence[set[str]], place: int) -> str:
    """Put earlier blocks that a block needs before it.

    Only blocks that define or import and do nothing else are taken.
    """
    code, own = codes[place], set(names[place])
    for earlier in range(place - 1, -1, -1):
        tree = _tree(codes[earlier])
        if tree is None or not all(isinstance(node, _DEFINITIONS) for node in tree.body):
            continue
        offered = names[earlier] | _imported_names(tree)
        if not names[earlier] & own and offered & _missing(code):
            code, own = f"{codes[earlier].rstrip()}\n\n{code}", own | names[earlier]
    return code


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign)


def _imported_names(tree: ast.Module) -> set[str]:
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    return {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}


def _missing(code: str) -> set[str]:
    """Return names that a piece of code reads and does not bind anywhere."""
    tree = _tree(code)
    if tree is None:
        return set()
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    return read - bound - defined_names(code) - _imported_names(tree) - set(dir(builtins))
