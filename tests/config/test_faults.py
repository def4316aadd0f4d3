"""What is wrong with accuracy.toml is said with file, line, key and fix, all faults at once."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.config.config import load_config
from accgate.errors import BadInput
from accgate.tasks.definition import library_names
from accgate.text import nearest
from tests.support.cases import each

LONG = "a" * 5000  # too long a name for the system
SIGMA = "is -1; write a number from 0 (standard deviation of one score in points, 0 or more)"
DROP = "(drop in points that must be detectable, above 0)"
OWN = '; or name a task file: file = "my_task.toml"'
TASKS = nearest("nope", library_names())


def document(gate: str = "", model: str = "variant = {}", task: str = "") -> str:
    """A file whose [gate] keys start on line 2, [models.m] on line 4 and [tasks.arithmetic] on line 8."""
    return f'[gate]\n{gate}\n[models.m]\n{model}\nengine = "vllm"\nmodel = "x"\n[tasks.arithmetic]\n{task}\n'


def refusals(folder: Path, text: str | bytes) -> list[str]:
    """The messages about a file, without its path."""
    path = folder / "accuracy.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(BadInput) as caught:
        load_config(path)
    assert all(message.startswith(f"{path}:") for message in caught.value.messages)
    return [message.removeprefix(f"{path}:") for message in caught.value.messages]


@each(
    ("key", "bad", "mend"),
    [
        *(("alpha", bad, "above 0 and below 0.5") for bad in ("0", "0.5", "nan")),
        *(("beta", bad, "above 0 and up to 0.5") for bad in ("0", "1")),
        *(("max_failed", bad, "0 or more and below 1") for bad in ("-0.1", "1")),
        *(("alpha", bad, "write a number") for bad in ("true", '"0.05"', "2024-01-01", "{}")),
        *(("seed", bad, "write a whole number") for bad in ("0.5", "true", '"0"')),
        *(("early_stopping", bad, "write true or false") for bad in ("1", '"true"')),
        ("correction", '"hol"', "write one of none, bonferroni, holm, bh; did you mean 'holm'?"),
        ("on_inconclusive", '"pass"', "write one of fail, warn"),
        ("references", '""', "at least 1 character"),
        ("alhpa", "0.05", "unknown key; did you mean 'alpha'?"),
        ('"al\\u0070ha "', "0.05", "unknown key; did you mean 'alpha'?"),
    ],
)
def test_a_bad_gate_value_names_line_key_and_fix(tmp_path: Path, key: str, bad: str, mend: str) -> None:
    (message,) = refusals(tmp_path, document(gate=f"{key} = {bad}"))
    assert message.startswith(f"2: gate.{key.replace(chr(92) + 'u0070', 'p')}: ")
    assert message.endswith((mend, f"({mend})", f"rate, {mend})", f"score, {mend})"))


BAD_TASK_KEYS = (
    "sigma = -1", "theta = 0", "theta = nan", "theta = '" + "x" * 100 + "'", 'allowed_drop = "some"',
    'test = "gsprt"\ncertify = true', "num_samples = 0", "mode = 'Chat'", "sgima = 1", "models = ['n']",
    "models = 'm'", "file = 'no.toml'", 'file = "a\\u0000b"', "library = 'arithmtic'",
    "reference = 60", "reference_num_samples = 9", "num_samples = 9\nlimit = 8", "test = 'sgprt'",
    "test = 'target'", "target = 9\ntest = 'paired'", "reference = 1\nreference_num_samples = 2\ntarget = 9",
    "reference = 1\nreference_num_samples = 2\ntest = 'paired'",
)  # fmt: skip


def test_a_bad_task_value_names_line_key_and_fix(tmp_path: Path, messages: SnapshotAssertion) -> None:
    faults = {line: "\n".join(refusals(tmp_path, document(task=line))) for line in BAD_TASK_KEYS}
    assert all(fault.startswith(("8: ", "9: ", "10: ")[line.count("\n")]) for line, fault in faults.items())
    assert faults == messages
    (fault,) = refusals(tmp_path, document(task=f"file = '{LONG}'"))
    assert "there is no file" in fault


SEVERAL_FAULTS = (
    "# nothing",
    "[tasks]\n[models]",
    "tasks.arithmetic = 1\n[models.m]\nengine='vlm'",
    document(model="sampling = {temprature = 1, top_p = 0, stop = [1]}"),
    document(model="variant = {a = {b = 1}, c = nan, d = [1], e = 1.5, f = true}"),
    document(gate="beta = 2\nalpha = 2", model="variant = 1", task="sigma = -1"),
    "[models.m]\nengine='vllm'\nmodel='x'\n[task.arithmetic]",
    "[zzz]\n[models.m]\nmodle='x'\nengine='vllm'",
    document(task="[tasks.nope]"),
    document(task="[tasks.x]\nfile='accuracy.toml'\nlibrary='arithmetic'"),
    document(task="[tasks.Arithmetic]\nlibrary='arithmetic'"),
)


def test_several_faults_come_at_once_in_the_order_of_the_file(tmp_path: Path, messages: SnapshotAssertion) -> None:
    assert {text: "\n".join(refusals(tmp_path, text)) for text in SEVERAL_FAULTS} == messages


@each(
    "name",
    ['""', '" a"', '"a\\u001b[31m"', '"a@b"', "a" * 101],
)
def test_a_name_that_cannot_be_shown_or_stored_is_refused_on_one_line(tmp_path: Path, name: str) -> None:
    (message,) = refusals(tmp_path, document(task=f'[tasks.{name}]\nlibrary = "arithmetic"'))
    assert message.startswith("8: tasks.")
    assert message.endswith(": is not a usable name; use up to 100 printable characters without @")
    assert message.isprintable()


@each("name", ["a" * 100, '"é b/c:d"'])
def test_names_of_other_tools_are_usable(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.toml").write_text(document().replace("models.m", f"models.{name}"))
    assert list(load_config(tmp_path / "a.toml").models) == [name.strip('"')]


def test_a_file_in_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.toml").touch()
    (tmp_path / "a.toml").write_text(document(task="file = '~/mine.toml'"))
    assert load_config(tmp_path / "a.toml").path("~/mine.toml").is_file()


def test_no_message_repeats_a_control_character(tmp_path: Path) -> None:
    names = document().replace("models.m", 'models."a\\nb"') + '[models."A\\nb"]\nengine="vllm"\nmodel="x"'
    assert all(message.isprintable() for message in refusals(tmp_path, names))
