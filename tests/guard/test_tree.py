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


@pytest.mark.parametrize(
    ("names", "expected"),
    [((), False), (("README",), False), (("README", "gates/README"), False), (("README", str(CONFIG)), True)],
)
def test_a_tree_has_rules_where_the_file_is_there_empty_or_not(
    tmp_path: Path, names: tuple[str, ...], expected: bool
) -> None:
    for name in names:
        (tmp_path / "base" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "base" / name).touch()
    (tmp_path / "base").mkdir(exist_ok=True)
    assert has(tmp_path / "base") == expected


@pytest.mark.parametrize("hide", [Path.mkdir, Path.touch, lambda path: path.symlink_to("module")])
def test_where_a_folder_is_empty_a_file_or_a_link_nothing_can_be_told(base: Path, hide: object) -> None:
    assert callable(hide)
    hide(base / "gates")
    with pytest.raises(BadInput, match="cannot tell whether the base has rules"):
        has(base)


def test_a_tree_that_is_not_there_is_bad_input(base: Path) -> None:
    with pytest.raises(BadInput, match="is not a folder"):
        has(base.with_name("nowhere"))
