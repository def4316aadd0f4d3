"""Programs that try to get out: `hostile/*.txt`, whole Python programs, of which no tool may take one for a module.

Each would end well (or never) were it not confined. Its first line is the pattern of the reason why it fails.
"""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from accgate.sandbox import process
from accgate.sandbox.limits import Limits

FOLDER = Path(__file__).parent / "hostile"
SECRET = "ACCGATE_TEST_SECRET"
# They do nothing but wait, so that the clock must end them.
WAITING = {"deadlock", "pipes_filled", "sleep", "stop_itself"}
# Short only where a program must be timed out; else a slow or busy machine gives another reason than its own.
ENDLESS = Limits(seconds=0.3, wall_seconds=300.0)
LIMITS = {"waits": Limits(seconds=30.0, wall_seconds=0.8), "turns": ENDLESS, "ends": Limits(30.0, wall_seconds=300.0)}


@dataclass(frozen=True)
class Hostile:
    name: str
    reason: re.Pattern[str]
    text: str

    @property
    def limits(self) -> str:
        """Which of `LIMITS` it is run under."""
        return "waits" if self.name in WAITING else "turns" if "timed out" in self.reason.pattern else "ends"

    def against(self, outside: Path, port: int) -> str:
        """The program, aimed at a file outside its folder and at a port where somebody listens."""
        aims = {
            "OUTSIDE": str(outside),
            "HOME": str(Path.home()),
            "WORKER": process.__file__,
            "PACKAGES": sysconfig.get_path("purelib"),
            "PORT": port,
        }
        return re.sub("@([A-Z]+)@", lambda found: repr(aims[found[1]]), self.text)


def hostile(path: Path) -> Hostile:
    text = path.read_text(encoding="utf-8")
    return Hostile(path.stem, re.compile(text.splitlines()[0].removeprefix("# ")), text)


PROGRAMS = [hostile(path) for path in sorted(FOLDER.glob("*.txt"))]
