"""Chat templates before the weights are loaded: what transformers renders passes, and what it does not is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.engines.base import ModelTable, Request
from accgate.engines.template import refuse_broken_template
from accgate.errors import KeyFaults
from tests.engines.planned import model_file
from tests.support.gates import questions, said, write_task

CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
SYSTEM = Request("b", 0, "Hi", "Be kind.")
SOUND = {
    "ChatML": CHATML,
    "loop controls": "{% for m in messages %}{% if loop.index > 1 %}{% break %}{% endif %}{{ m.content }}{% endfor %}",
    "what the model wrote": CHATML + "{% generation %}so{% endgeneration %}",
    "today": "{{ strftime_now('%d %b %Y') }}{{ messages | tojson(indent=2) }}",
    "parts of a text": "{% for m in messages %}{{ m.content[0].text + '' }}{% endfor %}",
    "a name that nobody gave": "{{ nobody }}{% if tools is not none %}{{ tools[0].name }}{% endif %}",
    "a setting of the request": "{{ style.upper() }}",
    "no system": "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}",
}
BROKEN = {
    "an open loop": ("a\n{% for m in messages %}\n{{ m }}", ":3 cannot be parsed: Unexpected end of template"),
    "an unknown tag": ("a\n\n{% fro m %}", ":3 cannot be parsed: Encountered unknown tag 'fro'"),
    "an undefined name": ("a\n{{ nobody.name }}", ":2 fails on the first sample: 'nobody' is undefined"),
    "a refusal": ("\n\n{{ raise_exception('Only user.') }}", ":3 fails on the first sample: Only user"),
    "a way out": ("{{ messages.__class__.__mro__ }}", ":1 fails on the first sample: access to attribute"),
}


def model(folder: Path, text: str, **options: Any) -> ModelTable:
    """A model whose option names a template."""
    (folder / "t.jinja").write_text(text)
    return ModelTable("org/name", {"chat_template": "t.jinja", **options}, folder)


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_what_renders_one_of_the_first_samples_passes(tmp_path: Path, text: str) -> None:
    extra = {"chat_template_kwargs": {"style": "plain"}}
    refuse_broken_template(model(tmp_path, text), [SYSTEM, Request("a", 0, "Hi", extra=extra)])


@pytest.mark.parametrize(("text", "fault"), BROKEN.values(), ids=BROKEN)
def test_a_broken_template_is_named_with_option_file_and_line(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(KeyFaults) as refused:
        refuse_broken_template(model(tmp_path, text), [SYSTEM, Request("a", 0, "Hi")])
    assert str(refused.value).startswith(f"options.chat_template: the chat template {tmp_path / 't.jinja'}{fault}")


def test_a_models_own_template_is_looked_at_where_its_folder_is_here(tmp_path: Path) -> None:
    weights, chat = tmp_path / "weights", [Request("a", 0, "Hi")]
    weights.mkdir()
    table, config = ModelTable("weights", {}, tmp_path), weights / "tokenizer_config.json"
    refuse_broken_template(table, chat)
    for template in (
        "{{ 1 + 'a' }}",
        [{"name": "tool_use", "template": ""}, {"name": "default", "template": "\n{{ 1 + 'a' }}"}],
    ):
        config.write_text(json.dumps({"chat_template": template, "bos_token": {"content": "<s>"}}))
        with pytest.raises(KeyFaults, match=r"model: the chat template .*tokenizer_config\.json, line [12] of"):
            refuse_broken_template(table, chat)
    refuse_broken_template(ModelTable("weights", {"tokenizer_mode": "mistral"}, tmp_path), chat)
    (weights / "chat_template.jinja").write_text(CHATML)
    refuse_broken_template(table, chat)
    (weights / "chat_template.jinja").write_text("{% if %}")
    with pytest.raises(KeyFaults, match=r"model: the chat template .*chat_template\.jinja:1 cannot be parsed"):
        refuse_broken_template(table, chat)
    with pytest.raises(KeyFaults, match=r"options\.tokenizer: the chat template .*chat_template\.jinja:1"):
        refuse_broken_template(ModelTable("org/name", {"tokenizer": "weights"}, tmp_path), chat)
    (weights / "tekken.json").touch()
    refuse_broken_template(table, chat)


@pytest.mark.parametrize(
    ("engine", "options"),
    [
        ("vllm", 'chat_template = "t.jinja"'),
        ("ray", 'engine = "vllm", replicas = 1, options = { chat_template = "t.jinja" }'),
    ],
)
def test_validate_refuses_a_broken_template_before_anything_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str, options: str
) -> None:
    write_task(tmp_path, rows=questions(4, 100))
    (tmp_path / "t.jinja").write_text("{{ nobody.name }}")
    config = model_file(tmp_path, engine, "org/name", options, '[tasks.sums]\nfile = "sums.toml"\n')
    assert main(["validate", str(config)]) == 2
    fault = f"accuracy.toml:4: models.m.options.chat_template: the chat template {tmp_path / 't.jinja'}:1 fails"
    assert fault in said(capsys)
    config.write_text(config.read_text() + 'mode = "completion"\n')
    assert main(["validate", str(config)]) == 0
