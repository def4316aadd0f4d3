"""The plan of the house: imports run one way and in no circle, and a face is for names that several use."""

import ast
import importlib
import re
import sys
from collections import defaultdict
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from accgate.inputs.toml import tomllib
from tests.support.cases import each

ROOT = Path(__file__).parents[1]
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "accgate").rglob("*.py")
}
PACKAGES = sorted(module for module, path in FILES.items() if path.stem == "__init__")


@cache
def imports_of(path: Path) -> set[tuple[str, str]]:
    """What a file imports of accgate, wherever in it: pairs of a module and a name in it, "" for the module itself."""
    pairs = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            pairs |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(path.relative_to(ROOT).parts[: -node.level]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            pairs |= {(module, alias.name) for alias in node.names}
    return {
        (f"{module}.{name}", "") if f"{module}.{name}" in FILES else (module, name)
        for module, name in pairs
        if module in FILES
    }


@cache
def face(package: str) -> dict[str, tuple[str, str]]:
    """Where the names that a package hands out come from, by its stub."""
    stub = FILES[package].with_suffix(".pyi") if package in FILES else None
    pairs = imports_of(stub) if stub and stub.exists() else set()
    return {name or module.rpartition(".")[2]: (module, name) for module, name in pairs}


def home_of(module: str, name: str) -> str:
    """The module that defines what an import names, through all faces."""
    while name in face(module):
        module, name = face(module)[name]
    return module


@cache
def arrows() -> dict[str, set[str]]:
    """For each module the modules whose definitions it imports."""
    return {module: {home_of(*pair) for pair in imports_of(path)} - {module} for module, path in FILES.items()}


def unit_of(module: str) -> str:
    """The package or module in accgate's root that a module belongs to."""
    return ".".join(module.split(".")[:2])


def users_of(package: str, name: str) -> set[str]:
    """The modules outside of a package that take a name from its face, by import or as attribute."""
    users = set()
    for module, path in FILES.items():
        if f"{module}.".startswith(f"{package}."):
            continue
        imports, attribute = imports_of(path), f"{package.rpartition('.')[2]}.{name}"
        if (package, name) in imports or ((package, "") in imports and attribute in path.read_text(encoding="utf-8")):
            users.add(module)
    return users


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_the_layers_contract_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    cli = pytest.importorskip("importlinter.cli")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(cli, "_configure_logging", lambda _: None)  # it would disable the loggers of later tests
    assert cli.lint_imports(no_cache=True) == cli.EXIT_STATUS_SUCCESS


def test_a_face_hands_out_what_two_modules_outside_or_the_public_interface_use() -> None:
    public = set(face("accgate").values())
    # What aggregates raise is for those who call them.
    public |= {("accgate.metrics", name) for name in ("get", "aggregate", "UnusableRecords")}
    idle = [
        f"{package}.{name}"
        for package in PACKAGES
        if package != "accgate"
        for name in face(package)
        if (package, name) not in public and len(users_of(package, name)) < 2
    ]
    assert idle == []


def test_what_a_face_hands_out_is_imported_from_it() -> None:
    around = {
        f"{module} imports {name} from {target}, which {package} hands out"
        for package in PACKAGES
        if package != "accgate"
        for module, path in FILES.items()
        if not f"{module}.".startswith(f"{package}.") and module != "accgate"
        for target, name in imports_of(path)
        if face(package).get(name) == (target, name)
    }
    assert around == set()


def test_no_module_imports_itself_through_others() -> None:
    assert circle_in(arrows()) == []


def test_the_house_has_at_most_fifteen_levels() -> None:
    above: dict[str, set[str]] = defaultdict(set)
    for module, targets in arrows().items():
        above[unit_of(module)] |= {unit_of(target) for target in targets} - {unit_of(module)}
    for entrance in ("accgate", "accgate.__main__"):  # they stand outside of the layers
        above.pop(entrance, None)
    levels: dict[str, int] = {}
    for unit in TopologicalSorter(above).static_order():
        levels[unit] = 1 + max((levels[below] for below in above[unit]), default=0)
    assert max(levels.values()) <= 15, sorted(levels.items(), key=lambda item: -item[1])


def test_the_root_has_at_most_twelve_modules() -> None:
    assert len([*(ROOT / "accgate").glob("*.py")]) <= 12


@each("package", PACKAGES)
def test_a_face_says_what_it_is_for_and_hands_out_names_that_are_there(package: str) -> None:
    module = importlib.import_module(package)
    assert len((module.__doc__ or "").split()) >= 5
    for name in getattr(module, "__all__", ()):
        assert hasattr(module, name), name
        if f"{package}.{name}" in FILES:  # a room may be handed out as itself, and nothing else under its name
            assert getattr(module, name) is sys.modules[f"{package}.{name}"], f"{name} hides a room"


def test_the_page_on_the_layout_names_files_that_are_there_and_every_package_and_layer() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([a-z_/]+(?:\.pyi?|/))`", page)
    assert paths
    assert [path for path in paths if not (ROOT / "accgate" / path).exists() and not (ROOT / path).exists()] == []
    packages = {package.split(".")[1] for package in PACKAGES if "." in package}
    assert {package for package in packages if not re.search(rf"[`*]{package}(?:[/`*])", page)} == set()
    picture = (ROOT / "docs" / "pictures" / "layers.svg").read_text(encoding="utf-8")
    drawn = [name for row in re.findall(r'class="name"[^>]*>([^<]*)<', picture) for name in row.split(" \u00b7 ")]
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [name for layer in contract["contracts"][0]["layers"] for name in layer.split(" | ")]
    assert sorted(drawn) == sorted(set(layers) - {"_version"})
