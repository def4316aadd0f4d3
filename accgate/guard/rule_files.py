"""The files that rules are read from.

They must lie in the repository of their accuracy.toml.
"""

import glob
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from accgate.config.config import Config
from accgate.config.tables import Judge, TaskSettings
from accgate.errors import BadInput, Key, reading
from accgate.guard.tree import Tree
from accgate.inputs.checkout import stand_in_of
from accgate.inputs.parquet import is_parquet
from accgate.inputs.paths import IN_COMMIT, file_digest, path_in
from accgate.metrics.code import code_folder, own_file
from accgate.planning.judge import judge_files, judge_names, texts_in
from accgate.tasks import Definition, read_definition, read_rows
from accgate.tasks.lm_eval.harness import included_files
from accgate.tasks.sample import picture_file

FIX = "put it into the repository, and write its path relative to this file"
LINK_FIX = "put a plain file there"


def within(config: Config, tree: Tree) -> Config:
    """Return the config, bound to a tree.

    Every file that its rules name must lie in there.

    Raises
    ------
    BadInput
        For each rule that leads out: file, line, key and the fix.
    """
    if faults := list(dict.fromkeys(_faults(config, tree))):
        raise BadInput(*faults)
    return replace(config, trees=(tree.root, *(tree.jobs or tree.others)))


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
        for text in judge_names(config, judge):
            if text not in judge.files and (os.path.isabs(text) or text.startswith("~")):  # noqa: PTH117
                yield from _into_trees(config, ("judges", name), text, tree)
            elif faults := list(of(("judges", name), text)):
                yield from faults
            else:
                yield from _code_faults(config.path(text), config.folder, tree)
    outside = list(of(("gate", "references"), config.gate.references))
    yield from outside or _link_faults(config.references, tree)
    for name, task in config.tasks.items():
        keys = ("file", "dataset", "few_shot_dataset")
        faults = [text for key in keys for text in of(("tasks", name, key), getattr(task, key))]
        for option, text in _own_places(task):
            outside = list(of(("tasks", name, "options", option), text))
            faults += outside or _link_faults(config.path(text), tree)
        yield from faults or _definition_faults(config, name, tree)


def _definition_faults(config: Config, name: str, tree: Tree) -> list[str]:
    """Yield the faults of files that a task's definition and its rows name."""
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
    """Yield the faults of the files that a definition names.

    They are the dataset, the solved examples, and a metric's code.
    """
    content, folder = definition.content, definition.folder
    named: dict[Key, str | None] = {
        ("dataset", "file"): content.dataset.file,
        ("dataset", "join", "file"): None if content.dataset.join is None else content.dataset.join.file,
        ("few_shot", "file"): content.few_shot.file,
        ("metric",): own_file(content.metric),
    }
    named |= {("files", number): text for number, text in enumerate(content.files)}
    for key, text in named.items():
        if text is None:
            continue
        if fault := tree.fault(folder, text):
            yield from definition.fault(key, f"is {text!r}, which {fault}; {FIX}").messages
        elif key[0] in ("metric", "files"):
            yield from _code_faults(folder / text, folder, tree)


def _picture_faults(config: Config, name: str, definition: Definition, tree: Tree) -> Iterator[str]:
    for number, text, folder in _pictures(config, name, definition):
        if fault := tree.fault(folder, text):
            yield f"{_rows_file(config, name, definition)}: row {number}: the picture {text!r} {fault}; {FIX}"


def _own_places(task: TaskSettings) -> Iterator[tuple[str, str]]:
    """Yield option and text of each file that an lm-eval task names.

    Folders are included.
    """
    for option in ("include_path", "files") if task.lm_eval is not None else ():
        yield from ((option, text) for text in texts_in(task.options.get(option)))


def _link_faults(folder: Path, tree: Tree) -> Iterator[str]:
    """Yield the links in a folder that leave the tree.

    The files that Git LFS keeps elsewhere are faults too. Folders behind other links are searched, each once.
    """
    rest, seen = [folder], set()
    while rest:
        place = rest.pop()
        if (real := os.path.realpath(place)) in seen or not place.is_dir():
            continue
        seen.add(real)
        with reading(place, IN_COMMIT):
            entries = sorted(place.iterdir())
        for path in entries:
            if (path.is_symlink() or stand_in_of(path)) and (fault := tree.fault(path.parent, path.name)):
                yield f"{path}: {fault}; {LINK_FIX}"
            else:
                rest.append(path)


def _code_faults(path: Path, folder: Path, tree: Tree) -> Iterator[str]:
    """Yield the links that leave the tree.

    They are in a folder, or beside a file of code.
    """
    place = code_folder(path, folder) if path.suffix == ".py" and path.is_file() else path
    yield from () if place is None else _link_faults(place, tree)


def _is_outside(text: str) -> bool:
    """Tell whether a text names a path outside of its folder.

    Any spelling that a loader knows counts.
    """
    place = text.rpartition("::")[2]  # where an archive lies
    return place.startswith(("/", "~")) or ".." in place.split("/") or place.casefold().startswith(("file:", "local:"))


def _hub_faults(definition: Definition) -> Iterator[str]:
    """Yield faults where the loader of hub datasets would read this machine's files.

    A folder may have the dataset's name, and options may name files.
    """
    dataset, fix = definition.content.dataset, "name files of the repository with dataset.file"
    for key, source in ((("dataset", "hub"), dataset), (("dataset", "join", "hub"), dataset.join)):
        if source is None or source.hub is None:
            continue
        local = [source.hub] if Path(source.hub).exists() else []
        is_builder = "/" not in source.hub  # json, csv and their like
        local += [text for text in texts_in(source.options) if _is_read_here(text, is_builder=is_builder)]
        for name in local:
            yield from definition.fault(key, f"leads to {name!r}, a file or folder here; {fix}").messages


def _is_read_here(text: str, *, is_builder: bool) -> bool:
    """Tell whether a loader would take a text for a local path.

    The text is one of its options.
    """
    return _is_outside(text) or (is_builder and bool(glob.glob(text.rpartition("::")[2], recursive=True)))  # noqa: PTH207


def _into_trees(config: Config, key: Key, text: str, tree: Tree) -> Iterator[str]:
    """Yield the absolute paths of judges' weights that lead into a checkout.

    Elsewhere on the machine weights may lie.
    """
    target = os.path.realpath(path_in(config.folder, text))
    if any(Path(target).is_relative_to(os.path.realpath(root)) for root in (tree.root, *tree.others)):
        yield config.source.error(key, f"names {text!r}, which is an absolute path into a checkout; {FIX}")


def judge_digests(config: Config, judge: Judge) -> list[tuple[str, str]]:
    """Return name and digest of every file that a judge's settings name.

    Weights outside of the repository are left out.
    """
    return [(f"{text}/{file.name}", file_digest(file)) for text, file in judge_files(config, judge)]


def included_digests(config: Config, task: TaskSettings) -> list[tuple[str, str]]:
    """Return name and digest of every file that an lm-eval task reads.

    Only the repository's own files count.
    """
    files = () if task.lm_eval is None else included_files(task.options, config.folder)
    return sorted((os.path.relpath(file, config.folder), file_digest(file)) for file in files)


def picture_digests(config: Config, name: str, definition: Definition) -> list[tuple[str, str]]:
    """Return name and digest of every picture that the rows of a task name."""
    return [(text, file_digest(folder / text)) for _, text, folder in _pictures(config, name, definition)]


def _rows_file(config: Config, name: str, definition: Definition) -> Path | None:
    """Return the file with a task's rows.

    Rows that come from the hub or are generated have none.
    """
    if (own := config.tasks[name].dataset) is not None:
        return config.path(own)
    file = definition.content.dataset.file
    return None if file is None else definition.folder / file


def _pictures(config: Config, name: str, definition: Definition) -> Iterator[tuple[int, str, Path]]:
    """Yield row, text and folder of each picture that is a file.

    The pictures of a joined source are included.
    """
    content, own = definition.content, config.tasks[name].dataset
    file, join = _rows_file(config, name, definition), content.dataset.join
    if not content.images:
        return
    folder = definition.folder if own is None or file is None else file.parent
    joined = None if own is not None or join is None or join.file is None else definition.folder / join.file
    for source, path in ((file, content.dataset.path), (joined, None)):
        if source is None or is_parquet(source):  # whose rows hold their pictures
            continue
        for number, row in enumerate(read_rows(source, path), 1):
            for column in content.images:
                if picture_file(row.get(column), folder) is not None:
                    value = row[column]
                    yield number, value if isinstance(value, str) else value["path"], folder
