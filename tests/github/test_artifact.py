"""References that another job left: what of hostile files is taken."""

from __future__ import annotations

import gzip
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from accgate.errors import BadInput
from accgate.github import proposal
from accgate.github.proposal import check_references, is_stored, stored_files
from tests.github.recorded import NAMES, REASON, recorded_stores


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


class TestFiles:
    def refused(self, store, match) -> None:
        with pytest.raises(BadInput, match=match):
            store.check()

    def test_what_record_wrote_is_taken_as_it_is(self, store):
        store.check()
        assert stored_files(store.new) == {name: (store.new / name).read_bytes() for name in NAMES}

    @pytest.mark.parametrize("name", ["m/sums.scores.csv", "m/other.toml", "x", "m/deep/er/x"])
    def test_a_link(self, store, name):
        path = store.new / name
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("/etc/passwd")
        self.refused(store, "is a link")

    def test_a_link_to_a_folder(self, store):
        (store.new / "n").symlink_to(store.new / "m")
        self.refused(store, "is a link")

    def test_a_pipe(self, store):
        os.mkfifo(store.new / "m" / "sums.replies.jsonl.gz")
        self.refused(store, "special file")

    @pytest.mark.parametrize(
        "name",
        [
            ".github/workflows/x.yml", "m/.sums.toml", ".m/sums.toml", "m/evil.py", "evil.toml",
            "m/x/sums.toml", "m/x.toml/sums.toml",
            "m/sums.yml", "m/%2e%2e.toml", "m/a%2Fb%2f.toml", "m/..toml", "m/::x.toml", "m/x y.toml.sh", "m/ü.toml",
        ],
    )  # fmt: skip
    def test_other_files_are_not_taken(self, store, name):
        path = store.new / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
        assert sorted(stored_files(store.new)) == NAMES

    @pytest.mark.parametrize("name", ["org%2Fm@quant=fp8/my task.toml", "m/sums.anchor.scores.csv", "%2E./%2Ex.toml"])
    def test_names_that_record_writes_are(self, name):
        assert is_stored(name)

    def test_too_many(self, store, monkeypatch):
        monkeypatch.setattr(proposal, "MOST_FILES", 3)
        self.refused(store, "more than 3 files")

    @pytest.mark.parametrize("limit", ["FILE_LIMIT", "TOTAL_LIMIT"])
    def test_too_large(self, store, monkeypatch, limit):
        monkeypatch.setattr(proposal, limit, 300)
        self.refused(store, "too large")

    def test_replies_that_swell(self, store, monkeypatch):
        monkeypatch.setattr(proposal, "UNPACKED_LIMIT", 1000)
        rows = b'{"id": "a", "repeat": 0, "reply": ""}\n' * 100
        (store.new / "m" / "sums.replies.jsonl.gz").write_bytes(gzip.compress(rows))
        self.refused(store, "unpacks to more")

    @pytest.mark.parametrize(
        "content",
        [b"no gzip", gzip.compress(b"no json"), gzip.compress(b"{}"), gzip.compress(b"[1]"),
         gzip.compress(b"[" * 99999),
         gzip.compress(b'{"id": "a", "repeat": 0, "reply": 1}'), gzip.compress(b'{"id": 1, "repeat": 0, "reply": ""}'),
         gzip.compress(b'{"id": "a", "repeat": true, "reply": ""}'), gzip.compress(b"{}")[:-6]],
        ids=["no gzip", "no json", "no id", "list", "deep", "reply", "id", "repeat", "torn"],
    )  # fmt: skip
    def test_replies_that_are_none(self, store, content):
        (store.new / "m" / "sums.replies.jsonl.gz").write_bytes(content)
        self.refused(store, "is damaged|without repeat")

    def test_nothing(self, store):
        shutil.rmtree(store.new)
        store.new.mkdir()
        self.refused(store, "holds no reference")

    def test_no_folder(self, store):
        shutil.rmtree(store.new)
        self.refused(store, "cannot be read")

    def change(self, store, old: str, new: str, name: str = "m/sums.toml") -> None:
        path = store.new / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def test_scores_that_are_not_the_reference_s(self, store):
        self.change(store, ",100", ",0", "m/sums.scores.csv")
        self.refused(store, "is not what was recorded")

    def test_an_anchor_s_scores_that_are_not_its_own(self, store):
        self.change(store, ",100", ",0", "m/sums.anchor.scores.csv")
        self.refused(store, "is not what was recorded")

    def test_no_scores_at_all(self, store):
        (store.new / "m" / "sums.scores.csv").unlink()
        self.refused(store, "is missing")

    def test_a_mean_without_scores(self, store):
        text = (store.new / "m" / "sums.toml").read_text()
        kept = [line for line in text.splitlines() if not line.startswith("scores_sha256")]
        (store.new / "m" / "sums.toml").write_text("\n".join(kept))
        (store.new / "m" / "sums.scores.csv").unlink()
        self.refused(store, "has no scores")

    @pytest.mark.parametrize("key", ["mean", "n", "sigma"])
    def test_a_figure_that_the_scores_do_not_give(self, store, key):
        text = (store.new / "m" / "sums.toml").read_text()
        line = next(line for line in text.splitlines() if line.startswith(f"{key} ="))
        self.change(store, line, f"{key} = 3{'' if key == 'n' else '.0'}")
        self.refused(store, key)

    def test_another_reason_than_the_comment_s(self, store):
        self.change(store, REASON, "some other")
        self.refused(store, "another reason")

    def test_a_reference_in_another_s_place(self, store):
        (store.new / "other").mkdir()
        for name in ("sums.toml", "sums.scores.csv"):
            shutil.copy(store.new / "m" / name, store.new / "other" / name)
        self.refused(store, "is not the place")

    def test_a_reference_under_another_task_s_name(self, store):
        for kind in (".toml", ".scores.csv"):
            shutil.copy(store.new / "m" / f"sums{kind}", store.new / "m" / f"other{kind}")
        self.refused(store, "is not the place")

    def test_an_anchor_of_another_model(self, store):
        self.change(store, 'model = "m"', 'model = "n"', "m/sums.anchor.toml")
        self.refused(store, "another model or task")

    def test_an_anchor_alone(self, store):
        for name in ("sums.toml", "sums.scores.csv"):
            shutil.copy(store.old / "m" / name, store.new / "m" / name)
        self.refused(store, "is unchanged, but files beside it changed")

    def test_scores_alone(self, store):
        (store.new / "m" / "stray.scores.csv").write_text("id,repeat,score\na,0,100\n")
        self.refused(store, r"stray\.toml: is missing")

    @pytest.mark.parametrize("text", ["x = ", "unknown = 1\n", "a = " + "[" * 500, "\x00"])
    def test_a_toml_that_is_no_reference(self, store, text):
        (store.new / "m" / "sums.toml").write_text(text)
        self.refused(store, r"sums\.toml")
