"""Generated code in the action's container, as a user without capabilities: Landlock and seccomp confine it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from accgate.sandbox.process import NOBODY
from tests.real.docker import LABEL, UID, said
from tests.support.runner import ROOT

pytestmark = pytest.mark.container

CONFINED = ("--rm", "--label", LABEL, "--network", "none")
STRICT = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")
MOUNTS = ("--mount", f"type=bind,source={ROOT / 'tests'},target=/tests/tests,readonly")
# The user that the image does not know, root without capabilities, and root, who becomes nobody.
USERS = [((*STRICT, "--user", f"{UID}:{UID}"), None), ((*STRICT, "--user", "0:0"), None), (("--user", "0:0"), NOBODY)]
PROGRAM = """
import json, os, pathlib, sys, tempfile
sys.path.insert(0, "/tests")
from accgate.sandbox.runner import confinement
from accgate.sandbox.process import Worker
from tests.sandbox.hostile import LIMITS, PROGRAMS, SECRET
os.environ[SECRET] = "hunter2"
outside = pathlib.Path(tempfile.mkdtemp(), "outside")
outside.write_text("of others")
found = confinement()
workers = {name: Worker(limits, found) for name, limits in LIMITS.items()}
wrong = []
for program in PROGRAMS:
    worker = workers[program.limits]
    outcome = program.run(worker, outside, 9)
    if outcome.passed or not program.reason.match(outcome.reason) or os.listdir(worker._folder):
        wrong.append((program.name, outcome.reason))
ordinary = workers["ends"].run("import json, sqlite3, hashlib; open('a', 'w').write('x')")
for worker in workers.values():
    worker.stop()
left = [name for name in os.listdir(tempfile.gettempdir()) if name.startswith("accgate-")]
print(json.dumps([found.files, found.uid, wrong, len(PROGRAMS), outside.read_text(), ordinary.passed, left]))
"""


def test_hostile_programs_are_contained_in_the_container(image: str) -> None:
    ends = ("--entrypoint", "/opt/accgate/bin/python3", image, "-c", PROGRAM)
    with ThreadPoolExecutor() as threads:  # most programs wait for a limit
        told = list(threads.map(lambda user: said("run", *CONFINED, *user[0], *MOUNTS, *ends), USERS))
    for (options, becomes), text in zip(USERS, told, strict=True):
        files, uid, wrong, count, outside, ordinary, left = json.loads(text.splitlines()[-1])
        got = (files, uid, wrong, outside, ordinary, left)
        assert got == ("landlock", becomes, [], "of others", True, []), options
        assert count >= 150
