"""Messages between the sandbox's processes, as JSON behind its length."""

import json
from io import RawIOBase
from typing import IO, Any


def receive(stream: IO[bytes]) -> Any:
    """Read the next message, None at the end of the stream."""
    head = stream.read(8)
    return json.loads(stream.read(int.from_bytes(head, "big"))) if len(head) == 8 else None


def packed(message: Any) -> bytes:
    """Pack a message behind its length."""
    body = json.dumps(message).encode()
    return len(body).to_bytes(8, "big") + body


def write_all(stream: RawIOBase, message: bytes) -> None:
    """Write a message to a pipe, which may take less at once."""
    left = memoryview(message)
    while left:
        left = left[stream.write(left) or 0 :]
