"""Whether a base's tree has rules."""

from pathlib import Path

import pytest

from accgate.errors import BadInput
from accgate.guard.tree import has_rules

CONFIG = Path("gates/accuracy.toml")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base").mkdir()
    (tmp_path / "base/README").touch()
    return tmp_path / "base"


def has(base: Path) -> bool:
    return has_rules(base / CONFIG, base.with_name("head") / CONFIG)


def test_a_tree_without_the_folder_of_the_rules_has_none(base: Path) -> None:
    assert not has(base)


def test_an_empty_tree_has_none(base: Path) -> None:
    (base / "README").unlink()
    assert not has(base)


def test_a_folder_of_other_files_has_none(base: Path) -> None:
    (base / "gates").mkdir()
    (base / "gates/README").touch()
    assert not has(base)


def test_an_empty_file_is_one_that_is_there(base: Path) -> None:
    (base / "gates").mkdir()
    (base / CONFIG).touch()
    assert has(base)


@pytest.mark.parametrize("hide", [Path.mkdir, Path.touch, lambda path: path.symlink_to("module")])
def test_where_a_folder_is_empty_a_file_or_a_link_nothing_can_be_told(base: Path, hide: object) -> None:
    assert callable(hide)
    hide(base / "gates")
    with pytest.raises(BadInput, match="cannot tell whether the base has rules"):
        has(base)


def test_a_tree_that_is_not_there_is_bad_input(base: Path) -> None:
    with pytest.raises(BadInput, match="is not a folder"):
        has(base.with_name("nowhere"))
