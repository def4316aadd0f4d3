"""The sandbox of templates: nothing is printed unescaped, and no template takes endless work."""

import re
from typing import Any

import pytest
from markupsafe import Markup

from accgate.report import sandbox
from accgate.report.sandbox import InertEnvironment, TemplateFault, render_apart, render_here
from tests.support.cases import each


def shouted(text: Any) -> str:
    """An escape that cannot be overlooked."""
    return f"[{text}]".upper()


def text_of(template: str, **values: Any) -> str:
    return render_here(InertEnvironment(shouted, {}), template, values)


@each(
    "template",
    [
        "{{ x }}", "{{ x | e }}", "{{ x | escape }}", "{{ x | forceescape }}", "{{ x | cell | cell }}",
        "{{ x | string }}", "{{ x | default('y') }}", "{{ [x] | join }}", "{{ [x] | first }}",
        "{{ [x] | map('cell') | join }}", "{{ x if true else x }}", "{% autoescape false %}{{ x }}{% endautoescape %}",
        "{% macro m(y) %}{{ y }}{% endmacro %}{{ m(x) }}", "{% set y %}{{ x }}{% endset %}{{ y }}",
        "{% macro m(y) %}{{ caller(y) }}{% endmacro %}{% call(y) m(x) %}{{ y }}{% endcall %}",
        "{% filter trim %}{{ x }}{% endfilter %}", "{% for y in [x] %}{{ y }}{% endfor %}", "{{ {'y': x}.y }}",
    ],
)  # fmt: skip
def test_a_value_is_escaped_once_however_it_is_printed(template: str) -> None:
    assert text_of(template, x="a") == "[A]"


@each(
    "template",
    [
        "{{ ('<' | safe) ~ x }}", "{{ ('<' | safe) + x }}", "{{ x + ('<' | safe) }}", "{{ (x | cell) | lower }}",
        "{{ [('<' | safe), x] | string }}", "{{ ('<' | safe) | upper ~ x }}",
    ],
)  # fmt: skip
def test_marked_and_unmarked_text_together_is_escaped_whole(template: str) -> None:
    shown = text_of(template, x="a")
    assert shown.startswith("[")
    assert shown == shown.upper()


@each(
    ("template", "value", "text"),
    [
        ("{{ [x, '<' | safe, x] | join(', ') }}", "a", "[A][,] <[,] [A]"),
        ("{{ '<b>' | safe }}{{ x }}", Markup("<i>"), "<b><i>"), ("{{ x }}", None, "[-]"),
    ],
)  # fmt: skip
def test_join_escapes_each_value_marked_text_stays_and_none_is_a_dash(template: str, value: Any, text: str) -> None:
    assert text_of(template, x=value) == text


@each(
    "template",
    [
        "{{ x.__class__ }}", "{{ x.format(1) }}", "{{ ('{}' | safe).format(x) }}", "{{ x.replace('a', 'b') }}",
        "{{ ('<' | safe).join([x]) }}", "{{ ('<' | safe).unescape() }}", "{{ '%s' % x }}", "{{ x | striptags }}",
        "{{ x | attr('upper') }}", "{{ x | center(9) }}", "{{ lipsum() }}", "{{ [1].append(2) }}",
        "{{ (5).to_bytes(9) }}", "{{ self._TemplateReference__context }}", "{% extends 'sandbox.py' %}",
        "{% include '../sandbox.py' %}",
    ],
)  # fmt: skip
def test_what_could_undo_escaping_or_reach_further_is_refused(template: str) -> None:
    with pytest.raises(TemplateFault):
        text_of(template, x="abc")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "fault"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "1 s of processor time"),
        ("{% set n = namespace(y=x) %}{% for a in range(60) %}{% set n.y = n.y ~ n.y %}{% endfor %}", "takes"),
        ("{{ x * 1000000000 }}", "* is for numbers"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "it calls itself without end"),
        ("x" * 200_001, "the template has more than 200,000 characters"),
    ],
)  # fmt: skip
def test_too_much_work_or_text_is_stopped(template: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "SECONDS", 1)
    with pytest.raises(TemplateFault, match=re.escape(fault)):
        render_apart(template, {"x": "x" * 100})


def test_a_template_of_its_own_process_is_escaped_and_sees_the_values_of_a_thousand_checks() -> None:
    rows = "{{ '<b>' | safe }}{% for a in range(9000) %}{% for b in range(9) %}{{ x }} {% endfor %}" + "text" * 200
    text = render_apart(f"{rows}{{% endfor %}}", {"x": "a|b"})
    assert (text[:8], len(text)) == ("<b>a\\|b ", 4_000_000)


def test_the_process_of_a_template_sees_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setattr(
        sandbox, "CHILD", "import json, os, sys; sys.stdin.read; print(json.dumps([' '.join(os.environ), None]))"
    )
    assert "GITHUB_TOKEN" not in render_apart("", {})
