"""The page and its key: what is drawn, in which order, and that nothing on the page tells the sides apart."""

import json
import re
from collections import Counter
from itertools import pairwise
from typing import Any

from accgate.questionnaire.answers import Question
from accgate.questionnaire.key import Key, Wording
from accgate.questionnaire.page import draw_questionnaire, page_html
from accgate.report.html.inline import policy_hash
from tests.questionnaire.made import Made, N, answers
from tests.report.html_pages import document


def build(n: int = 200, seed: int = 1, count: int | None = None) -> tuple[dict[str, Any], Key]:
    questions = [Question(f"q{i}", f"What is {i}?", f"left {i}", f"right {i}", None, None) for i in range(n)]
    return draw_questionnaire(questions, Wording(), seed=seed, reference="a", candidate="b", count=count)


def sides(key: Key) -> list[str]:
    """The side of the first answer of each question, in the page's order."""
    return [asked.answers[0].side for asked in key.questions]


def test_every_question_is_shown_once_with_both_answers_and_the_key_says_whose_they_are(made: Made) -> None:
    assert "12 of 12 questions, 24 answers, 6 items" in made.build()
    assert made.texts == {
        given["id"]: f"{given['side']} says {asked['id'][1:]}"
        for asked in made.key["questions"]
        for given in asked["answers"]
    }
    assert len(made.texts) == 2 * N
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


def test_the_reference_comes_first_in_half_of_the_questions_and_in_no_regular_order() -> None:
    first = sides(build(count=200)[1])
    assert Counter(first) == {"reference": 100, "candidate": 100}
    assert 70 < sum(a != b for a, b in pairwise(first)) < 130
    odd = Counter(sides(build(n=7, seed=seed)[1]).count("reference") for seed in range(50))
    assert {*odd} == {3, 4}
    assert min(odd.values()) > 12  # the odd question goes either way


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
    keys = [build(seed=seed, count=20)[1] for seed in (4, 5)]
    ids = [[asked.id for asked in key.questions] for key in keys]
    assert set(ids[0]) != set(ids[1])
    assert ids[0] != sorted(ids[0])
    assert not set(keys[0].answers) & set(keys[1].answers)


def test_without_a_seed_no_two_builds_are_alike(made: Made) -> None:
    files = (made.write("reference", answers("reference")), made.write("candidate", answers("candidate")))
    seeds = set()
    for _ in range(2):
        assert made.run(*files, "--out", made.page_path, "--force")[0] == 0
        seeds.add(made.key["seed"])
    assert len(seeds) == 2
    assert min(seeds) > 2**32  # nobody tries them all


def test_twenty_questions_are_drawn_where_no_number_is_asked_for() -> None:
    for n, count, drawn in ((50, None, 20), (5, None, 5), (50, 31, 31)):
        assert len(build(n, count=count)[1].questions) == drawn


def test_an_answer_that_both_sides_gave_is_shown_once_and_no_space_around_answers(made: Made) -> None:
    rows = [*answers("candidate")[:-1], answers("reference")[-1]]
    made.write("candidate", [row | {"reply": f" \n{row['reply']} "} for row in rows])
    assert "23 answers" in made.build()
    (asked,) = [asked for asked in made.key["questions"] if len(asked["answers"]) == 1]
    assert (asked["id"], asked["answers"][0]["side"]) == ("q11", "both")
    assert all(text == text.strip() != "" for text in made.texts.values())


def test_the_solved_examples_before_every_question_are_shown_apart(made: Made) -> None:
    for side in ("reference", "candidate"):
        made.write(side, [row | {"prompt": f"1 + 1 = 2\n{i} + {i} ="} for i, row in enumerate(answers(side))])
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
        'title = "Wie gut?"\nlanguage = "de"\nlevels = ["gar nicht", "eher nicht", "teils", "eher", "voll"]\n'
        '[[items]]\nid = "rude"\ntext = "Unhöflich."\nreversed = true\n',
        encoding="utf-8",
    )
    made.build("--items", file)
    assert (made.page["title"], made.page["levels"][4]) == ("Wie gut?", "voll")
    assert made.page["items"] == [{"id": "rude", "text": "Unhöflich."}]
    assert made.key["items"] == [{"id": "rude", "text": "Unhöflich.", "reversed": True}]
    assert '<html lang="de">' in made.html


HOSTILE = (
    "</script><script>alert(1)</script>", "<!-- <script>", "a\u2028b", "&lt;&amp;", "\x00\x1b[2J", "\ud800",
    "{{ 7 * 7 }}{% raw %}", "<img src=x onerror=alert(1)>", '"}]}</SCRIPT >',
)  # fmt: skip


def test_hostile_texts_make_no_element_and_come_back_as_they_were() -> None:
    questions = [Question(f"q{i}", text, text + "1", text + "2", None, None) for i, text in enumerate(HOSTILE)]
    page, _ = draw_questionnaire(questions, Wording(title="</title><script>"), seed=1, reference="a", candidate="b")
    html = page_html(page)
    assert html.isascii()
    found = document(html)
    assert found.tags == document(page_html(build(n=2)[0])).tags
    assert not set(found.data) & set("<>&")
    assert json.loads(found.data) == page


def test_the_policy_lets_only_the_page_s_own_style_and_script_run() -> None:
    html = page_html(build(n=2)[0])
    found = document(html)
    script, style = f"script-src {policy_hash(found.script)}", f"style-src {policy_hash(found.style)}"
    others = "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    assert found.policy == f"default-src 'none'; {script}; {style}; {others}"
    assert not re.search(r"""(?:src|href|action)\s*=\s*["']|@import|url\(|https?:""", html)


def test_the_digest_changes_with_anything_that_is_shown(made: Made) -> None:
    made.build()
    before = made.page["digest"]
    assert before == made.key["questionnaire"]
    rows = answers("reference")
    rows[3]["reply"] += "!"
    made.write("reference", rows)
    made.build()
    assert made.page["digest"] != before
