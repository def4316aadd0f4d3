"""The files of the repository that a judge's settings name or declare."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from accgate.config.config import Config
from accgate.config.tables import Judge
from accgate.engines import split_parts
from accgate.inputs.paths import path_in
from accgate.metrics.code import code_files, declared_files
from accgate.sandbox.declared import Code

PARTING = r"[\s=,;:@'\"()\[\]{}]"  # what parts the paths of a text
LONGEST = 1000  # characters of a path


def judge_code(config: Config, name: str) -> Code | None:
    """Return the code that a judge's command consists of. It is None without a command, and outside a repository."""
    judge = config.judges[name]
    if not config.trees or not judge.options.get("serve"):
        return None
    table = f"[judges.{name}] of {config.source.path}"
    files = tuple(dict.fromkeys(file for _, file in judge_files(config, judge)))
    return Code(f"the command of judge {name}", files, config.trees, table, config.folder)


def judge_files(config: Config, judge: Judge) -> Iterator[tuple[str, Path]]:
    """Yield name and path of every file that a judge's settings name.

    Files of the repository count, in folders too.

    Raises
    ------
    BadInput
        When a declared file is not there.
    """
    for text in judge_names(config, judge):
        path = config.path(text)
        if os.path.isabs(text) or text.startswith("~"):  # noqa: PTH117 (weights elsewhere on the machine)
            continue
        of_code = path.suffix == ".py" and path.is_file()
        files = code_files(path, config.folder) if of_code else declared_files(config.folder, [text])
        yield from ((text, file) for file in files)


def judge_names(config: Config, judge: Judge) -> Iterator[str]:
    """Yield what names a file or folder in a judge's settings.

    Weights, templates, words of its command and `files` do.
    """
    yield from judge.files
    words = (word for text in texts_in([judge.model, judge.options, judge.sampling.extra]) for word in _words(text))
    for text in dict.fromkeys(words):
        if len(text) < LONGEST and text.strip("./") and os.path.lexists(path_in(config.folder, text)):
            parts = split_parts(path_in(config.folder, text))
            yield from [text] if len(parts) < 2 else (str(Path(text).with_name(part.name)) for part in parts)


def _words(text: str) -> Iterator[str]:
    """Split a text into the parts that may be a path.

    `--chat-template=judge.jinja` contains a path, and a module's name stands for its file.
    """
    yield text
    if len(text) < LONGEST:  # a file's name may contain such marks; or an option precedes it, as in -mFILE
        yield from (text[match.end() :] for match in re.finditer(rf"{PARTING}|^-\w", text))
    for word in re.split(f"{PARTING}+", text):
        yield word
        if re.fullmatch(r"\w+(\.\w+)*", word):
            yield from (word.replace(".", "/") + end for end in (".py", ""))


def texts_in(value: Any) -> Iterator[str]:
    """Yield every text in a value of a table, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from texts_in(inner)
