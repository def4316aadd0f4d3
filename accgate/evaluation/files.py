"""The files that a model is made of, and the digests of their content."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from accgate.engines import model_file, split_options, split_parts
from accgate.engines.table import inner_of
from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs.paths import content_digest, json_table, path_in, table_in
from accgate.planning.judge import texts_in
from accgate.planning.model import PlannedModel
from accgate.records.file import FILES
from accgate.records.replacement import write_atomically

CHUNK = 1 << 22  # bytes between two looks whether a digest is still needed
FRESH = 2.0  # seconds; the times of a file changed so recently may not show a second change (FAT counts in 2 s)
AT_ONCE = 8  # files of a folder that are read at the same time
NOT_READ = frozenset({"download_dir"})  # options that name a folder on which no answer depends
OWN_FOLDERS = frozenset({".git", ".cache"})  # what git and the hub's client keep beside a checkpoint
SERVED_FILES = frozenset(
    {".gguf", ".safetensors", ".bin", ".pt", ".pth", ".onnx", ".engine", ".jinja", ".json", ".yaml", ".yml", ".toml"}
)  # files that a server's command may read, unlike its code
# Downloads what vLLM would, without second copies of the weights. It runs in a process, which can be killed.
DOWNLOAD = """
import sys
from huggingface_hub import snapshot_download
kept = ["*.safetensors", "*.json", "*.jinja", "*.txt", "*.model"]
name, revision, folder = sys.argv[1:]
skipped = ["original/*", "consolidated*"]
place = {"revision": revision or None, "cache_dir": folder or None}
snapshot_download(name, allow_patterns=kept, ignore_patterns=skipped, **place)
"""
LOOK, PATIENCE = 0.2, 2.0  # seconds between looks at a download, and of waiting for a thread that reads
DigestOf = Callable[[Path], str]


class Abandoned(Exception):
    """A digest is not needed any more."""


class FileDigests:
    """SHA-256 of files' contents, each read once.

    Digests are remembered by path, size, times and inode, in the `memory` file if there is one.
    """

    def __init__(self, memory: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._memory, self._clock = memory, clock
        self._digests = {} if memory is None else json_table(memory)
        self._new = False

    def __call__(self, path: Path, is_over: Callable[[], bool] = lambda: False) -> str:
        """Return the digest of a file's content, in hexadecimal.

        Raises
        ------
        OSError
            When the file cannot be read.
        Abandoned
            When `is_over` before the end of the file.
        """
        name, status = str(path.resolve()), path.stat()
        stamp = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev]
        remembered = self._digests.get(name)
        if isinstance(remembered, list) and remembered[:-1] == stamp and isinstance(remembered[-1], str):
            return remembered[-1]
        with path.open("rb") as file:
            digest = content_digest(_chunks(file, is_over))
        if self._clock() - max(status.st_mtime, status.st_ctime) > FRESH:
            self._digests[name] = [*stamp, digest]
            self._new = True
        return digest

    def save(self) -> None:
        """Write the digests down. A folder that cannot be written only costs time later."""
        if self._new and self._memory is not None:
            with suppress(OSError):  # two runs may save at once; a damaged memory is made anew
                write_atomically(self._memory, json.dumps(self._digests).encode())
                self._new = False


def _chunks(file: BinaryIO, is_over: Callable[[], bool]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        if is_over():
            raise Abandoned
        yield chunk


def content_of(planned: PlannedModel, digest_of: DigestOf) -> dict[str, str]:
    """Return the digest of every file that a model's answers depend on.

    The keys are the names of the files in the model's table. Only files on this machine count, not a server's weights
    and not names on the hub. A recording has no digest, since missing samples may be added to it.

    Raises
    ------
    CannotEvaluate
        When the weights cannot be read.
    """
    engine, options = inner_of(planned.settings.engine, planned.settings.options)
    model = replace(planned.settings, engine=engine, options=options)  # type: ignore[arg-type]  # the engine has checked it
    if model.engine == "recorded":
        return {}
    planned = replace(planned, settings=model)
    content = {}
    if model.engine != "openai":  # there it is a name on the server
        try:
            with suppress(BadInput):  # replicas may read a file that only their machines have
                if (digest := weights_digest(planned, digest_of)) is not None:
                    content[model.model] = digest
        except OSError as error:
            fault = f"cannot be read: {error.strerror}; correct that, then run again"
            raise CannotEvaluate(f"{error.filename}: {fault}") from error
    answering, _ = split_options(model.engine, model.options)
    if isinstance(command := answering.get("serve"), (list, tuple)):
        answering["serve"] = [word for word in command if not _is_program(word, planned.folder)]
    for _, _, text, path in named_paths([answering, model.sampling.extra], planned.folder):
        if path is not None and (path.is_file() or _holds_model(path, planned.folder)):
            with suppress(OSError):  # a command may name what only root reads
                content[text] = tree_digest(path, digest_of)
    return content


def _is_program(word: str, folder: Path) -> bool:
    """Tell whether a word of a server's command is its code.

    Each machine may build a server of its own, so its code does not count.
    """
    path = path_named(word, folder)
    return path is not None and path.is_file() and path.suffix not in SERVED_FILES


def changed_content(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Name the files whose content has changed between two settings of records.

    Only files that both settings name count.
    """
    before, after = (table_in(settings, FILES) for settings in (earlier, now))
    return sorted(name for name in before.keys() & after.keys() if before[name] != after[name])


def _holds_model(path: Path, project: Path) -> bool:
    """Tell whether a folder holds a checkpoint, an adapter or a tokenizer.

    A folder that contains the project is not one.
    """
    around = project.resolve()
    is_model = path.is_dir() and next(path.glob("*config.json"), None) is not None
    return is_model and path.resolve() not in (around, *around.parents)


def weights_digest(planned: PlannedModel, digest_of: DigestOf) -> str | None:
    """Return the digest of a model's file or folder.

    The result is None if there is no such path on this machine.

    Raises
    ------
    BadInput
        When its engine needs a file, and there is none.
    """
    model = planned.settings
    with planned.locating():
        file = model_file(model.engine, model.model, planned.folder)
    if file is not None:
        return digest_of_value([[part.name, digest_of(part)] for part in split_parts(file)])
    path = path_in(planned.folder, model.model)
    return tree_digest(path, digest_of) if path.exists() else None


def tree_digest(path: Path, digest_of: DigestOf) -> str:
    """Return the digest of a file, or of a folder's files and names."""
    if path.is_file():
        parts = split_parts(path)
        return digest_of(path) if len(parts) < 2 else digest_of_value([[each.name, digest_of(each)] for each in parts])
    names = sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())
    names = [name for name in names if not OWN_FOLDERS.intersection(name.parts)]
    with ThreadPoolExecutor(AT_ONCE) as readers:
        digests = readers.map(digest_of, [path / name for name in names])
        return digest_of_value([[name.as_posix(), digest] for name, digest in zip(names, digests, strict=True)])


def named_paths(value: Any, folder: Path) -> Iterator[tuple[Mapping[str, Any], str, str, Path | None]]:
    """Yield (table, key, text, path) of every text that may name a file.

    The path is None where there is no such file or folder.
    """
    for table in tables_in(value):
        for key, entry in table.items():
            if key not in NOT_READ and not isinstance(entry, Mapping):
                yield from ((table, key, text, path_named(text, folder)) for text in texts_in([entry]))


def path_named(text: str, folder: Path) -> Path | None:
    """Return the file or folder that a text names, if there is one.

    The text may be the path alone, or `name=path`.
    """
    names = (text, text.partition("=")[2])
    places = (place for name in names if name for place in (path_in(folder, name), Path(name)))
    return next((place for place in places if os.path.exists(place)), None)  # noqa: PTH110 (Path's own may raise)


def tables_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every table within a value."""
    if isinstance(value, Mapping):
        yield value
        for each in value.values():
            yield from tables_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tables_in(each)


def digest_of_value(value: Any) -> str:
    """Return the digest of plain data."""
    text = json.dumps(value, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Prefetch:
    """The files of a run's next model, read while another model answers.

    They go into memory, or are downloaded. A failure is ignored: the model's own turn will show it.
    """

    def __init__(self, planned: PlannedModel, digests: FileDigests) -> None:
        self._planned, self._digests, self._over = planned, digests, threading.Event()
        self._download: subprocess.Popen[bytes] | None = None
        self._left = free_memory()
        self._thread = threading.Thread(target=self._work, daemon=True, name="prefetch")
        self._thread.start()

    def _work(self) -> None:
        with suppress(Exception):
            model = self._planned.settings
            if model.engine == "vllm" and not path_in(self._planned.folder, model.model).exists():
                self._begin_download(model.model, model.options)
            else:
                content_of(self._planned, self._read)

    def _read(self, path: Path) -> str:
        self._left -= path.stat().st_size
        if self._left < 0:  # reading on would push out the files that were read first
            raise Abandoned
        return self._digests(path, self._over.is_set)

    def _begin_download(self, name: str, options: Mapping[str, Any]) -> None:
        if options.get("load_format", "auto") in ("auto", "safetensors"):
            words = (str(options.get(each) or "") for each in ("revision", "download_dir"))
            self._download = subprocess.Popen(
                [sys.executable, "-I", "-c", DOWNLOAD, name, *words],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            while self._download.poll() is None and not self._over.wait(LOOK):
                pass
            self._download.kill()
            self._download.wait()

    def end(self) -> None:
        """Stop reading and downloading."""
        self._over.set()
        self._thread.join(PATIENCE)


def free_memory() -> int:
    """Return the bytes of available memory, cached files included.

    The result is 0 if the machine does not say.
    """
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1])
    return 0
