"""Python blocks run, and what they print is what the comment behind each print says."""

from __future__ import annotations

import ast
import contextlib
import io
import re

from tests.docs.blocks import Block


def check_python(block: Block) -> None:
    """Run a block; every print needs a comment with what it prints, or `about N` for a rounded figure."""
    got = printed(block.text)
    for line, said in expectations(block.text).items():
        assert said, f"{block}: say in a comment what line {line} of the block prints"
        about = re.match(r"about ([\d,]+)", said)
        told = f"{float(got[line]):.0f}" if about else got[line]
        assert told == (about[1].replace(",", "") if about else said), f"{block}, line {line} of the block"


def expectations(text: str) -> dict[int, str]:
    """The comment behind each print, or alone on the line after it, by the print's last line."""
    lines = [*text.splitlines(), ""]
    prints = [
        node.end_lineno or 0
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    return {
        line: lines[line - 1].partition("  # ")[2] or (lines[line][2:] if lines[line].startswith("# ") else "")
        for line in prints
    }


def printed(text: str) -> dict[int, str]:
    """What each print of a block printed, by the print's last line."""
    got: dict[int, str] = {}

    def recorded(line: int, *values: object) -> None:
        stream = io.StringIO()
        print(*values, file=stream)
        got[line] = stream.getvalue().strip()

    class Recording(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            self.generic_visit(node)
            if isinstance(node.func, ast.Name) and node.func.id == "print":
                node.args.insert(0, ast.Constant(node.end_lineno))
                node.func.id = "_print"
            return node

    tree = ast.fix_missing_locations(Recording().visit(ast.parse(text)))
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(tree, "block", "exec"), {"_print": recorded, "__name__": "block"})
    return got
