"""A model's chat template, rendered with a sample before the weights are loaded.

It is parsed as transformers parses it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Any, NamedTuple

from accgate.engines.base import ModelTable, Request
from accgate.engines.wire import body_of
from accgate.errors import Key, KeyFaults
from accgate.inputs.paths import json_table, path_in
from accgate.text import clip

if TYPE_CHECKING:
    from jinja2 import Environment

FILE, CONFIG = "chat_template.jinja", "tokenizer_config.json"  # of a model's folder; the first overrules the second
TEKKEN = "tekken.json"  # Mistral's tokenizer, which has no template
# Every name of a special token; one that a model lacks is no fault here, since its tokenizer may have it by default.
TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class Template(NamedTuple):
    """The text of a chat template.

    `key` is the key of the model's table that names it, and `path` its file.
    """

    text: str
    key: Key
    path: Path


def refuse_broken_template(table: ModelTable, requests: Sequence[Request]) -> None:
    """Refuse a chat template that can render none of these requests.

    The model's table or local folder may hold such a template. Some templates need a message's text as a list of parts,
    so each chat is tried in both forms. One success is enough.

    Raises
    ------
    KeyFaults
        When the template cannot be parsed, or renders none of them: which option, file and line.
    """
    folder = path_in(table.folder, str(table.options.get("tokenizer") or table.model))
    config = json_table(folder / CONFIG)
    template = _template(table, folder, config)
    if template is None:
        return
    from jinja2 import TemplateSyntaxError

    try:
        compiled = _environment().from_string(template.text)
    except TemplateSyntaxError as error:
        raise _fault(template, error.lineno, f"cannot be parsed: {error.message}") from error
    faults: list[KeyFaults] = []
    for request in requests:
        messages = body_of(request, table.model)["messages"]
        values: dict[str, Any] = {name: _token(config.get(name)) for name in TOKENS}
        values |= {"add_generation_prompt": not request.prefix, "documents": None, "tools": request.tools or None}
        values |= dict(request.extra.get("chat_template_kwargs") or {})
        for form in (messages, [{**each, "content": _parts(each["content"])} for each in messages]):
            try:
                compiled.render(messages=form, **values)
            except Exception as error:  # a template raises what it likes
                why = clip(" ".join(str(error).split()) or type(error).__name__, 300).removesuffix(".")
                faults.append(_fault(template, _line_of(error), f"fails on the first sample: {why}"))
            else:
                return
    if faults:
        raise faults[0]


def _template(table: ModelTable, folder: Path, config: Mapping[str, Any]) -> Template | None:
    """Find the template that renders a chat.

    There is none to check where it lies elsewhere, or where another renderer than Jinja is chosen.
    """
    if table.options.get("tokenizer_mode", "auto") not in ("auto", "hf", "slow") or (folder / TEKKEN).exists():
        return None
    named = table.options.get("chat_template")
    key: Key = ("options", "tokenizer") if table.options.get("tokenizer") else ("model",)
    path = folder / FILE
    if isinstance(named, str):
        path, key = path_in(table.folder, named), ("options", "chat_template")
    with contextlib.suppress(OSError, ValueError):
        return Template(path.read_text(encoding="utf-8"), key, path)
    text = config.get("chat_template")
    if isinstance(text, list):  # several, by name
        text = {each.get("name"): each.get("template") for each in text if isinstance(each, dict)}.get("default")
    return Template(text, key, folder / CONFIG) if isinstance(text, str) and named is None else None


def _environment() -> Environment:
    """Set Jinja up for chat templates as transformers.utils.chat_template_utils does."""
    from jinja2 import TemplateError, nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.parser import Parser
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Generation(Extension):
        """The tag around what the model wrote, which changes no text."""

        tags = {"generation"}  # noqa: RUF012 (Jinja's own form)

        def parse(self, parser: Parser) -> list[nodes.Node]:
            """Return the tag's content."""
            next(parser.stream)
            return parser.parse_statements(("name:endgeneration",), drop_needle=True)

    def raise_exception(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols]
    )
    environment.filters["tojson"] = partial(json.dumps, ensure_ascii=False)
    environment.globals |= {
        "raise_exception": raise_exception,
        "strftime_now": lambda form: datetime.now().astimezone().strftime(form),
    }
    return environment


def _token(value: Any) -> str:
    """Return a special token's text, given alone or in a table."""
    value = value.get("content") if isinstance(value, dict) else value
    return value if isinstance(value, str) else ""


def _parts(content: Any) -> Any:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _line_of(error: BaseException) -> int | None:
    """Find the template's line that failed, which Jinja puts into the traceback."""
    steps = walk_tb(error.__traceback__)
    return next((line for frame, line in reversed([*steps]) if frame.f_code.co_filename == "<template>"), None)


def _fault(template: Template, line: int | None, fault: str) -> KeyFaults:
    form = ", line {} of its text" if template.path.name == CONFIG else ":{}"
    at = "" if line is None else form.format(line)
    return KeyFaults((template.key, f"the chat template {template.path}{at} {fault}"))
