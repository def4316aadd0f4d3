"""What is wrong with accuracy.toml is said with file, line, key and fix, all faults at once."""

from pathlib import Path

import pytest

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


@each(
    ("line", "message"),
    [
        ("sigma = -1", f"sigma: {SIGMA}"),
        ("theta = 0", f"theta: is 0; write a number above 0 {DROP}"),
        ("theta = nan", f"theta: is nan; write a number that is finite {DROP}"),
        ("theta = '" + "x" * 100 + "'", "theta: is '" + "x" * 56 + "..., text; write a number"),
        ('allowed_drop = "some"', 'allowed_drop: is \'some\'; give points of 0 or more, or a percentage such as "1%"'),

        ('test = "gsprt"\ncertify = true', "certify: is not for the gsprt test; use group-sequential, or auto"),

        ("num_samples = 0", "num_samples: is 0; write a number from 1 (samples to evaluate, 1 or more)"),

        ("mode = 'Chat'", "mode: is 'Chat'; write one of chat, completion; did you mean 'chat'?"),
        ("sgima = 1", "sgima: unknown key; did you mean 'sigma'?"),
        ("models = ['n']", "models: names no model 'n'; known are m"),
        ("models = 'm'", "models: is 'm', text; write an array"),
        ("file = 'no.toml'", "file: there is no file 'no.toml' in FOLDER; write the path relative to this file"),
        (f"file = '{LONG}'", f"file: there is no file '{LONG}' in FOLDER; write the path relative to this file"),
        ('file = "a\\u0000b"', "file: there is no file 'a\\x00b' in FOLDER; write the path relative to this file"),

        ("library = 'arithmtic'",
         f"library: is not in the task library; did you mean 'arithmetic'?{OWN}"),
        ("reference = 60", "reference: needs reference_num_samples beside it: the reference's own error counts"),
        ("reference_num_samples = 9", "reference_num_samples: needs reference, the mean in points, beside it"),
        ("num_samples = 9\nlimit = 8", "limit: is 8, less than num_samples = 9; remove one of the two"),
        ("test = 'sgprt'",
         "test: is 'sgprt'; write one of auto, two-sample, target, paired, unconditional, permutation, bootstrap, "
         "gsprt, group-sequential, e-process; did you mean 'gsprt'?"),
        ("test = 'target'", "test: is target, but no target is set; add target = ..., the mean that must hold"),
        ("target = 9\ntest = 'paired'", "test: is 'paired', but a target is set; use target, or remove the target"),
        ("reference = 1\nreference_num_samples = 2\ntarget = 9",
         "target: is set together with reference; keep one of the two"),
        ("reference = 1\nreference_num_samples = 2\ntest = 'paired'",
         "test: is paired, but only a reference's mean is given; use two-sample, or record one"),
    ],
)  # fmt: skip
def test_a_bad_task_value_names_line_key_and_fix(tmp_path: Path, line: str, message: str) -> None:
    expected = f"{8 + line.count(chr(10))}: tasks.arithmetic.{message.replace('FOLDER', str(tmp_path))}"
    assert refusals(tmp_path, document(task=line)) == [expected]


@each(
    ("text", "messages"),
    [
        ("# nothing", [
            "1: models: is missing; add it: a table [models.NAME] with engine and model",
            "1: tasks: is missing; add it: a table [tasks.NAME]"]),
        ("[tasks]\n[models]", [
            "1: tasks: has no table; add [tasks.NAME]", "2: models: has no table; add [models.NAME]"]),
        ("tasks.arithmetic = 1\n[models.m]\nengine='vlm'", [
            "1: tasks.arithmetic: is 1, a whole number; write a table",
            "2: models.m.model: is missing; add it: model = \"...\", the weights, model name or file the engine loads",
            "3: models.m.engine: is 'vlm'; write one of vllm, openai, llamacpp, recorded, ray; did you mean 'vllm'?"]),
        (document(model="sampling = {temprature = 1, top_p = 0, stop = [1]}"), [
            "4: models.m.sampling.top_p: is 0; write a number above 0 (nucleus, above 0 and at most 1)",
            "4: models.m.sampling.stop[0]: is 1, a whole number; write text in quotes",
            "4: models.m.sampling.temprature: unknown key; did you mean 'temperature'?"]),
        (document(model="variant = {a = {b = 1}, c = nan, d = [1], e = 1.5, f = true}"), [
            f"4: models.m.variant.{what}; write text, a number or true/false"
            for what in ("a: is {'b': 1}", "c: is nan", "d: is [1]")]),
        (document(gate="beta = 2\nalpha = 2", model="variant = 1", task="sigma = -1"), [
            "2: gate.beta: is 2; write a number up to 0.5 (type II error rate, above 0 and up to 0.5)",
            "3: gate.alpha: is 2; write a number below 0.5 (type I error rate, above 0 and below 0.5)",
            "5: models.m.variant: is 1, a whole number; write a table",
            f"9: tasks.arithmetic.sigma: {SIGMA}"]),
        ("[models.m]\nengine='vllm'\nmodel='x'\n[task.arithmetic]", ["4: task: unknown key; did you mean 'tasks'?"]),

        ("[zzz]\n[models.m]\nmodle='x'\nengine='vllm'", [
            "1: tasks: is missing; add it: a table [tasks.NAME]",
            "1: zzz: unknown key; known are gate, judges, models, report, tasks",
            "3: models.m.modle: unknown key; did you mean 'model'?"]),
        (document(task="[tasks.nope]"), [
            f'8: tasks.nope: is not in the task library; {TASKS}{OWN}']),
        (document(task="[tasks.x]\nfile='accuracy.toml'\nlibrary='arithmetic'"), [
            "10: tasks.x.library: is set together with file; keep one of the two"]),
        (document(task="[tasks.Arithmetic]\nlibrary='arithmetic'"), [
            "8: tasks.Arithmetic: differs from tasks.arithmetic only in upper and lower case; rename one of the two"]),
    ],
)  # fmt: skip
def test_several_faults_come_at_once_in_the_order_of_the_file(tmp_path: Path, text: str, messages: list[str]) -> None:
    assert refusals(tmp_path, text) == messages


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
