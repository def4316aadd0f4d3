"""References that another job left: what of hostile files is taken."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from accgate.errors import BadInput
from accgate.github import proposal
from accgate.github.proposal import check_references, stored_files
from tests.github.recorded import NAMES, REASON, recorded_stores

REPLY = b'{"id": "a", "repeat": 0, "reply": 1}'


@dataclass(frozen=True)
class Stores:
    old: Path
    new: Path

    def check(self, reason: str = REASON) -> None:
        """Take what the new store has and the old one has not, as `propose` does."""
        old = stored_files(self.old)
        changed = {name: content for name, content in stored_files(self.new).items() if old.get(name) != content}
        check_references(self.new, changed, reason=reason)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return recorded_stores(tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def store(recorded, tmp_path):
    for name, folder in zip(("old", "new"), recorded, strict=True):
        shutil.copytree(folder, tmp_path / name)
    return Stores(tmp_path / "old", tmp_path / "new")


def change(store: Stores, old: str, new: str, name: str = "m/sums.toml") -> None:
    path = store.new / name
    text, found = re.subn(old, new, path.read_text(), count=1, flags=re.MULTILINE)
    assert found
    path.write_text(text)


def copy(store: Stores, to: str, *names: str, of: str = "new") -> None:
    """Copy files of the reference over, or beside, the new ones."""
    (store.new / to).parent.mkdir(exist_ok=True)
    for name in names:
        shutil.copy(getattr(store, of) / "m" / f"sums{name}", store.new / f"{to}{name}")


def without_scores(store: Stores) -> None:
    change(store, "^scores_sha256.*\n", "")
    (store.new / "m" / "sums.scores.csv").unlink()


@pytest.fixture
def refused(store):
    def check(match) -> None:
        with pytest.raises(BadInput, match=match):
            store.check()

    return check


def test_what_record_wrote_is_taken_as_it_is(store):
    store.check()
    assert stored_files(store.new) == {name: (store.new / name).read_bytes() for name in NAMES}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("m/deep/er/x", lambda path: path.symlink_to("/etc/passwd")), ("n", lambda path: path.symlink_to("m")),
        ("m/sums.replies.jsonl.gz", os.mkfifo),
    ],
)  # fmt: skip
def test_a_link_to_a_file_or_folder_and_a_pipe(store, refused, name, make):
    path = store.new / name
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    refused("is a link or another special file")


def test_other_files_are_not_taken(store):
    for name in (
        ".github/workflows/x.yml", "m/.sums.toml", "m/evil.py", "evil.toml", "m/x/sums.toml", "m/x.toml/sums.toml",
        "m/%2e%2e.toml", "m/a%2Fb%2f.toml", "m/..toml", "m/::x.toml", "m/x y.toml.sh", "m/ü.toml",
    ):  # fmt: skip
        path = store.new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
    assert sorted(stored_files(store.new)) == NAMES


@pytest.mark.parametrize(
    ("limit", "value", "match"),
    [
        ("MOST_FILES", 3, "more than 3 files"), ("FILE_LIMIT", 300, "too large"), ("TOTAL_LIMIT", 300, "too large"),
        ("UNPACKED_LIMIT", 1000, "unpacks to more"),
    ],
)  # fmt: skip
def test_too_many_too_large_and_replies_that_swell(store, refused, monkeypatch, limit, value, match):
    monkeypatch.setattr(proposal, limit, value)
    if limit == "UNPACKED_LIMIT":
        rows = b'{"id": "a", "repeat": 0, "reply": ""}\n' * 100
        (store.new / "m" / "sums.replies.jsonl.gz").write_bytes(gzip.compress(rows))
    refused(match)


@pytest.mark.parametrize(
    "content",
    [b"no gzip", *map(gzip.compress, [b"[" * 99999, b'{"id": "a", "reply": ""}', REPLY])],
    ids=["no gzip", "deep", "no repeat", "reply"],
)  # fmt: skip
def test_replies_that_are_none(store, refused, content):
    (store.new / "m" / "sums.replies.jsonl.gz").write_bytes(content)
    refused("is damaged|without repeat")


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (lambda store: shutil.rmtree(store.new) or store.new.mkdir(), "holds no reference"),
        (lambda store: shutil.rmtree(store.new), "cannot be read"),
        (lambda store: change(store, ",100", ",0", "m/sums.anchor.scores.csv"), "is not what was recorded"),
        (lambda store: (store.new / "m/sums.scores.csv").unlink(), "is missing"),
        (without_scores, "has no scores"),
        (lambda store: change(store, r"^mean = .*", "mean = 3.0"), "mean"),
        (lambda store: change(store, r"^sigma = .*", "sigma = 3.0"), "sigma"),
        (lambda store: change(store, REASON, "some other"), "another reason"),
        (lambda store: copy(store, "other/sums", ".toml", ".scores.csv"), "is not the place"),
        (lambda store: copy(store, "m/other", ".toml", ".scores.csv"), "is not the place"),
        (lambda store: change(store, 'model = "m"', 'model = "n"', "m/sums.anchor.toml"), "another model or task"),
        (lambda store: copy(store, "m/sums", ".toml", ".scores.csv", of="old"), "files beside it changed"),
        (lambda store: (store.new / "m/stray.scores.csv").write_text("id,repeat,score\n"), r"stray\.toml: is missing"),
        *((lambda store, text=text: (store.new / "m/sums.toml").write_text(text), r"sums\.toml")
          for text in ("unknown = 1\n", "a = " + "[" * 500)),
    ],
)  # fmt: skip
def test_a_reference_that_is_not_whole_its_own_or_asked_for(store, refused, damage, match):
    damage(store)
    refused(match)
