"""Programs that try to get out: `hostile/*.txt`, whole Python programs, of which no tool may take one for a module.

Each would end well (or never) were it not confined. Its first line is the pattern of the reason why it fails.
Those whose names begin with `cheat_`, `loop_` or `script_` try to pass tests by other means than the right answer.
"""

import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from accgate.sandbox import process
from accgate.sandbox.assertions import Case
from accgate.sandbox.process import Limits, Outcome, Worker

FOLDER = Path(__file__).parent / "hostile"
SECRET = "ACCGATE_TEST_SECRET"
# They do nothing but wait, so that the clock must end them.
WAITING = {"deadlock", "sleep", "stop_itself"}
# Short only where a program must be timed out; else a slow or busy machine gives another reason than its own.
ENDLESS = Limits(seconds=0.3, wall_seconds=300.0)
LIMITS = {"waits": Limits(seconds=30.0, wall_seconds=0.8), "turns": ENDLESS, "ends": Limits(30.0, wall_seconds=300.0)}

LITERALS = """
def check(candidate):
    assert candidate(2) == 4
    assert candidate(-3) == -6, "negative"

check(double)
assert double("ab") == "abab"
"""
LOOP = """
for number in range(1, 4):
    assert double(number) == number + number
"""
CASES = (Case("3\n", "6\n"), Case("5\n", "10\n"))


@dataclass(frozen=True)
class Hostile:
    name: str
    reason: re.Pattern[str]
    text: str

    @property
    def limits(self) -> str:
        """Which of `LIMITS` it is run under."""
        return "waits" if self.name in WAITING else "turns" if "timed out" in self.reason.pattern else "ends"

    def run(self, worker: Worker, outside: Path, port: int) -> Outcome:
        """Its outcome, aimed at a file outside its folder and at a port where somebody listens."""
        program = self.against(outside, port)
        if self.name.startswith("script_"):
            return worker.run_cases(program, CASES)
        tests = {"cheat": LITERALS, "loop": LOOP}.get(self.name.partition("_")[0], "")
        return worker.run(program, tests)

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
