"""Images of a row as data URLs, in the form of the OpenAI API."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accgate.tasks.prompts import CannotRender

SIGNATURES = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))


def images_of(row: Mapping[str, Any], columns: Sequence[str], folder: Path) -> tuple[str, ...]:
    """The row's images as data URLs; empty columns are left out.

    An image is a data URL, a path relative to `folder`, bytes (as base64 or in `{"bytes": ...}`), or one of PIL's.

    Raises
    ------
    CannotRender
        When a column is missing, or holds no image.
    """
    urls = []
    for column in columns:
        if column not in row:
            raise CannotRender(f"has no column {column!r}; the row has {', '.join(map(str, row))}")
        if row[column] not in (None, ""):
            urls.append(_url(row[column], column, folder))
    return tuple(urls)


def _url(value: Any, column: str, folder: Path) -> str:
    if isinstance(value, str) and value.startswith("data:image/"):
        return value
    content = _content(value, folder)
    kind = next((name for start, name in SIGNATURES if content is not None and content.startswith(start)), None)
    if content is None or kind is None:
        raise CannotRender(f"column {column!r} holds no image: write PNG, JPEG, GIF or WebP as a file's path or bytes")
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _content(value: Any, folder: Path) -> bytes | None:
    if isinstance(value, Mapping):
        value = value["bytes"] if value.get("bytes") else value.get("path")
    if isinstance(value, bytes):
        return value
    if hasattr(value, "save"):  # PIL's, as the hub's datasets give them
        file = io.BytesIO()
        value.save(file, format="PNG")
        return file.getvalue()
    if not isinstance(value, str):
        return None
    try:
        return (folder / value).read_bytes() if len(value) < 1000 and (folder / value).is_file() else _base64(value)
    except (OSError, ValueError):
        return None


def _base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def digests(urls: Sequence[str]) -> str:
    """What identifies images in a prompt's id, one line each; nothing where there are none."""
    return "".join(f"\n<image sha256:{hashlib.sha256(url.encode()).hexdigest()[:16]}>" for url in urls)
