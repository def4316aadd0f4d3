"""The watch over advice finds what accgate does not take, and is on in every test."""

from accgate.errors import BadInput
from tests.support import advice
from tests.support.cases import each


@each(
    ("text", "fault"),
    [
        ("write fields = { messages[0].role = false }, or", "Expected"),
        ("as in fields = { messages = false }", "carry the question"),
        ("write options.timeout = -1", "above 0"),
        ("add theta = true", "write a number"),
        ("or set `thetaa = 4`", "no file has such a key"),
        ("run `accgate record --raeson ...`", "there is no option --raeson"),
        ("run `accgate recrod`", "there is no command"),
        ("run `accgate run accuracy.toml more`", "one argument too many"),
        ('write base_url = "http://h/v1", or fields = { top_k = false }', None),
        ("add `extra = { stream = false }` to the model's sampling", None),
        ("`accgate record --reason ...`, then `accgate merge`; n = 4 of x = [1", None),
        ("set models.m.sampling.temperature = 0.5", None),
    ],
)
def test_what_a_message_advises_is_tried(text: str, fault: str | None) -> None:
    BadInput(f"{text} ({fault})")
    faults, advice.faults[:] = advice.faults[:], []
    assert [fault] == [fault for each in faults if fault and fault in each] if fault else not faults
