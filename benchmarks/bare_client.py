"""A bare asynchronous client, for comparison: `python benchmarks/bare_client.py URL BODIES CONNECTIONS`.

Sends the JSON bodies that stand line by line in the file BODIES, so many at once, and prints the seconds this took.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import aiohttp


async def seconds_for(bodies: Sequence[bytes], url: str, connections: int) -> float:
    """Seconds from the first request to the last reply's text."""

    def check(reply: Any) -> None:
        choice = reply["choices"][0]
        assert isinstance(choice["text"] if "text" in choice else choice["message"]["content"], str)

    return await asked(bodies, url, connections, check)


async def asked(bodies: Sequence[bytes], url: str, connections: int, seen: Callable[[Any], None]) -> float:
    """The same, with what each reply is shown to."""
    waiting = iter(bodies)
    headers = {"content-type": "application/json"}
    connector = aiohttp.TCPConnector(limit=connections)
    patience = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=patience) as session:

        async def work() -> None:
            for body in waiting:
                async with session.post(url, data=body) as response:
                    seen(json.loads(await response.read()))

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(connections)))
        return time.perf_counter() - began


def main() -> None:
    url, bodies, connections = sys.argv[1:]
    print(asyncio.run(seconds_for(Path(bodies).read_bytes().splitlines(), url, int(connections))))


if __name__ == "__main__":
    main()
