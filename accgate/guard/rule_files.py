"""Every file that rules are read from: that it lies in the repository of its accuracy.toml, and what is in it."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from accgate.config.config import Config
from accgate.config.tables import Judge, TaskSettings
from accgate.engines import split_parts
from accgate.errors import BadInput, Key
from accgate.guard.tree import Tree, is_pointer
from accgate.inputs.paths import all_below, file_digest, path_in, read_plain
from accgate.metrics.code import code_files
from accgate.metrics.own import own_file
from accgate.tasks import Definition, read_definition, read_rows
from accgate.tasks.rows import is_parquet
from accgate.tasks.sample import picture_file

FIX = "put it into the repository, and write its path relative to this file"
LINK_FIX = "put a plain file there"
YAML_PATHS = ("include", "task", "dataset_path", "dataset_kwargs", "data_dir", "data_files")  # keys of paths
FUNCTION = "!function"  # the tag of lm-eval's functions
PARTING = r"[\s=,;:@'\"()\[\]{}]"  # what parts the paths of a text
LONGEST = 1000  # characters of a path
MOST_YAML = 1_000_000  # bytes


def within(config: Config, tree: Tree) -> Config:
    """The config, once every file that its rules name lies in the tree; code of its rules is bound to the tree too.

    Raises
    ------
    BadInput
        For each rule that leads out: file, line, key and the fix.
    """
    if faults := list(dict.fromkeys(_faults(config, tree))):
        raise BadInput(*faults)
    return replace(config, trees=(tree.root, *tree.others))


def _faults(config: Config, tree: Tree) -> Iterator[str]:
    source = config.source.path
    if fault := tree.fault_of_config(source):
        yield f"{source}: {fault}; {LINK_FIX}"
        return

    def of(key: Key, name: str | None) -> Iterator[str]:
        fault_of = tree.fault_with_dots if key[0] in ("gate", "judges") else tree.fault
        if name is not None and (fault := fault_of(config.folder, name)):
            yield config.source.error(key, f"is {name!r}, which {fault}; {FIX}")

    yield from of(("report", "template"), config.report.template)
    for name, judge in config.judges.items():
        for text in _judge_paths(config, judge):
            if os.path.isabs(text) or text.startswith("~"):  # noqa: PTH117
                yield from _into_trees(config, ("judges", name), text, tree)
            else:
                faults = list(of(("judges", name), text))
                yield from faults or _used_faults(config, ("judges", name), config.path(text), tree)
    outside = list(of(("gate", "references"), config.gate.references))
    yield from outside or _link_faults(config.references, tree)
    for name, task in config.tasks.items():
        keys = ("file", "dataset", "few_shot_dataset")
        faults = [text for key in keys for text in of(("tasks", name, key), getattr(task, key))]
        if included := included_folder(config, task):
            faults += of(("tasks", name, "options", "include_path"), str(task.options["include_path"]))
            faults += [] if faults else [*_link_faults(included, tree), *_include_faults(included)]
        yield from faults or _definition_faults(config, name, tree)


def _definition_faults(config: Config, name: str, tree: Tree) -> list[str]:
    """The faults of files that a task's definition and its rows name."""
    task = config.tasks[name]
    if task.lm_eval is not None:
        return []
    try:
        definition = read_definition(config.definition_path(name))
        if task.file is not None and (faults := list(_named_faults(definition, tree))):
            return faults
        hub = _hub_faults(definition) if task.dataset is None else ()
        return [*hub, *_picture_faults(config, name, definition, tree)]
    except BadInput:  # who reads it reports it
        return []


def _named_faults(definition: Definition, tree: Tree) -> Iterator[str]:
    """The faults of the dataset, of solved examples, and of a metric with what its code imports and names."""
    content, folder = definition.content, definition.folder
    metric = own_file(content.metric)
    named: dict[Key, str | None] = {
        ("dataset", "file"): content.dataset.file,
        ("dataset", "join", "file"): None if content.dataset.join is None else content.dataset.join.file,
        ("few_shot", "file"): content.few_shot.file,
        ("metric",): metric,
    }
    for key, text in named.items():
        if text is not None and (fault := tree.fault(folder, text)):
            yield from definition.fault(key, f"is {text!r}, which {fault}; {FIX}").messages
    if metric is None or tree.fault(folder, metric):
        return
    for file in code_files(folder / metric)[1:]:
        if fault := tree.fault(folder, os.path.relpath(file, folder)):
            yield from definition.fault(("metric",), f"uses {file}, which {fault}; {FIX}").messages


def _picture_faults(config: Config, name: str, definition: Definition, tree: Tree) -> Iterator[str]:
    for number, text, folder in _pictures(config, name, definition):
        if fault := tree.fault(folder, text):
            yield f"{_rows_file(config, name, definition)}: row {number}: the picture {text!r} {fault}; {FIX}"


def included_folder(config: Config, task: TaskSettings) -> Path | None:
    """The folder with task files of the user's own that a task of lm-eval includes; None where there is none."""
    name = task.options.get("include_path") if task.lm_eval is not None else None
    return config.path(name) if isinstance(name, str) else None


def _link_faults(folder: Path, tree: Tree) -> Iterator[str]:
    """The links in a folder that leave the tree, and the files that Git LFS keeps elsewhere."""
    for path in all_below(folder):
        if (path.is_symlink() or is_pointer(path)) and (fault := tree.fault(path.parent, path.name)):
            yield f"{path}: {fault}; {LINK_FIX}"


def _include_faults(folder: Path) -> Iterator[str]:
    """The task files of lm-eval that include, load code, or read a dataset from a path that leaves their folder."""
    rest, seen = [path for path in all_below(folder) if path.suffix in (".yaml", ".yml")], set[Path]()
    while rest:
        path = rest.pop(0)
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        for key, node in _named_in_yaml(path):
            if _is_outside(node.value) or (key == FUNCTION and node.value.startswith(".")):  # dots become slashes
                yield f"{path}:{node.start_mark.line + 1}: names a path that leaves {folder}; {FIX}"
            elif key == "include":  # a file of any ending
                rest.append(path.parent / node.value)


def _named_in_yaml(path: Path) -> Iterator[tuple[str, Any]]:
    """The key and the node of each text of a YAML file that is a path, or by its tag a function.

    Raises
    ------
    BadInput
        When the file cannot be read as YAML.
    """
    try:
        import yaml
    except ImportError as error:
        raise BadInput(f"{path}: YAML files need the package pyyaml: pip install 'accgate[lm-eval]'") from error
    try:
        nodes = [("", yaml.compose(read_plain(path, MOST_YAML), Loader=yaml.SafeLoader))]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: is not YAML: {error}") from error
    seen = set[tuple[str, int]]()
    while nodes:
        key, node = nodes.pop(0)
        if (key, id(node)) in seen:  # an alias is the node of its anchor
            continue
        seen.add((key, id(node)))
        if isinstance(node, yaml.MappingNode):
            names = [(key or (name.value if isinstance(name, yaml.ScalarNode) else ""), of) for name, of in node.value]
            nodes += [(name if name in YAML_PATHS else "", of) for name, of in names]
        elif isinstance(node, yaml.SequenceNode):
            nodes += [(key, each) for each in node.value]
        elif node is not None and (key or node.tag == FUNCTION):
            yield (FUNCTION if node.tag == FUNCTION else key), node


def _is_outside(text: str) -> bool:
    """Whether a text names a path outside of the folder from which it starts, in any spelling that a loader knows."""
    place = text.rpartition("::")[2]  # where an archive lies
    return place.startswith(("/", "~")) or ".." in place.split("/") or place.casefold().startswith(("file:", "local:"))


def _hub_faults(definition: Definition) -> Iterator[str]:
    """What the loader of hub datasets would read here: a folder of the dataset's name, and files that options name."""
    dataset, fix = definition.content.dataset, "name files of the repository with dataset.file"
    for key, source in ((("dataset", "hub"), dataset), (("dataset", "join", "hub"), dataset.join)):
        if source is None or source.hub is None:
            continue
        local = [source.hub] if Path(source.hub).exists() else []
        is_builder = "/" not in source.hub  # json, csv and their like
        local += [text for text in _texts(source.options) if _is_read_here(text, is_builder=is_builder)]
        for name in local:
            yield from definition.fault(key, f"leads to {name!r}, a file or folder here; {fix}").messages


def _is_read_here(text: str, *, is_builder: bool) -> bool:
    """Whether a loader would take a text of its options for a path of this machine, whatever lies there now."""
    if _is_outside(text):
        return True
    return is_builder and bool(glob.glob(text.rpartition("::")[2], recursive=True))  # noqa: PTH207


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _judge_paths(config: Config, judge: Judge) -> Iterator[str]:
    """What names a file or folder in a judge's settings: weights, adapters, chat templates, words of its command."""
    words = (word for text in _texts([judge.model, judge.options, judge.sampling.extra]) for word in _words(text))
    for text in dict.fromkeys(words):
        if len(text) < LONGEST and text.strip("./") and os.path.lexists(path_in(config.folder, text)):
            parts = split_parts(path_in(config.folder, text))
            yield from [text] if len(parts) < 2 else (str(Path(text).with_name(part.name)) for part in parts)


def _words(text: str) -> Iterator[str]:
    """A text, the parts of it that may be a path, as in `--chat-template=judge.jinja`, and the file of a module."""
    yield text
    if len(text) < LONGEST:  # a name may hold what parts others; -mFILE
        yield from (text[match.end() :] for match in re.finditer(rf"{PARTING}|^-\w", text))
    for word in re.split(f"{PARTING}+", text):
        yield word
        if re.fullmatch(r"\w+(\.\w+)*", word):
            yield from (word.replace(".", "/") + end for end in (".py", ""))


def _used_faults(config: Config, key: Key, path: Path, tree: Tree) -> Iterator[str]:
    """The faults of what a judge's folder holds, or its code imports and names."""
    if path.is_dir():
        yield from _link_faults(path, tree)
        return
    for file in _files_at(path, config.folder):
        if fault := tree.fault(config.folder, os.path.relpath(file, config.folder)):
            yield config.source.error(key, f"uses {file}, which {fault}; {FIX}")


def _into_trees(config: Config, key: Key, text: str, tree: Tree) -> Iterator[str]:
    """Weights of a judge may lie elsewhere on the machine, but are named by an absolute path in no checkout."""
    target = os.path.realpath(path_in(config.folder, text))
    if any(Path(target).is_relative_to(os.path.realpath(root)) for root in (tree.root, *tree.others)):
        yield config.source.error(key, f"names {text!r}, which is an absolute path into a checkout; {FIX}")


def judge_digests(config: Config, judge: Judge) -> list[tuple[str, str]]:
    """Name and digest of every file of the repository that a judge's settings name."""
    names = [text for text in _judge_paths(config, judge) if not os.path.isabs(text)]  # noqa: PTH117
    files = [(text, file) for text in names for file in _files_at(config.path(text), config.folder)]
    return [(f"{text}/{file.name}", file_digest(file)) for text, file in files]


def _files_at(path: Path, folder: Path) -> Iterable[Path]:
    if path.suffix == ".py" and path.is_file():  # with what it imports and names, from where its command runs too
        return dict.fromkeys((*code_files(path), *code_files(path, folder)))
    return [path] if path.is_file() else [file for file in all_below(path) if file.is_file()]


def included_digests(config: Config, task: TaskSettings) -> list[tuple[str, str]]:
    """Name and digest of every file in the folder that a task of lm-eval includes."""
    folder = included_folder(config, task)
    if folder is None:
        return []
    return sorted(
        (file.relative_to(folder).as_posix(), file_digest(file)) for file in all_below(folder) if file.is_file()
    )


def picture_digests(config: Config, name: str, definition: Definition) -> list[tuple[str, str]]:
    """Name and digest of every picture that the rows of a task name."""
    return [(text, file_digest(folder / text)) for _, text, folder in _pictures(config, name, definition)]


def _rows_file(config: Config, name: str, definition: Definition) -> Path | None:
    """The file with a task's rows; None where they come from the hub or are generated."""
    if (own := config.tasks[name].dataset) is not None:
        return config.path(own)
    file = definition.content.dataset.file
    return None if file is None else definition.folder / file


def _pictures(config: Config, name: str, definition: Definition) -> Iterator[tuple[int, str, Path]]:
    """Row, text and folder of each picture that is a file."""
    content, file = definition.content, _rows_file(config, name, definition)
    if file is None or not content.images or is_parquet(file):  # whose rows hold their pictures
        return
    folder = definition.folder if config.tasks[name].dataset is None else file.parent
    for number, row in enumerate(read_rows(file, content.dataset.path), 1):
        for column in content.images:
            if picture_file(row.get(column), folder) is not None:
                value = row[column]
                yield number, value if isinstance(value, str) else value["path"], folder
