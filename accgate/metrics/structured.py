"""Whether an answer is JSON, and whether it keeps to a JSON schema: 0 or 100 points."""

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any, Literal

from accgate.metrics.match import json_value
from accgate.metrics.metric import Metric, builders_of, required

Kind = Literal["any", "object", "array"]


def json_valid(answer: str, _: str = "", *, kind: Kind = "any") -> float:
    """100 where the answer is JSON, and of the kind that `kind` names.

    >>> json_valid('{"a": 1}'), json_valid("[1]", kind="object"), json_valid('{"a": 1,}')
    (100.0, 0.0, 0.0)
    """
    value = json_value(answer, _whole)
    kinds: type[Any] = {"any": object, "object": dict, "array": list}[kind]
    return 100.0 if value is not None and isinstance(value[0], kinds) else 0.0


def _json_schema(*, formats: bool = False) -> Metric:
    validator = cache(partial(_validators, formats))

    def conforms(answer: str, target: str) -> float:
        accepts = validator()(target)
        value = json_value(answer, _whole)
        return 100.0 if value is not None and accepts(value[0]) else 0.0

    return Metric("json_schema", conforms, prepare=validator)


def _validators(formats: bool) -> Callable[[str], Callable[[Any], bool]]:
    """From a schema's text to the function that says whether a value keeps to it."""
    jsonschema = required("jsonschema", "json_schema needs jsonschema")
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    @lru_cache(maxsize=256)
    def validator(text: str) -> Callable[[Any], bool]:
        parsed = json_value(text, _whole)
        schema: Any = parsed[0] if parsed else None
        if not isinstance(schema, (dict, bool)):
            raise ValueError("json_schema: the target is not a JSON schema, it is not a JSON object")
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

    return validator


def _whole(digits: str) -> int | float:
    """The number; Python turns no more than 4,300 digits to an int."""
    return int(digits) if len(digits) < 4300 else float(digits)


METRICS = {"json_schema": _json_schema} | builders_of(json_valid)
