from . import words
from .comment import About, Failure, render_comment
from .console import PlainConsole, print_paragraph, print_table
from .explain import check_named, explanation, print_explanation
from .flips import flips_of_result, shared_head
from .headline import headline_of
from .html import embed, html_report, policy_hash
from .interrupted import interrupted_report
from .junit import junit_xml
from .markdown import LINKED, cell, code, render
from .noise import print_noise
from .plans import gate_sentence, print_annotation, print_costs, print_plan
from .result_file import forget_result, read_result, result_schema, write_result
from .terminal import COLOURS, ProgressBar, print_result
from .words import name_of, sentence, visible

__all__ = [
    "COLOURS",
    "LINKED",
    "About",
    "Failure",
    "PlainConsole",
    "ProgressBar",
    "cell",
    "check_named",
    "code",
    "embed",
    "explanation",
    "flips_of_result",
    "forget_result",
    "gate_sentence",
    "headline_of",
    "html_report",
    "interrupted_report",
    "junit_xml",
    "name_of",
    "policy_hash",
    "print_annotation",
    "print_costs",
    "print_explanation",
    "print_noise",
    "print_paragraph",
    "print_plan",
    "print_result",
    "print_table",
    "read_result",
    "render",
    "render_comment",
    "result_schema",
    "sentence",
    "shared_head",
    "visible",
    "words",
    "write_result",
]
