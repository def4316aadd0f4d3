"""Files of Inspect, JSON or archives, and the texts of their samples."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, needing
from accgate.inputs.paths import read_plain

LARGEST = 2_000_000_000  # bytes of a log, packed and unpacked
RATIO, FREE = 200, 100_000_000  # what an archive may unpack to: so many times its size, or so many bytes
REDUCTIONS = "reductions.json"
LOCAL_HEADER = struct.Struct("<4s22xHH")  # of a ZIP member: signature, then the lengths of its name and extra field
ZSTANDARD = 93  # the compression method's number; Python's zipfile knows it from 3.14


@dataclass(frozen=True)
class Log:
    """A finished log, with its specification, its results, and every sample."""

    path: Path
    eval: dict[str, Any]
    results: dict[str, Any]
    samples: tuple[dict[str, Any], ...]
    reductions: tuple[dict[str, Any], ...] = ()


def read_log(path: Path) -> Log:
    """Read a log.

    Raises
    ------
    BadInput
        When it is cut off or damaged, is of an evaluation that did not finish, or holds no samples.
    CannotEvaluate
        When the package that reads Zstandard is missing.
    """
    raw = read_plain(path, LARGEST)
    header = _from_archive(path, raw) if raw[:2] == b"PK" else _json(path, path.name, raw)
    status, samples = header.get("status"), header.get("samples")
    if status != "success":
        raise BadInput(f"{path}: the evaluation's status is {status!r}, not success; import a finished one")
    if header.get("invalidated"):
        raise BadInput(f"{path}: some of its samples are marked invalid; evaluate them again, or import another log")
    spec, results = header.get("eval"), header.get("results")
    if not isinstance(spec, dict) or not isinstance(results, dict):
        raise BadInput(f"{path}: holds no eval or no results; is it a log of Inspect?")
    if not isinstance(samples, list) or not samples or not all(isinstance(sample, dict) for sample in samples):
        raise BadInput(f"{path}: holds no samples; run inspect eval with --log-samples, and import the whole log")
    return Log(path, spec, results, tuple(samples), tuple(header.get("reductions") or ()))


def _from_archive(path: Path, raw: bytes) -> dict[str, Any]:
    """Return the log in an archive as one in JSON holds it."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
    except zipfile.BadZipFile as error:
        raise BadInput(f"{path}: is cut off or damaged ({error}); copy it again, or repeat the evaluation") from error
    members = archive.NameToInfo  # the last of each name: Inspect writes a changed member anew, at the end
    most = min(LARGEST, max(FREE, RATIO * len(raw)))
    if (size := sum(info.file_size for info in members.values())) > most:
        raise BadInput(f"{path}: unpacks to {size:,} bytes, more than {most:,}; is it a log of Inspect?")
    if "header.json" not in members:
        raise BadInput(f"{path}: has no header.json: the evaluation did not finish; run `inspect eval-retry` on it")
    header: dict[str, Any] = _json(path, "header.json", _member(path, raw, members["header.json"]))
    if REDUCTIONS in members:
        header["reductions"] = _json(path, REDUCTIONS, _member(path, raw, members[REDUCTIONS]), list)
    names = [name for name in members if name.startswith("samples/") and name.endswith(".json")]
    return header | {"samples": [_json(path, name, _member(path, raw, members[name])) for name in names]}


def _member(path: Path, raw: bytes, info: zipfile.ZipInfo) -> bytes:
    """Return a member's content, checked by its CRC."""
    try:
        signature, name_length, extra_length = LOCAL_HEADER.unpack_from(raw, info.header_offset)
        start = info.header_offset + LOCAL_HEADER.size + name_length + extra_length
        packed = raw[start : start + info.compress_size]
        content = _unpack(packed, info.compress_type, info.file_size)
        if signature != b"PK\x03\x04" or len(content) != info.file_size or zlib.crc32(content) != info.CRC:
            raise ValueError("its checksum differs")
    except (struct.error, ValueError, zlib.error) as error:
        raise BadInput(f"{path}: {info.filename} is damaged ({error}); copy the log again") from error
    return content


def _unpack(packed: bytes, method: int, size: int) -> bytes:
    """Unpack a member's content, at most a byte more than its size says.

    The length of a larger one then differs, so that it is refused.
    """
    if method == zipfile.ZIP_STORED:
        return packed
    if method == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, size + 1)
    if method != ZSTANDARD:
        raise ValueError(f"compression method {method} is unknown")
    with needing("this .eval log needs the package zstandard", "interop"):
        import zstandard
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            return bytes(reader.read(size + 1))
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error


def _json(path: Path, name: str, raw: bytes, kind: type = dict) -> Any:
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: {name} is not JSON ({error}); is the file cut off?") from error
    if not isinstance(content, kind):
        raise BadInput(f"{path}: {name} is not a JSON {'object' if kind is dict else 'array'}; is it a log of Inspect?")
    return content


ATTACHMENT = "attachment://"  # a long text, kept once, by its hash


def prompt_text(sample: Mapping[str, Any]) -> str:
    """Write a sample's prompt, which is its input and below it any options.

    >>> prompt_text({"input": [{"role": "user", "content": "2 + 2?", "id": "a1"}], "choices": ["4", "5"]})
    'user: 2 + 2?\\n4\\n5'
    """
    prompt = sample.get("input")
    if isinstance(prompt, list):
        lines = [f"{message.get('role')}: {message_text(sample, message) or ''}" for message in prompt]
    else:
        lines = [_whole(sample, prompt)]
    return "\n".join([*lines, *(str(choice) for choice in sample.get("choices") or ())])


def message_text(sample: Mapping[str, Any], message: Mapping[str, Any]) -> str | None:
    """Return the text of a message, if it has any.

    Images and other parts are written as JSON.
    """
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(_part(sample, part) for part in content if not _is_reasoning(part))
    return None if content is None else _whole(sample, content)


def reasoning_text(sample: Mapping[str, Any], message: Mapping[str, Any]) -> str | None:
    """Return the reasoning of a message, if it has any."""
    content = message.get("content")
    parts = [part for part in content if _is_reasoning(part)] if isinstance(content, list) else []
    return "\n\n".join(_whole(sample, part["reasoning"]) for part in parts if part.get("reasoning")) or None


def _is_reasoning(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "reasoning"


def _part(sample: Mapping[str, Any], part: Any) -> str:
    if not isinstance(part, dict):
        return _whole(sample, part)
    if part.get("type") == "text":
        return _whole(sample, part.get("text"))
    return json.dumps({key: _whole(sample, value) for key, value in part.items()}, sort_keys=True, default=str)


def _whole(sample: Mapping[str, Any], text: Any) -> str:
    if isinstance(text, str) and text.startswith(ATTACHMENT):
        return str((sample.get("attachments") or {}).get(text.removeprefix(ATTACHMENT), text))
    return text if isinstance(text, str) else json.dumps(text, sort_keys=True, default=str)
