"""Whether a base's tree has rules."""

from pathlib import Path

import pytest

from accgate.errors import BadInput
from accgate.guard.tree import has_rules

CONFIG = Path("gates/accuracy.toml")


def has(tree: Path, *names: str) -> bool:
    """Whether a tree of these files has rules."""
    for path in (tree / "base" / name for name in names):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return has_rules(tree / "base" / CONFIG, tree / "head" / CONFIG)


@pytest.mark.parametrize("more", ["README", "gates/README", str(CONFIG)])
def test_a_tree_has_rules_where_the_file_is_there_though_it_is_empty(tmp_path: Path, more: str) -> None:
    assert has(tmp_path, "README", more) == (more == str(CONFIG))


@pytest.mark.parametrize("hide", [Path.mkdir, Path.touch, lambda path: path.symlink_to("module")])
def test_where_a_folder_is_empty_a_file_or_a_link_nothing_can_be_told(tmp_path: Path, hide: object) -> None:
    assert callable(hide)
    (tmp_path / "base").mkdir()
    hide(tmp_path / "base/gates")
    with pytest.raises(BadInput, match="cannot tell whether the base has rules"):
        has(tmp_path)


def test_a_tree_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not a folder"):
        has(tmp_path)
