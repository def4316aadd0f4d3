"""Generated tasks.

Their rows are drawn from a seed, so that no dataset is needed and none can leak into training.
"""

import json
import operator
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Literal

from accgate.metrics import BadOption
from accgate.metrics.metric import check_option
from accgate.tasks.filler import FILLER, CannotGenerate, distinct, generators_of, tokens_in
from accgate.tasks.ruler import ruler_cwe, ruler_fwe, ruler_niah, ruler_vt

Row = dict[str, Any]
OPERATIONS: Mapping[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def arithmetic(
    *, seed: int = 0, count: int = 1000, low: int = 1, high: int = 99, operation: Literal["+", "-", "*"] = "+"
) -> Iterator[Row]:
    """Distinct sums, differences or products of two whole numbers from `low` to `high`.

    Rows have `a`, `b`, `operation` and `answer`.

    >>> [(row["a"], row["b"], row["answer"]) for row in arithmetic(count=2, high=9)]
    [(9, 7, 16), (5, 4, 9)]
    """
    width = high - low + 1
    if width < 1 or count > width**2:
        questions = f"{max(width, 0) ** 2} different questions"
        raise CannotGenerate(f"numbers from {low} to {high} give {questions}, not {count}; widen the range")
    for pair in distinct(partial(random.Random(f"arithmetic {seed}").randrange, width**2), count):
        a, b = low + pair // width, low + pair % width
        yield {"a": a, "b": b, "operation": operation, "answer": OPERATIONS[operation](a, b)}


def passkey_retrieval(*, seed: int = 0, count: int = 100, length: int = 1024, digits: int = 5) -> Iterator[Row]:
    """Hide a pass key at a random depth of a text.

    It is about `length` tokens long. A token is counted as a word or a punctuation mark, which is what common
    tokenisers make of this text. Rows have `context` and `passkey`. After Mohtashami and Jaggi 2023, arXiv 2305.16300.

    >>> row = next(passkey_retrieval(length=200))
    >>> row["passkey"] in row["context"], 180 <= tokens_in(row["context"]) <= 200
    (True, True)
    """
    if not 1 <= digits <= 18:
        raise CannotGenerate(f"digits is {digits}; a pass key has 1 to 18")
    for rng in generators_of("passkey", seed, count):
        passkey = str(rng.randrange(10 ** (digits - 1), 10**digits))
        needle = f"The pass key is {passkey}. Remember it. {passkey} is the pass key."
        copies = (length - tokens_in(needle) - digits) // tokens_in(FILLER)
        if copies < 1:
            raise CannotGenerate(f"length is {length} tokens, too short to hide a pass key in; give at least 64")
        before = rng.randint(0, copies)
        yield {"context": "\n".join([FILLER] * before + [needle] + [FILLER] * (copies - before)), "passkey": passkey}


NAMES = ("Ada", "Bruno", "Chloe", "Dmitri", "Elif", "Farid", "Grace", "Hiro", "Ines", "Jonas", "Kira", "Luis")
CITIES = ("Lisbon", "Osaka", "Nairobi", "Quito", "Tallinn", "Hanoi", "Cairo", "Oslo", "Lima", "Perth")
JOBS = ("nurse", "pilot", "baker", "welder", "editor", "farmer", "tailor", "chemist", "plumber", "teacher")


def json_extraction(*, seed: int = 0, count: int = 200) -> Iterator[Row]:
    """Write sentences about a person, to be turned into a JSON object.

    It has name, age, city and job. Rows have `text` and `answer`, the object as JSON text.

    >>> sorted(json.loads(next(json_extraction())["answer"]))
    ['age', 'city', 'job', 'name']
    """
    combinations = len(NAMES) * len(CITIES) * len(JOBS) * 60
    if count > combinations:
        raise CannotGenerate(f"there are {combinations} different people, not {count}; lower the count")
    for code in distinct(partial(random.Random(f"json {seed}").randrange, combinations), count):
        rest, name = divmod(code, len(NAMES))
        rest, city = divmod(rest, len(CITIES))
        age, job = divmod(rest, len(JOBS))
        person = {"name": NAMES[name], "age": 20 + age, "city": CITIES[city], "job": JOBS[job]}
        text = "{name} is {age} years old, lives in {city} and works as a {job}.".format(**person)
        yield {"text": text, "answer": json.dumps(person)}


_GENERATORS: Mapping[str, Callable[..., Iterator[Row]]] = {
    function.__name__: function
    for function in (arithmetic, passkey_retrieval, json_extraction, ruler_niah, ruler_vt, ruler_cwe, ruler_fwe)
}


def generator_names() -> tuple[str, ...]:
    """Name the generated tasks, sorted."""
    return tuple(sorted(_GENERATORS))


def generate(name: str, options: Mapping[str, Any], *, seed: int) -> Iterator[Row]:
    """Yield the rows of a generated task.

    `seed` serves where the options set none.

    Raises
    ------
    CannotGenerate
        When the options cannot give that many rows.
    """
    return _GENERATORS[name](**{"seed": seed, **options})


def check_options(name: str, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (option, fault) for every option that a generator does not take."""
    for key, value in options.items():
        try:
            check_option(name, _GENERATORS[name], key, value)
        except BadOption as error:
            yield key, str(error)
        else:
            if isinstance(value, int) and key not in ("seed", "low", "high") and value < 1:
                yield key, f"is {value}; give 1 or more"
