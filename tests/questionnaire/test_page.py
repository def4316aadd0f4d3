"""The page and its key: what is drawn, in which order, and that nothing on the page tells the sides apart."""

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from accgate import questionnaire
from accgate.questionnaire.answers import Question
from accgate.questionnaire.key import Key, Wording
from accgate.questionnaire.page import draw_questionnaire, page_html
from accgate.report.html.inline import policy_hash
from tests.questionnaire.made import Made, N, answers
from tests.report.html_pages import document
from tests.support.cases import each


def build(n: int = 200, seed: int = 1, count: int | None = None) -> tuple[dict[str, Any], Key]:
    questions = [Question(f"q{i}", f"What is {i}?", f"left {i}", f"right {i}", None, None) for i in range(n)]
    return draw_questionnaire(questions, Wording(), seed=seed, reference="a", candidate="b", count=count)


def sides(key: Key) -> list[str]:
    """The side of the first answer of each question, in the page's order."""
    return [asked.answers[0].side for asked in key.questions]


def test_every_question_is_shown_once_with_both_answers_and_the_key_says_whose_they_are(made: Made) -> None:
    assert "12 of 12 questions, 24 answers, 6 items" in made.build()
    shown = {answer["id"]: answer["text"] for question in made.page["questions"] for answer in question["answers"]}
    told = {
        given["id"]: f"{given['side']} says {asked['id'][1:]}"
        for asked in made.key["questions"]
        for given in asked["answers"]
    }
    assert shown == told
    assert len(told) == 2 * N
    prompts = [question["prompt"] for question in made.page["questions"]]
    assert prompts == [f"What is {asked['id'][1:]}?" for asked in made.key["questions"]]


def test_the_page_holds_no_word_about_sides_ids_files_or_seed(made: Made) -> None:
    # Answers of both sides alike but for one letter, so that only the page itself could tell them apart.
    made.write("reference", [row | {"reply": f"x{i}"} for i, row in enumerate(answers("reference"))])
    made.write("candidate", [row | {"reply": f"y{i}"} for i, row in enumerate(answers("candidate"))])
    made.build(seed=918273645)
    html = made.html.lower()
    for word in ("reference", "candidate", "baseline", "918273645", ".jsonl", str(made.folder).lower(), "reversed"):
        assert word not in html, word
    assert not re.search(r"\bq\d+\b", html)
    assert {"questionnaire", "seed", "reference", "candidate", "levels", "items", "questions", "kind"} == {*made.key}
    assert {*made.page} == {
        "digest", "title", "introduction", "language", "levels", "items", "head", "questions",
    }  # fmt: skip


def test_the_reference_comes_first_in_half_of_the_questions_and_in_no_regular_order() -> None:
    first = sides(build(count=200)[1])
    assert Counter(first) == {"reference": 100, "candidate": 100}
    changes = sum(a != b for a, b in pairwise(first))
    assert 70 < changes < 130
    odd = Counter(sides(build(n=7, seed=seed)[1]).count("reference") for seed in range(200))
    assert {*odd} == {3, 4}
    assert min(odd.values()) > 70  # the odd question goes either way


def test_names_and_places_of_answers_are_the_same_whichever_side_gave_which() -> None:
    """Who knows all but the seed learns nothing: with the sides swapped, the page has the same names in its order."""
    questions = [Question(f"q{i}", "?", f"left {i}", f"right {i}", None, None) for i in range(30)]
    swapped = [Question(q.id, q.prompt, q.candidate, q.reference, None, None) for q in questions]
    pages = [draw_questionnaire(q, Wording(), seed=3, reference="a", candidate="b")[0] for q in (questions, swapped)]
    names = [[[answer["id"] for answer in row["answers"]] for row in page["questions"]] for page in pages]
    assert names[0] == names[1]
    texts = [[answer["text"] for row in page["questions"] for answer in row["answers"]] for page in pages]
    assert all(a.split()[0] != b.split()[0] for a, b in zip(*texts, strict=True))


def test_the_seed_repeats_draw_order_and_names_and_another_changes_them() -> None:
    assert build(seed=4, count=20) == build(seed=4, count=20)
    one, other = build(seed=4, count=20), build(seed=5, count=20)
    ids = [[asked.id for asked in key.questions] for _, key in (one, other)]
    assert set(ids[0]) != set(ids[1])
    assert ids[0] != sorted(ids[0])
    names = [set(key.answers) for _, key in (one, other)]
    assert not names[0] & names[1]


def test_without_a_seed_no_two_builds_are_alike(made: Made) -> None:
    files = (made.write("reference", answers("reference")), made.write("candidate", answers("candidate")))
    keys = []
    for name in ("one", "two"):
        assert made.run(*files, "--out", made.folder / f"{name}.html")[0] == 0
        keys.append(json.loads((made.folder / f"{name}.key.json").read_text(encoding="utf-8")))
    assert keys[0]["seed"] != keys[1]["seed"]
    assert min(key["seed"] for key in keys) > 2**32  # nobody tries them all
    assert keys[0]["questionnaire"] != keys[1]["questionnaire"]


def test_twenty_questions_are_drawn_where_no_number_is_asked_for() -> None:
    assert len(build(n=50)[1].questions) == 20
    assert len(build(n=5)[1].questions) == 5
    assert len(build(n=50, count=31)[1].questions) == 31


def test_an_answer_that_both_sides_gave_is_shown_once(made: Made) -> None:
    made.write("candidate", [*answers("candidate")[:-1], answers("reference")[-1] | {"reply": " reference says 11\n"}])
    assert "23 answers" in made.build()
    (asked,) = [asked for asked in made.key["questions"] if len(asked["answers"]) == 1]
    assert (asked["id"], asked["answers"][0]["side"]) == ("q11", "both")


def test_white_space_around_answers_which_engines_differ_in_is_not_shown(made: Made) -> None:
    made.write("candidate", [row | {"reply": f" \n{row['reply']} "} for row in answers("candidate")])
    made.build()
    texts = [answer["text"] for question in made.page["questions"] for answer in question["answers"]]
    assert all(text == text.strip() != "" for text in texts)


def test_the_solved_examples_before_every_question_are_shown_apart(made: Made) -> None:
    rows = answers("reference", prompt="")
    for side in ("reference", "candidate"):
        own = [{"reply": f"{side} {i}", "prompt": f"1 + 1 = 2\n{i} + {i} ="} for i in range(N)]
        made.write(side, [row | more for row, more in zip(rows, own, strict=True)])
    made.build()
    assert made.page["head"] == "1 + 1 = 2"
    assert {question["prompt"] for question in made.page["questions"]} == {f"{i} + {i} =" for i in range(N)}


def test_expected_answers_are_shown_only_where_they_are_asked_for(made: Made) -> None:
    for side in ("reference", "candidate"):
        made.write(side, answers(side, target="42"))
    made.build()
    assert all("target" not in question for question in made.page["questions"])
    made.build("--show-targets")
    assert all(question["target"] == "42" for question in made.page["questions"])


def test_wording_of_a_file_takes_the_place_of_the_default(made: Made) -> None:
    file = made.folder / "items.toml"
    file.write_text(
        'title = "Wie gut?"\nintroduction = "Bitte bewerten."\nlanguage = "de"\n'
        'levels = ["gar nicht", "eher nicht", "teils", "eher", "voll"]\n'
        '[[items]]\nid = "rude"\ntext = "Unhöflich."\nreversed = true\n',
        encoding="utf-8",
    )
    assert "1 items" in made.build("--items", file)
    assert (made.page["title"], made.page["levels"][4]) == ("Wie gut?", "voll")
    assert made.page["items"] == [{"id": "rude", "text": "Unhöflich."}]
    assert made.key["items"] == [{"id": "rude", "text": "Unhöflich.", "reversed": True}]
    assert '<html lang="de">' in made.html


HOSTILE = (
    "</script><script>alert(1)</script>", "<!-- <script>", "a\u2028b\u2029c", "]]>", "&lt;&amp;", "\x00\x1b[2J",
    "\ud800", "{{ 7 * 7 }}{% raw %}", "<img src=x onerror=alert(1)>", "\u202eevil", '"}]}</SCRIPT >',
)  # fmt: skip


def test_hostile_texts_make_no_element_and_come_back_as_they_were() -> None:
    questions = [Question(f"q{i}", text, text + "1", text + "2", None, None) for i, text in enumerate(HOSTILE)]
    page, _ = draw_questionnaire(questions, Wording(title="</title><script>"), seed=1, reference="a", candidate="b")
    html = page_html(page)
    assert html.isascii()
    harmless = page_html(build(n=11, count=11)[0])
    assert document(html).tags == document(harmless).tags
    data = html.split('id="data">')[1].split("</script>")[0]
    assert not set(data) & set("<>&")
    assert json.loads(data) == page


def test_the_policy_lets_only_the_page_s_own_style_and_script_run() -> None:
    html = page_html(build()[0])
    policy = document(html).policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for element, directive in (("script", "script-src"), ("style", "style-src")):
        (content,) = re.findall(rf"<{element}>(.*?)</{element}>", html, re.DOTALL)
        assert f"{directive} {policy_hash(content)}" in policy
    assert not re.search(r"""(?:src|href|action)\s*=\s*["']|@import|url\(|https?:""", html)


def test_the_digest_changes_with_anything_that_is_shown(made: Made) -> None:
    made.build()
    before = made.page["digest"]
    made.build()
    assert made.page["digest"] == before == made.key["questionnaire"]
    rows = answers("reference")
    rows[3]["reply"] += "!"
    made.write("reference", rows)
    made.build()
    assert made.page["digest"] != before


@each("name", ["page.html.j2", "page.css", "page.js"])
def test_the_page_s_parts_are_ascii_files_of_the_package(name: str) -> None:
    assert (Path(questionnaire.__file__).parent / "templates" / name).read_text(encoding="ascii")
