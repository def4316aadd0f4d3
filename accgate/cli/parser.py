"""Commands with their options, and errors of one line: what is wrong, the nearest right word, where to read on."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from accgate.cli.common import OUT, RESULT
from accgate.errors import BAD_INPUT
from accgate.text import nearest

REQUIRED = "the following arguments are required: "  # argparse's words


class Command(NamedTuple):  # a dataclass would load `inspect`, at every start
    """A command of the command line; one that only has commands of its own has no `run`.

    One with `loads_datasets` works in an empty folder.
    """

    name: str
    help: str
    add_options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int] | None = None
    loads_datasets: bool = False


class Parser(argparse.ArgumentParser):
    """argparse's parser, without the usage before each error."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.register("type", float, partial(_parsed, float, "a number"))
        self.register("type", int, partial(_parsed, int, "a whole number"))

    def error(self, message: str) -> NoReturn:
        """End with exit code 2 and one line, or with the commands where none is given."""
        message = re.sub(r"^argument ", "", message)
        if message.startswith(REQUIRED):
            lacking = [each for each in self._actions if each.choices and str(each.metavar or each.dest) in message]
            if any(isinstance(action, argparse._SubParsersAction) for action in lacking):
                self.print_help()  # no success: a script whose command is empty has done nothing
                self.exit(BAD_INPUT)
            choices = "; ".join(" or ".join(map(str, action.choices or ())) for action in lacking)
            message = f"give {choices or message.removeprefix(REQUIRED)}"
        see = " See" if message.endswith("?") else "; see"
        self.exit(BAD_INPUT, f"{self.prog}: {message}{see} {self.prog} --help\n")

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse the arguments; an unknown option ends with an error that names the nearest one."""
        words = sys.argv[1:] if args is None else list(args)
        arguments, unknown = self.parse_known_args(words, namespace)
        if unknown:
            used = _parser_used(self, words)
            option = unknown[0].partition("=")[0]
            if option.startswith("-"):
                used.error(f"there is no option {option}; {nearest(option, used._option_string_actions)}")
            used.error(f"{unknown[0]!r} is one argument too many")
        return arguments

    def _print_message(self, message: str, file: Any = None) -> None:
        """As argparse's own, which takes no notice where a text cannot be written."""
        (file or sys.stderr).write(message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """As argparse's own, with the nearest choice in place of a page of them."""
        if action.choices is None or value in action.choices:
            return
        hint = nearest(str(value), map(str, action.choices))
        if isinstance(action, argparse._SubParsersAction):
            self.error(f"there is no command {value!r}; {hint}")
        raise argparse.ArgumentError(action, f"there is no {value!r}; {hint}")


class Grouped(argparse.HelpFormatter):
    """Help in which commands stand under headings."""

    def _format_action(self, action: argparse.Action) -> str:
        heading = (
            HEADINGS.get(action.dest) if isinstance(action, argparse._SubParsersAction._ChoicesPseudoAction) else ""
        )
        return (f"\n  {heading}:\n" if heading else "") + super()._format_action(action)


def add_commands(parser: argparse.ArgumentParser, commands: Iterable[Command], metavar: str) -> None:
    """Add a parser for each command; what it parses has the command's `run`, and whether --debug was given."""
    parsers = parser.add_subparsers(metavar=metavar, required=True)
    parser.set_defaults(loads_datasets=False)
    for command in commands:
        text = command.help
        made = parsers.add_parser(command.name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        if example := EXAMPLES.get(made.prog):
            made.epilog = f"Example: {example}"
        debug_option(made)
        command.add_options(made)
        if command.run is not None:
            made.set_defaults(run=command.run, loads_datasets=command.loads_datasets)


def debug_option(parser: argparse.ArgumentParser) -> None:
    """Add --debug; without SUPPRESS the inner of two commands would reset what the outer one was given."""
    parser.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
    )


def _parser_used(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of the command that the words name."""
    for action in parser._actions:  # argparse has no other way to its own arguments
        if isinstance(action, argparse._SubParsersAction):
            for i, word in enumerate(words):
                if word in action.choices:
                    return _parser_used(action.choices[word], words[i + 1 :])
    return parser


def _parsed(kind: type[float | int], what: str, text: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}") from None


def run_option(command: argparse.ArgumentParser) -> None:
    """Add RUN, the folder of a run."""
    command.add_argument("folder", nargs="?", type=run_folder, default=OUT, metavar="RUN", help=f"the run ({OUT})")


def run_folder(text: str) -> Path:
    """Return the folder of a run, which its accgate.json may stand for."""
    path = Path(text)
    return path.parent if path.name == RESULT.name and not path.is_dir() else path


def result_file(text: str) -> Path:
    """Return the path of a result, which the folder of its run may stand for."""
    path = Path(text)
    return path / RESULT.name if path.is_dir() else path


def count(text: str) -> int:
    """Read a number of 1 or more, as the type of an option."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


HEADINGS = {  # in the help of accgate, above these commands
    "init": "set up", "record": "evaluate and decide", "report": "read a run", "ab": "find a cause",
    "publish": "on GitHub, and over time", "import": "files and people", "schema": "accgate itself",
}  # fmt: skip

# A line to try for each command, which its --help ends with
EXAMPLES: Mapping[str, str] = {
    "accgate init": "accgate init --base-url http://127.0.0.1:8000/v1 --data questions.jsonl",
    "accgate validate": "accgate validate accuracy.toml --probe",
    "accgate tasks": "accgate tasks gsm8k",
    "accgate plan": "accgate plan accuracy.toml --models llama",
    "accgate run": "accgate run accuracy.toml --html",
    "accgate merge": "accgate merge shard-1 shard-2 --out accgate-out",
    "accgate launch": "accgate launch --slurm --shards 4 --partition gpu --time 4h",
    "accgate ab": "accgate ab llama llama-fp8 --tasks gsm8k",
    "accgate blame": "accgate blame accgate-out --samples 2000",
    "accgate bisect": "accgate bisect --good v1.4 --bad HEAD --out accgate-out/bisect",
    "accgate rerun": "accgate rerun accgate-out --flips --times 5",
    "accgate verify": "accgate verify accgate-out --config accuracy.toml",
    "accgate record": 'accgate record accuracy.toml --reason "new weights"',
    "accgate compare": "accgate compare before.jsonl after.jsonl --theta 2",
    "accgate sigma": "accgate sigma run-1.jsonl run-2.jsonl --theta 2",
    "accgate report": "accgate report accgate-out/accgate.json --html report.html",
    "accgate view": "accgate view accgate-out",
    "accgate publish": "accgate publish --dry-run",
    "accgate respond": "accgate respond --check-name accgate",
    "accgate propose": "accgate propose references --head-sha 0123456789abcdef0123456789abcdef01234567",
    "accgate cache": "accgate cache prune --older-than 30d",
    "accgate questionnaire": "accgate questionnaire accgate-out",
    "accgate import lm-eval": "accgate import lm-eval results/ --metric exact_match --references references",
    "accgate import inspect": "accgate import inspect logs/ --references references",
    "accgate import nemo": "accgate import nemo results/ --scale 100 --references references",
    "accgate import trtllm": "accgate import trtllm tests/integration/defs/accuracy/references",
    "accgate export lm-eval": "accgate export lm-eval accgate-out/llama/gsm8k.jsonl",
    "accgate export every-eval-ever": 'accgate export every-eval-ever accgate-out --organisation "Example Lab"',
    "accgate export hf": "accgate export hf accgate-out --dataset gsm8k=openai/gsm8k:gsm8k",
    "accgate export mlflow": "accgate export mlflow accgate-out",
    "accgate export wandb": "accgate export wandb accgate-out --project accuracy",
    "accgate history add": "accgate history add accgate-out/accgate.json",
    "accgate history show": "accgate history show --check llama/gsm8k --last 50",
    "accgate history merge": "accgate history merge a.jsonl b.jsonl --out history.jsonl",
    "accgate history push": "accgate history push accgate-out/accgate.json --page",
    "accgate history html": "accgate history html history.jsonl --out history.html",
    "accgate schema": "accgate schema config > accuracy.schema.json",
    "accgate completion": "source <(accgate completion bash)",
}
