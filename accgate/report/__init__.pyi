from .bisection import print_bisection, print_chances
from .cause import blame_markdown, blame_sentences, print_blame
from .comment import About, Failure, render_comment
from .costs import COST_HEADINGS, cost_note, cost_rows
from .flips import flips_of_result, shared_head
from .html import embed, html_report, policy_hash
from .markdown import LINKED, cell, code, interrupted_report, render_markdown
from .plans import gate_sentence, print_annotation, print_costs, print_noise, print_overall, print_plan
from .progress import ProgressBar
from .repetition import print_asked_again, print_sample
from .result_file import differences, forget_result, junit_xml, read_result, result_schema, write_result
from .statement import statement_of
from .story import SIGNS, Story, headline_of, story_of
from .terminal import (
    COLOURS,
    PlainConsole,
    print_ab,
    print_explanation,
    print_groups,
    print_paragraph,
    print_result,
    print_table,
)
from .words import explanation_of, find_check

__all__ = [
    "COLOURS",
    "COST_HEADINGS",
    "LINKED",
    "SIGNS",
    "About",
    "Failure",
    "PlainConsole",
    "ProgressBar",
    "Story",
    "blame_markdown",
    "blame_sentences",
    "cell",
    "code",
    "cost_note",
    "cost_rows",
    "differences",
    "embed",
    "explanation_of",
    "find_check",
    "flips_of_result",
    "forget_result",
    "gate_sentence",
    "headline_of",
    "html_report",
    "interrupted_report",
    "junit_xml",
    "policy_hash",
    "print_ab",
    "print_annotation",
    "print_asked_again",
    "print_bisection",
    "print_blame",
    "print_chances",
    "print_costs",
    "print_explanation",
    "print_groups",
    "print_noise",
    "print_overall",
    "print_paragraph",
    "print_plan",
    "print_result",
    "print_sample",
    "print_table",
    "read_result",
    "render_comment",
    "render_markdown",
    "result_schema",
    "shared_head",
    "statement_of",
    "story_of",
    "write_result",
]
