"""The lists of samples of a page: everything is in the page or in the file beside it, and what is not is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.report.flips import Flip
from accgate.report.html import viewer
from accgate.report.html.page import html_report
from accgate.report.html.viewer import SamplesFile
from accgate.report.live.progress import Follower, checks_of
from accgate.report.live.server import Viewer
from tests.report.html_pages import document, write_samples
from tests.report.runs import result_of, verdict_of
from tests.support.cases import each
from tests.support.gates import recorded_project, right_but

MANY = 10_000


def calls_of(samples_file: SamplesFile) -> dict[str, Any]:
    """What the file beside a page hands to its script."""
    checks: dict[str, Any] = {}
    for call in samples_file.text.splitlines():
        assert call.isascii()
        assert set(call).isdisjoint("<>&")
        assert (call[:16], call[-3:]) == ("accgateSamples({", "});")
        checks |= json.loads(call[15:-2])
    return checks


def flips_of(count: int, length: int) -> list[Flip]:
    """So many samples, the first tenth of which got worse, with replies of about so many characters."""
    words = "the model adds both and says what it found " * (length // 42 + 1)
    return [
        Flip(f"{at:016x}", f"What is {at} + 1?", f"{at}", f"{words}{at}", f"{words}{-at}", 100.0, score)
        for at, score in enumerate([0.0] * (count // 10) + [100.0] * (count - count // 10))
    ]


@pytest.mark.slow
def test_of_ten_thousand_samples_the_page_stays_small_and_every_text_is_somewhere(tmp_path: Path) -> None:
    flips = flips_of(MANY, 400)
    write_samples(tmp_path, flips)
    worse = tuple(flip.id for flip in flips[: MANY // 10])
    samples_file = SamplesFile("report.samples.js")
    result = result_of(verdict_of("regression", flips=worse, n=MANY, lost=len(worse)))
    text = html_report(result, tmp_path, samples_file)
    page, rest = document(text), calls_of(samples_file)["0"]
    assert len(text.encode()) < 5_000_000
    own = page.samples["0"]
    assert tuple(row[0] for row in own["rows"][: len(worse)]) == worse
    assert {row[0] for row in (*own["rows"], *rest["rows"])} == {flip.id for flip in flips}
    texts = {prompt: (before, got) for prompt, _, before, got, _ in (*own["texts"], *rest["texts"])}
    assert texts == {flip.prompt: (flip.before, flip.got) for flip in flips}
    assert own["texts"][0][0] == flips[0].prompt  # those that got worse are in the page itself
    assert f"Replies of {len(rest['texts']):,} samples are in report.samples.js beside this page." in page.text
    assert f"'nonce-{samples_file.nonce}'" in page.policy
    assert f'nonce="{samples_file.nonce}" src="report.samples.js"' in text


def test_what_has_no_room_is_counted_however_small_the_rooms_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, room in {"ROWS": 3_000, "TEXTS": 2_000, "FILE": 4_000, "LISTED": 200}.items():
        monkeypatch.setattr(viewer, name, room)
    for task in "abc":
        write_samples(tmp_path, flips_of(100, 60), task=task)
    samples_file = SamplesFile("x.js")
    page = document(html_report(result_of(*(verdict_of(task=task) for task in "abc")), tmp_path, samples_file))
    rest = calls_of(samples_file)
    for at in "012":
        rows, texts = (len(page.samples[at][name]) + len(rest[at][name]) for name in ("rows", "texts"))
        assert 60 <= rows < 100
        assert f"{rows} of them are listed" in page.text
        assert f"The texts of {100 - texts} samples have no room" in page.text


X = "x" * 250


@each(
    ("text", "beginning", "end"),
    [
        (f"{X}{X[:50]}", f"{X} … (50 more characters are in the run's folder)",
         f"(50 characters before this are in the run's folder) … {X}"),
        (X, X, X), (None, None, None), ("a\r\n\tb\x07\u202ec", "a\n\tb\ufffd\ufffdc", "a\n\tb\ufffd\ufffdc"),
    ],
)  # fmt: skip
def test_a_text_that_is_cut_says_so_and_controls_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, beginning: str | None, end: str | None
) -> None:
    monkeypatch.setattr(viewer, "FILE", 100)
    write_samples(tmp_path, [Flip("a", text, "e", text, text, 100.0, 0.0)])
    (texts,) = document(html_report(result_of(verdict_of()), tmp_path)).samples["0"]["texts"]
    assert texts[:4] == [end, "e", beginning, beginning]


def test_a_page_is_written_with_the_file_beside_it_which_a_smaller_one_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    project = recorded_project(tmp_path, 40)
    project.run(right_but(20, 40))
    page, beside = project.out / "report.html", project.out / "report.samples.js"
    monkeypatch.setattr(viewer, "TEXTS", 500)
    assert main(["report", str(project.out / "accgate.json"), "--html", str(page)]) == 0
    found = document(page.read_text(encoding="utf-8")).samples["0"]["texts"]
    assert 0 < len(found) < 40
    assert beside.is_file()
    monkeypatch.undo()
    assert main(["report", str(project.out / "accgate.json"), "--html", str(page)]) == 0
    assert not beside.exists()
    capfd.readouterr()
    assert main(["report", str(project.out / "accgate.json"), "--html", "-"]) == 0
    assert "40 samples" in capfd.readouterr().out


@each(
    ("is_decided", "answered", "address", "title"),
    [(True, 40, "", "sums"), (False, 40, "", "Every sample is answered"), (False, 20, "", "This run goes on"),
     (False, 20, "answers", "Answers so far")],
)  # fmt: skip
def test_view_lists_every_sample_of_whatever_a_folder_holds(
    tmp_path: Path, is_decided: bool, answered: int, address: str, title: str
) -> None:
    project = recorded_project(tmp_path, 40)
    project.run(right_but(10, 40))
    records = project.out / "m/sums.jsonl"
    records.write_bytes(b"".join(records.read_bytes().splitlines(keepends=True)[:answered]))
    if not is_decided:
        (project.out / "accgate.json").unlink()
    viewer = Viewer(Follower(project.out, checks_of(project.config)[0]))
    viewer.server_close()
    content = viewer.content(address)
    assert content is not None
    text = content.body.decode()
    assert title in text
    if title != "This run goes on":
        found = document(text).samples["0"]
        assert len({row[0] for row in found["rows"]}) == answered
        assert all(prompt.startswith("What is") for prompt, *_ in found["texts"])
        assert is_decided or {row[2] for row in found["rows"]} == {0.0, 100.0}, "the reference's scores"
