from . import live
from .bisection import print_bisection, print_chances
from .cause import CauseView, blame_markdown, cause_view, print_blame
from .cause_file import CauseFile, read_cause, write_cause
from .comment import About, Failure, render_comment
from .ctrf import ctrf_json
from .ending import Places, guard_ending, print_result
from .flips import flips_of_result, shared_head
from .forest import forest_files
from .html import Sides, blame_html, embed, html_report, page_template, policy_hash, sides_of
from .markdown import LINKED, cell, code, interrupted_report, render_markdown
from .plans import gate_sentence, print_annotation, print_costs, print_noise, print_overall, print_plan
from .progress import ProgressBar
from .repetition import print_asked_again, print_sample
from .result_file import differences, forget_result, junit_xml, read_result, result_schema, write_result
from .statement import statement_of
from .story import SIGNS, headline_of, worst_first
from .terminal import COLOURS, PlainConsole, print_ab, print_explanation, print_groups, print_paragraph, print_table
from .words import explanation_of, find_check

__all__ = [
    "COLOURS",
    "LINKED",
    "SIGNS",
    "About",
    "CauseFile",
    "CauseView",
    "Failure",
    "Places",
    "PlainConsole",
    "ProgressBar",
    "Sides",
    "blame_html",
    "blame_markdown",
    "cause_view",
    "cell",
    "code",
    "ctrf_json",
    "differences",
    "embed",
    "explanation_of",
    "find_check",
    "flips_of_result",
    "forest_files",
    "forget_result",
    "gate_sentence",
    "guard_ending",
    "headline_of",
    "html_report",
    "interrupted_report",
    "junit_xml",
    "live",
    "page_template",
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
    "read_cause",
    "read_result",
    "render_comment",
    "render_markdown",
    "result_schema",
    "shared_head",
    "sides_of",
    "statement_of",
    "worst_first",
    "write_cause",
    "write_result",
]
