"""The Python code in a reply: in fences of any kind, or in prose without one.

Blocks are read as CommonMark (markdown-it-py). Of several the one counts that defines a name which the program needs,
as EvalPlus keeps the definitions that the entry point needs (evalplus/sanitize.py); what a block needs of the others
before it, imports and helpers, goes before it.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from accgate.inputs.python import parse_python

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

PYTHON = frozenset({"", "python", "python2", "python3", "py", "py2", "py3", "ipython", "ipython3", "code", "text"})
MARKDOWN = frozenset({"markdown", "md"})
_LANGUAGE = re.compile(r"[\s{.]*([\w+#-]*)")
_START = re.compile(r"^[ \t]*(?:(?:async[ ]+def|def|class|import|from)\b|@\w)", re.MULTILINE)
_DEF = re.compile(r"^[ \t]*(?:async[ ]+)?def[ ]+\w+[ ]*\(", re.MULTILINE)
_INLINE = re.compile(r"(?:async[ ]+)?def[ ]+\w+[ ]*\(.*")
_WORD = re.compile(r"\w+")
_LONGEST = 100_000  # characters that are parsed as one: Python 3.10's parser overflows its stack on some 800,000


class Block(NamedTuple):
    """A piece of code; `closed` where its end is in the reply."""

    code: str
    closed: bool = True


@dataclass
class Patience:
    """Characters that may still be parsed for one reply: some are made so that every beginning nearly is Python."""

    left: int = 400_000


def python_in(reply: str, program: str = "", which: Literal["first", "last"] = "last") -> str | None:
    """The Python code in a reply; None where there is none.

    The first or last block of those that define a name which `program` has, else of those that define anything, else
    of all.

    >>> python_in("Run it:\\n```bash\\npython a.py\\n```\\nwith\\n```Python3\\ndef f():\\n    return 1\\n```")
    'def f():\\n    return 1\\n'
    >>> python_in("I cannot do that.") is None
    True
    """
    reply = reply.replace("\r\n", "\n").replace("\r", "\n")
    blocks = fenced_blocks(reply)
    if not blocks:
        return unfenced_code(reply) or None
    codes = [block.code if block.closed else parsable(block.code) or block.code for block in blocks]
    names = [defined_names(code) for code in codes]
    needed = set(_WORD.findall(program))
    places = [place for place, each in enumerate(names) if each & needed]
    places = places or [place for place, each in enumerate(names) if each] or list(range(len(codes)))
    place = places[0 if which == "first" else -1]
    return _with_helpers(codes, names, place) or None


def fenced_blocks(text: str) -> list[Block]:
    """The fenced blocks of a text that can be Python, in their order; those with a language of their own are left out.

    Where a list's item ends within its fence, as CommonMark has it and models do not, fences are read without lists.
    """
    readings = [
        [block for block in _blocks(text, rules) if block.code.strip()]
        for rules in (("fence", "list", "blockquote", "paragraph"), ("fence", "paragraph"))
    ]
    return next((blocks for blocks in readings if any(defined_names(block.code) for block in blocks)), readings[0])


def _blocks(text: str, rules: tuple[str, ...]) -> Iterator[Block]:
    lines = text.split("\n")
    for token in _markdown(rules).parse(text):
        if token.type != "fence" or token.map is None:
            continue
        match = _LANGUAGE.match(token.info)
        language = match[1].lower() if match else ""
        if language in MARKDOWN:
            yield from _blocks(token.content, rules)
        elif language in PYTHON:
            last = lines[token.map[1] - 1] if token.map[1] <= len(lines) else ""
            yield Block(token.content, token.map[1] - token.map[0] > 1 and last.strip(" \t>").startswith(token.markup))


@cache
def _markdown(rules: tuple[str, ...]) -> MarkdownIt:
    """A reader of blocks alone. Without the rule for indented code a fence may be indented as it likes."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("zero")
    reader.core.ruler.enableOnly(["normalize", "block"])
    reader.block.ruler.enableOnly(list(rules))
    return reader


def unfenced_code(text: str) -> str:
    """The code of a text without a fence: all of it where it is Python, else from a definition or import on; or empty.

    What follows `def` and is no Python is given as it is: it is wrong code, not a reply without any.
    """
    if not text.strip():
        return ""
    tree = _tree(text)
    if tree is not None and not _is_prose(tree):
        return text
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
    return text if _is_body(text) else ""


def _is_prose(tree: ast.Module) -> bool:
    """Whether a text that parses as Python is more likely words: `Done`, `42`."""
    return all(isinstance(node, ast.Expr) and isinstance(node.value, (ast.Name, ast.Constant)) for node in tree.body)


def _is_body(text: str) -> bool:
    """Whether a text is the rest of a function, indented."""
    return text.startswith((" ", "\t", "\n")) and _tree(f"def _():\n{text}") is not None


def _dedent(text: str) -> str:
    """The text without its first line's indentation, up to a line that has less."""
    indent = text[: len(text) - len(text.lstrip(" \t"))]
    lines = []
    for line in text.split("\n"):
        if line.strip() and not line.startswith(indent):
            break
        lines.append(line.removeprefix(indent))
    return "\n".join(lines)


def parsable(code: str, patience: Patience | None = None) -> str:
    """The longest beginning of a text, in whole lines, that is Python; empty where none is.

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
    """The tree of a piece of code; None for a long one, and what the parser refuses otherwise than by a SyntaxError."""
    return parse_python(code) if len(code) <= _LONGEST else None


def _tree(code: str) -> ast.Module | None:
    try:
        return _parse(code)
    except SyntaxError:
        return None


def defined_names(code: str) -> set[str]:
    """Names of the functions and classes at the top of a piece of code, and of the values that are assigned there."""
    tree = _tree(code)
    if tree is None:
        return set(re.findall(r"^(?:async[ ]+def|def|class)[ ]+(\w+)", code, re.MULTILINE))
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return names


def _with_helpers(codes: Sequence[str], names: Sequence[set[str]], place: int) -> str:
    """The block at a place, behind those before it that have what it needs and only define or import."""
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
    """Names that a piece of code reads and does not bind anywhere."""
    tree = _tree(code)
    if tree is None:
        return set()
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
    return read - bound - defined_names(code) - _imported_names(tree) - set(dir(builtins))
