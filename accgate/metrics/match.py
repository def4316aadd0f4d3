"""Scores by comparison of text, numbers, JSON and its schemas, and labels.

Every score is from 0 to 100 points.
"""

import json
import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal

from accgate.metrics.forms import filled, label_form, squad_form
from accgate.metrics.metric import builders_of, required
from accgate.metrics.numbers import number_of, same_number

JsonKind = Literal["any", "object", "array"]

RIGHT = 100.0
WRONG = 0.0
# A letter or a number, with signs that are part of it, alone or before what it labels: "(B)", "-1.", "**B**: Paris".
_LABEL = re.compile(
    r"(?:[^\w+#%=/-]|_|-\s)*(?:\+(?=\d))?(?P<label>[^\W\d_](?:\+{1,2}|#|-(?!\s))?|(?<![<>])-?\d{1,2})"
    r"(?:(?:[^\w+#%=/-]|_)*|\s*[).:\]]\W*\s\S.*)",
    re.DOTALL,
)


def _points(right: bool) -> float:
    return RIGHT if right else WRONG


def exact_match(answer: str, target: str, *, ignore_case: bool = False) -> float:
    """Score 100 where answer and target are the same text.

    White space around both is ignored.

    >>> exact_match(" Paris", "Paris"), exact_match("paris", "Paris"), exact_match("paris", "Paris", ignore_case=True)
    (100.0, 0.0, 100.0)
    """
    answer, target = answer.strip(), target.strip()
    return _points(answer.casefold() == target.casefold() if ignore_case else answer == target)


def normalized_match(answer: str, target: str) -> float:
    """Score 100 where both are the same text as SQuAD normalises them.

    Case, punctuation, English articles and repeated spaces are ignored. A text of which nothing would be left stays as
    it is, so that only `A` equals `A`.

    >>> normalized_match("The Eiffel  tower.", "eiffel tower"), normalized_match("the", "A"), normalized_match("a", "A")
    (100.0, 0.0, 100.0)
    """
    return _points(filled(squad_form, answer) == filled(squad_form, target))


def contains(answer: str, target: str) -> float:
    """Score 100 where the answer contains the target, case included.

    >>> contains("The pass key is 71432.", "71432")
    100.0
    """
    return _points(bool(target.strip()) and target.strip() in answer)


def contains_share(answer: str, target: str) -> float:
    """Return the share of the target's texts that the answer contains.

    The target is a JSON list of texts. Case is ignored, as in RULER's string_match_all.

    >>> contains_share("Those are 12 and ABC.", '["12", "abc", "34", "56"]')
    50.0
    """
    texts = json_value(target)
    if texts is None or not isinstance(texts[0], list) or not texts[0]:
        return WRONG
    right = [isinstance(text, str) and bool(text.strip()) and text.lower() in answer.lower() for text in texts[0]]
    return RIGHT * sum(right) / len(right)


def numeric_match(answer: str, target: str) -> float:
    """Score 100 where both are the same number, whatever the notation.

    For example `1,234.0` equals `1{,}234`, and `.5` equals `1/2`.

    >>> numeric_match("$18", "18"), numeric_match("18.5", "18"), numeric_match("-$1/2", "-0.5")
    (100.0, 0.0, 100.0)
    """
    left, right = number_of(answer), number_of(target)
    return _points(left is not None and right is not None and same_number(left, right))


def json_match(answer: str, target: str) -> float:
    """Score 100 where both are the same JSON value.

    >>> json_match('{"b": 2, "a": 1.0}', '{"a": 1, "b": 2}')
    100.0
    """
    left, right = json_value(answer), json_value(target)
    return _points(left is not None and same(left[0], right[0]) if right else False)


def json_fields(answer: str, target: str) -> float:
    """Return the share of the target object's fields that the answer has.

    A field must have the same value. The unit is points.

    >>> json_fields('{"name": "Ada", "age": 36}', '{"name": "Ada", "age": 37}')
    50.0
    """
    left, right = json_value(answer), json_value(target)
    if left is None or right is None or not isinstance(left[0], dict) or not isinstance(right[0], dict):
        return WRONG
    wanted: dict[str, Any] = right[0]
    right_fields = sum(key in left[0] and same(left[0][key], value) for key, value in wanted.items())
    return RIGHT * right_fields / len(wanted) if wanted else _points(not left[0])


def json_value(text: str, whole: Callable[[str], float] = int) -> tuple[Any] | None:
    """Return the JSON value in a tuple, since null is a value too.

    The tuple tells null, which is a value, from text that is not JSON (RFC 8259), which gives None. `whole` reads whole
    numbers, of which Python's `int` takes no more than 4,300 digits.

    >>> json_value("null"), json_value("{'a': 1}"), json_value("NaN")
    ((None,), None, None)
    """
    try:
        return (json.loads(text, parse_constant=_refuse_constant, parse_int=whole),)
    except (ValueError, RecursionError):  # RFC 8259 lets a parser limit the depth
        return None


def _refuse_constant(constant: str) -> None:
    """Refuse NaN and the infinities, which Python would read."""
    raise ValueError(f"{constant} is Python's, not JSON's")


def json_valid(answer: str, _: str = "", *, kind: JsonKind = "any") -> float:
    """Score 100 where the answer is JSON of the kind that `kind` names.

    >>> json_valid('{"a": 1}'), json_valid("[1]", kind="object"), json_valid('{"a": 1,}')
    (100.0, 0.0, 0.0)
    """
    value = json_value(answer, _whole)
    kinds: type[Any] = {"any": object, "object": dict, "array": list}[kind]
    return _points(value is not None and isinstance(value[0], kinds))


def json_schema(answer: str, target: str, *, formats: bool = False) -> float:
    """Score 100 where the answer is JSON that conforms to the target's schema.

    With `formats` texts must have the forms that the schema names, such as that of a date.
    """
    accepts = _validator(target, formats)
    value = json_value(answer, _whole)
    return _points(value is not None and accepts(value[0]))


def _jsonschema() -> Any:
    return required("jsonschema", "json_schema needs jsonschema")


@lru_cache(maxsize=256)
def _validator(text: str, formats: bool) -> Callable[[Any], bool]:
    """Return the function that checks a value against a schema given as text."""
    jsonschema = _jsonschema()
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    parsed = json_value(text, _whole)
    schema: Any = parsed[0] if parsed else None
    if not isinstance(schema, (dict, bool)):
        raise ValueError("json_schema: the target is not a JSON schema: it is not a JSON object")
    if isinstance(schema, dict) and not isinstance(schema.get("$schema", ""), str):
        raise ValueError("json_schema: the target is not a JSON schema: its $schema is not text")
    kind: Any = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(f"json_schema: the target is not a JSON schema: {error.message}") from error
    # a registry without retrieval: a schema must not fetch anything
    checker = kind(schema, registry=REGISTRY, format_checker=kind.FORMAT_CHECKER if formats else None)

    def accepts(value: Any) -> bool:
        try:
            return bool(checker.is_valid(value))
        except Unresolvable as error:
            raise ValueError(f"json_schema: the target's reference {error.ref!r} leads nowhere") from error
        except (RecursionError, OverflowError):  # too deep to follow, or 1e999 where multipleOf divides
            return False

    return accepts


def _whole(digits: str) -> int | float:
    """Read a whole number of any length.

    Python turns no more than 4,300 digits into an int.
    """
    return int(digits) if len(digits) < 4300 else float(digits)


def same(left: Any, right: Any) -> bool:
    """Tell whether two JSON values are equal, where true is not 1."""
    pairs = [(left, right)]  # a stack, since JSON may be nested deeper than Python recurses
    while pairs:
        left, right = pairs.pop()
        if isinstance(left, bool) or isinstance(right, bool):
            if left is not right:
                return False
        elif isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
            pairs += [(left[key], right[key]) for key in left]
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            pairs += zip(left, right, strict=True)
        elif isinstance(left, (dict, list)) or left != right:
            return False
    return True


def choice(text: str) -> str | None:
    """Return the label of the choice that a text names, in upper case.

    A text that names none gives None.

    >>> choice("(b)"), choice("B. Paris"), choice("A dog"), choice("-1")
    ('B', 'B', None, '-1')
    """
    match = _LABEL.fullmatch(unicodedata.normalize("NFKC", text).replace("\u2212", "-").strip())
    return match["label"].upper() if match else None


def multiple_choice(answer: str, target: str) -> float:
    """Score 100 where the answer names the target's choice.

    Brackets, a dot, emphasis and the choice's text may stand around it.

    >>> multiple_choice("(B)", "B"), multiple_choice("**B.** Paris", "(B)"), multiple_choice("B or C", "B")
    (100.0, 100.0, 0.0)
    """
    label = choice(answer)
    return _points(label is not None and label == choice(target))


def classification(answer: str, target: str) -> float:
    """Score 100 where both are the same label.

    Case, and quotes, brackets, emphasis and sentence marks around it, are ignored.

    >>> classification(" **Not entailment**.", "not entailment"), classification("not-entailment", "not entailment")
    (100.0, 0.0)
    >>> classification("C", "C#"), classification("-1", "1"), classification("5*", "5")
    (0.0, 0.0, 0.0)
    """
    return _points(label_form(answer) == label_form(target))


METRICS = (
    builders_of(json_schema, prepare=_jsonschema)
    | builders_of(exact_match, contains, contains_share, json_valid)
    | builders_of(multiple_choice, finds=lambda answer, _: choice(answer) is not None)
    | builders_of(normalized_match, form=squad_form)
    | builders_of(classification, form=label_form)
    | builders_of(numeric_match, finds=lambda answer, _: number_of(answer) is not None)
    | builders_of(json_match, finds=lambda answer, _: json_value(answer) is not None)
    | builders_of(json_fields, finds=lambda answer, _: isinstance((json_value(answer) or (None,))[0], dict))
)
