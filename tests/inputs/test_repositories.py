"""One repository in the checkouts that git makes of it: the same content passes, and what is none is named."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.guard.changes import changed_rules
from accgate.inputs.checkout import absence_of
from tests.inputs.test_checkout import gate_of_files
from tests.support.cases import each
from tests.support.gates import refused, said
from tests.support.runner import commit, git

SPARSE = "left out of this sparse checkout; run `git sparse-checkout add gate"


def gate_in(folder: Path, form: str) -> Path:
    """A repository with a recorded gate in its folder `gate`, in git's format of this hash."""
    gate_of_files(folder / "gate", end="\nPlease.")
    git(folder, "init", "-q", f"--object-format={form}")
    commit(folder)
    return folder


@pytest.fixture(scope="module")
def origins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("origins")
    (folder / "attributes").write_text("*.csv text eol=crlf\n*.py text eol=crlf\n")
    return {form: gate_in(folder / form, form) for form in ("sha1", "sha256")}


def clone(origin: Path, folder: Path, *options: str) -> Path:
    git(folder, "clone", "-q", *options, f"file://{origin}", "there")
    return folder / "there"


def run(gate: Path, out: Path, *more: str) -> int:
    return main(["run", str(gate / "accuracy.toml"), "--out", str(out), "--quiet", *more])


@each(
    ("form", "options", "is_crlf"),
    [
        ("sha1", ("-c", "core.autocrlf=true"), True),
        ("sha1", ("-c", "core.attributesFile=ATTRIBUTES"), True),
        ("sha1", ("--filter=blob:none", "--depth=1"), False),
        ("sha256", ("-c", "core.autocrlf=true"), True),
    ],
)
def test_every_checkout_of_the_same_content_passes(
    origins: dict[str, Path], tmp_path: Path, form: str, options: tuple[str, ...], is_crlf: bool
) -> None:
    origin, attributes = origins[form], origins["sha1"].parent / "attributes"
    gate = clone(origin, tmp_path, *(text.replace("ATTRIBUTES", str(attributes)) for text in options)) / "gate"
    config, scores = gate / "accuracy.toml", gate / "references/m/sums.scores.csv"
    assert (b"\r\n" in scores.read_bytes()) is is_crlf
    assert run(gate, tmp_path / "out") == 0
    base = load_config(origin / "gate/accuracy.toml")
    assert changed_rules(base, load_config(config)) == changed_rules(load_config(config), base) == ()


def test_every_command_takes_a_checkout_with_crlf(origins: dict[str, Path], tmp_path: Path) -> None:
    origin = origins["sha1"] / "gate"
    gate = clone(origins["sha1"], tmp_path, "-c", "core.autocrlf=true") / "gate"
    config, scores, out = gate / "accuracy.toml", gate / "references/m/sums.scores.csv", tmp_path / "out"
    assert main(["validate", str(config)]) == main(["plan", str(config)]) == 0
    assert run(gate, out, "--base", str(origin / "accuracy.toml")) == 0
    assert main(["verify", str(out), "--config", str(config), "--base", str(origin / "accuracy.toml")]) == 0
    assert main(["compare", str(origin / "references/m/sums.scores.csv"), str(scores)]) == 0
    again = ["record", str(config), "--out", str(tmp_path / "record"), "--quiet", "--reason", "again"]
    assert main(again) == run(gate, tmp_path / "last") == 0


def sparse(*patterns: str, version: int, cone: bool = False) -> Callable[[Path], None]:
    def leave_out(root: Path) -> None:
        git(root, "sparse-checkout", "set", "--cone" if cone else "--no-cone", *patterns)
        git(root, "update-index", f"--index-version={version}")

    return leave_out


def beside(name: str, text: str) -> Callable[[Path], None]:
    """Remove a file, and leave another one in its folder."""

    def replace(root: Path) -> None:
        path = root / "gate/rows.csv"
        path.unlink()
        path.with_name(name).write_text(text)

    return replace


def annexed(root: Path) -> None:
    (root / "gate/rows.csv").unlink()
    (root / "gate/rows.csv").symlink_to("../.git/annex/objects/a/b/SHA256E-s1--0.csv/SHA256E-s1--0.csv")


ABSENT = [
    ("sha1", sparse("/gate/*", "!/gate/rows.csv", version=4), SPARSE),
    ("sha256", sparse("/gate/*", "!/gate/shots.json", version=4), SPARSE),
    ("sha256", sparse("/gate/*", "!/gate/sums.toml", version=2), SPARSE),
    ("sha1", sparse("--sparse-index", "gate/code", version=4, cone=True), SPARSE + "/references/m`"),
    ("sha1", beside("rows.csv.dvc", "outs:\n- path: rows.csv\n"), "is kept by DVC; run `dvc pull gate/rows.csv.dvc`"),
    ("sha1", beside("Rows.csv", "q,a\n1,1\n"), "write the path relative to this file; there is 'Rows.csv'"),
    ("sha1", annexed, "it is a git-annex pointer and not the file itself; run `git annex get` for it"),
]


@each(("form", "change", "told"), ABSENT)
def test_what_a_checkout_lacks_is_named_with_the_fix(
    origins: dict[str, Path], tmp_path: Path, capsys, form: str, change: Callable[[Path], None], told: str
) -> None:
    root = clone(origins[form], tmp_path)
    change(root)
    assert run(root / "gate", tmp_path / "out", "--base", str(origins[form] / "gate/accuracy.toml")) == 2
    assert told in said(capsys)


def test_a_reference_that_is_left_out_is_not_recorded_as_the_first(
    origins: dict[str, Path], tmp_path: Path, capsys
) -> None:
    root = clone(origins["sha1"], tmp_path)
    sparse("gate/code", version=2, cone=True)(root)
    again = ["record", str(root / "gate/accuracy.toml"), "--out", str(tmp_path / "out"), "--quiet", "--reason", "new"]
    assert SPARSE in refused(capsys, main(again))
    assert not (root / "gate/references").exists()


@each("name", ["rows.csv", "code/mine.py"])
def test_a_link_that_is_checked_out_as_text_is_named(
    origins: dict[str, Path], tmp_path: Path, capsys, name: str
) -> None:
    origin = tmp_path / "origin"
    shutil.copytree(origins["sha1"], origin)
    place, target = origin / "gate" / name, origin / "data" / Path(name).name
    target.parent.mkdir()
    place.rename(target)
    place.symlink_to(os.path.relpath(target, place.parent))
    commit(origin)
    for links, code in (("true", 0), ("false", 2)):
        (folder := tmp_path / links).mkdir()
        gate = clone(origin, folder, "-c", f"core.symlinks={links}") / "gate"
        assert run(gate, folder / "out") == code
        assert ("is a link that this checkout holds as text; set core.symlinks" in said(capsys)) is (code == 2)
    (gate / "alone.txt").write_text("rows.csv")  # a text like any: the index has no such link
    assert absence_of(gate / "alone.txt") is None


def test_a_worktree_and_a_submodule_know_their_own_index(origins: dict[str, Path], tmp_path: Path) -> None:
    root = clone(origins["sha1"], tmp_path)
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "tree")
    sparse("gate/code", version=4, cone=True)(tmp_path / "tree")
    assert "sparse checkout" in (absence_of(tmp_path / "tree/gate/references/m/sums.toml") or "")
    (tmp_path / "tree/gate/code/mine.py").unlink()  # as nobody left out
    assert absence_of(tmp_path / "tree/gate/code/mine.py") is absence_of(tmp_path / "tree/no.csv") is None
    assert absence_of(root / "gate/references/m/no.toml") is None
    git(tmp_path, "init", "-q", "around")
    git(tmp_path / "around", "submodule", "add", "-q", str(root), "inner")
    sparse("gate/code", version=2, cone=True)(tmp_path / "around/inner")
    assert "sparse checkout" in (absence_of(tmp_path / "around/inner/gate/references/m/sums.toml") or "")
