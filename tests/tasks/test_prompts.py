"""Prompts: what a template gives, what it says where it fails, and what it cannot reach or change."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.tasks.prompts import CannotRender, Scope, render, template_fault
from tests.support.cases import each

ROW = {"n": 7, "q": "2 + 2 =", "tags": ["a", "b"], "inner": {"x": 1}, "items": "a column", "class": "text"}


@each(
    ("template", "text"),
    [
        ("{{ q }} {{ n }}", "2 + 2 = 7"),
        ("{{ row.q }}{{ row['n'] }}", "2 + 2 =7"),
        ("{{ items }}{{ row['items'] }}{{ row['class'] }}", "a columna columntext"),
        ("{{ tags | join('-') }} {{ inner.x }} {{ row | length }}", "a-b 1 6"),
        ("{{ row | tojson }}", '{"class": "text", "inner": {"x": 1}, "items": "a column", "n": 7, '
            '"q": "2 + 2 =", "tags": ["a", "b"]}'),
        ("{{ q.split('+')[1].strip() }}{{ '<&>' }}", "2 =<&>"),
        ("{% for e in examples %}{{ e.q }}{{ e.a }};{% endfor %}{{ q }}", "1+1=2;1+2=3;2 + 2 ="),
        ("line\n\nnext\n", "line\n\nnext"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_template_is_filled_from_row_and_examples(template: str, text: str) -> None:
    assert template_fault(template) is None
    assert render(template, Scope(ROW, [{"q": "1+1=", "a": 2}, {"q": "1+2=", "a": 3}])) == text


@settings(deadline=None)
@given(st.dictionaries(st.text(), st.text(st.characters(exclude_categories=["Cs"])), max_size=5), st.text())
def test_any_column_is_reached_by_its_name_and_stays_as_it_is(row: dict[str, str], name: str) -> None:
    row["k"] = name
    row[name] = "{{ not a template }} <b> &amp;\r\n" if name != "k" else "k"
    assert render("{{ row[k] }}", Scope(row)) == row[name]


@each(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ row | attr('__class__') }}",
        "{{ '{0.__class__}'.format(row) }}",
        "{% include '/etc/passwd' %}",
        "{{ range(1000000) | list }}",
        "{{ row.update({'n': 8}) }}",
        "{{ tags.append('c') }}",
        "{% set row.n = 8 %}",
        "{{ [[1]] | map('append', 2) | list }}",
    ],
)
def test_a_template_cannot_reach_python_or_change_rows(template: str) -> None:
    row, examples = copy.deepcopy(ROW), [{"q": "x"}]
    with pytest.raises(CannotRender):
        render(template, Scope(row, examples))
    assert (row, examples) == (ROW, [{"q": "x"}])


def test_what_one_row_sets_is_not_seen_by_the_next() -> None:
    template = "{% if seen is defined %}seen{% endif %}{% set seen = 1 %}{% set n = 2 %}{{ n }}"
    assert [render(template, Scope({"n": i})) for i in range(3)] == ["2", "2", "2"]


def test_a_missing_column_is_named_with_the_columns_there_are() -> None:
    for template in ("{{ nope }}", "{{ row.nope }}", "{{ row['nope'] }}", "{% if nope %}{% endif %}"):
        with pytest.raises(CannotRender, match=r"'nope'.*; the row has n, q, tags, inner, items, class$"):
            render(template, Scope(ROW))


@each(
    ("template", "error"),
    [
        ("{{ n / 0 }}", "ZeroDivisionError: division by zero"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError: "),
        ("{{ q * (n * 10 ** 17) }}", "result of \\* is too large"),
        ("{{ n ** 99999 }}", "result of \\*\\* is too large"),
        ("{{ [] | first }}", "No first item"),
    ],
)
def test_a_template_that_fails_says_why(template: str, error: str) -> None:
    with pytest.raises(CannotRender, match=error):
        render(template, Scope(ROW))


@each(
    "template", ["{{ row.items }}", "{{ row.keys }}", "{{ q.upper }}", "{{ range }}", "{{ tags | map('upper') }}",
                 "{% for x in tags %}{{ loop }}{% endfor %}"]
)  # fmt: skip
def test_what_prints_as_a_memory_address_is_refused_since_the_prompt_would_change_with_every_run(template: str) -> None:
    with pytest.raises(CannotRender, match=r"is not text; write row\['name'\]"):
        render(template, Scope(ROW))


@each(
    ("template", "fault"),
    [
        ("{{ q", "line 1 of it: unexpected end of template"),
        ("\n\n{% endif %}", "line 3 of it: Encountered unknown tag 'endif'"),
        ("{% do row.clear() %}", "Encountered unknown tag 'do'"),
        ("{{ q | random }}", "No filter named 'random'"),
        ("{% for a in b %}" * 40 + "{% endfor %}" * 40, "SyntaxError: too many statically nested blocks"),
        ("{{ " + "(" * 5000, "RecursionError"),
    ],
)
def test_a_template_that_is_none_says_why(template: str, fault: str) -> None:
    said = template_fault(template)
    assert said is not None
    assert said.startswith("is not a Jinja template: ")
    assert fault in said
    assert "\n" not in said
