"""JSON in a dataset's column: as text, or packed as LiveCodeBench packs its hidden tests."""

from __future__ import annotations

import base64
import json
import pickletools
import zlib
from typing import Any

LARGEST = 1 << 30  # bytes; a few kilobytes of zlib can be petabytes
_TEXT = frozenset({"BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"})
_HARMLESS = frozenset({"PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "STOP"})


def unpack(text: str) -> Any:
    """The value of a JSON text; of a text that is none, what Base64, zlib and a pickled text hide.

    A pickle can run any code when it is loaded, so none is: its opcodes are read, and only a single text is taken.

    Raises
    ------
    ValueError
        For a text that is neither.

    Examples
    --------
    >>> import pickle
    >>> unpack('[1]'), unpack(base64.b64encode(zlib.compress(pickle.dumps('{"a": 2}'))).decode())
    ([1], {'a': 2})
    """
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        reader = zlib.decompressobj()
        content = reader.decompress(base64.b64decode(text, validate=True), LARGEST)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{text[:40]!r} is neither JSON nor JSON that is pickled, compressed and in Base64") from error
    if not reader.eof:
        raise ValueError(f"{text[:40]!r} is cut off, or holds more than {LARGEST:,} bytes")
    return json.loads(_pickled_text(content))


def _pickled_text(content: bytes) -> str:
    """The text that a pickle of one text holds; nothing is loaded."""
    texts = []
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name in _TEXT:
                texts.append(argument)
            elif opcode.name not in _HARMLESS:
                raise ValueError(f"the pickle does {opcode.name}; only a single text is read")
    except UnicodeDecodeError as error:
        raise ValueError("the pickle holds no text") from error
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise ValueError(f"the pickle holds {len(texts)} texts; only a single one is read")
    return texts[0]
