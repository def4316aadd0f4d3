"""Generated tasks.

Rows are drawn from a seed, so that no dataset is needed and none can leak into training. Texts, prompts and sizes of
RULER's tasks follow Hsieh et al. 2024, arXiv 2404.06654 (NVIDIA/RULER, Apache-2.0). Three things differ: lengths count
a word or a punctuation mark as a token, words come from a list of our own, and RULER's essays are left out.
"""

import json
import math
import operator
import random
import re
import string
import uuid
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal, TypeVar

from accgate.metrics import BadOption
from accgate.metrics.metric import check_option

Drawn = TypeVar("Drawn")
Row = dict[str, Any]
FILLER = "The grass is green. The sky is blue. The sun is yellow. Here we go. There and back again."
_LISTS = files("accgate.tasks").joinpath("words.txt").read_text("utf-8").split("\n\n")
ADJECTIVES, NOUNS = (tuple(words.split()) for words in _LISTS)
PAIRS = len(ADJECTIVES) * len(NOUNS)


class CannotGenerate(ValueError):
    """The options cannot give that many rows.

    The message says why, and the fix.
    """


def tokens_in(text: str) -> int:
    """Count words and punctuation marks of a text.

    Common tokenisers give about the same number.

    >>> tokens_in("The sky is blue.")
    5
    """
    return len(re.findall(r"\w+|[^\w\s]", text))


def distinct(draw: Callable[[], Drawn], count: int) -> Iterator[Drawn]:
    """Draw `count` different things.

    A longer draw begins with the shorter one, so that samples of a smaller dataset stay samples of a larger one.
    """
    drawn: set[Drawn] = set()
    while len(drawn) < count:
        thing = draw()
        if thing not in drawn:
            drawn.add(thing)
            yield thing


def generators_of(name: str, seed: int, count: int) -> Iterator[random.Random]:
    """Return a generator of random numbers for each of so many rows.

    A row is then the same however many rows there are.
    """
    return (random.Random(f"{name} {seed} {i}") for i in range(count))


def pair_at(place: int) -> str:
    """Return the pair of words, as `silent-otter`, at a place of their list.

    Places are 0 to `PAIRS` - 1.
    """
    adjective, noun = divmod(place, len(NOUNS))
    return f"{ADJECTIVES[adjective]}-{NOUNS[noun]}"


OPERATIONS: Mapping[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def arithmetic(
    *, seed: int = 0, count: int = 1000, low: int = 1, high: int = 99, operation: Literal["+", "-", "*"] = "+"
) -> Iterator[Row]:
    """Draw distinct sums, differences or products of two whole numbers.

    Numbers are from `low` to `high`. Rows have `a`, `b`, `operation` and `answer`.

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

    The text is about `length` tokens long (`tokens_in`). Rows have `context` and `passkey`. After Mohtashami and Jaggi
    2023, arXiv 2305.16300.

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

    The object has name, age, city and job. Rows have `text` and `answer`, the object as JSON text.

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


# RULER: needles, chains of variables, and words that are frequent

Kind = Literal["words", "numbers", "uuids"]
LEAST_LONG = 4096  # tokens; shorter texts repeat their words less often


def ruler_niah(
    *,
    seed: int = 0,
    count: int = 100,
    length: int = 4096,
    haystack: Literal["filler", "needles"] = "filler",
    key: Kind = "words",
    value: Kind = "numbers",
    keys: int = 1,
    values: int = 1,
    queries: int = 1,
) -> Iterator[Row]:
    """Hide values of keys in filler text, or among needles of other keys.

    Each of `keys` has `values` values, and `queries` of the keys are asked for. Rows have `input`, `prefix` and
    `outputs`, the values.

    >>> row = next(ruler_niah(length=400, keys=2, values=2))
    >>> len(row["outputs"]), all(row["input"].count(value) == 1 for value in row["outputs"])
    (2, True)
    """
    keys = max(keys, queries)
    for rng in generators_of("ruler_niah", seed, count):
        taken: set[str] = set()
        hidden = {_new(rng, key, taken): [_new(rng, value, taken) for _ in range(values)] for _ in range(keys)}
        needles = [_needle(value, name, each) for name, own in hidden.items() for each in own]
        rng.shuffle(needles)
        wanted = rng.sample(list(hidden), queries)
        several = queries * values > 1
        before, question, prefix = _niah_words(value, _list_text(wanted), several=several)
        unit = FILLER if haystack == "filler" else _needle(value, _new(rng, key, set()), _new(rng, value, set()))
        reply = 128  # tokens, as RULER has it
        used = tokens_in(before + question + prefix) + sum(map(tokens_in, needles)) + reply
        units = (length - used) // tokens_in(unit)
        if units < len(needles):
            raise CannotGenerate(f"length is {length} tokens, too short to hide {len(needles)} needles; give more")
        lines = [unit] * units
        if haystack == "needles":  # other keys, or the question would have two answers
            lines = [_needle(value, _unlike(rng, key, taken), _unlike(rng, value, taken)) for _ in range(units)]
        for place, needle in zip(sorted(rng.sample(range(units), len(needles)), reverse=True), needles, strict=True):
            lines.insert(place, needle)
        outputs = [each for name in wanted for each in hidden[name]]
        yield {"input": before + "\n".join(lines) + question, "prefix": prefix, "outputs": outputs}


def _needle(value: Kind, key: str, each: str) -> str:
    return f"One of the special magic {value} for {key} is: {each}."


def _niah_words(value: Kind, query: str, *, several: bool) -> tuple[str, str, str]:
    """Return the texts before and after the haystack, and the answer's beginning."""
    some, are, what, kind = ("Some", "are", "are all", value) if several else ("A", "is", "is", value[:-1])
    return (
        f"{some} special magic {kind} {are} hidden within the following text. Make sure to memorize it. "
        f"I will quiz you about the {kind} afterwards.\n",
        f"\nWhat {what} the special magic {kind} for {query} mentioned in the provided text?",
        f"The special magic {kind} for {query} mentioned in the provided text {are}",
    )


def _list_text(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, and {names[-1]}"


def _draw(rng: random.Random, kind: Kind) -> str:
    if kind == "words":
        return pair_at(rng.randrange(PAIRS))
    if kind == "numbers":
        return str(rng.randrange(10**6, 10**7))
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _unlike(rng: random.Random, kind: Kind, taken: set[str]) -> str:
    """Draw a text that is none of those taken.

    No text in `taken` is a part of it, and it is a part of none.
    """
    for _ in range(1000):
        text = _draw(rng, kind)
        if not any(text in other or other in text for other in taken):
            return text
    raise CannotGenerate(f"{len(taken)} different {kind} are too many; give fewer keys or values")


def _new(rng: random.Random, kind: Kind, taken: set[str]) -> str:
    text = _unlike(rng, kind, taken)
    taken.add(text)
    return text


def ruler_vt(*, seed: int = 0, count: int = 100, length: int = 4096, chains: int = 1, hops: int = 4) -> Iterator[Row]:
    """Hide variables that are assigned from one another in filler text.

    A solved example comes first. The question asks for the `hops` + 1 variables of the first of the `chains`. Rows have
    `input`, `prefix` and `outputs`.

    >>> row = next(ruler_vt(length=700, hops=2))
    >>> all(f"VAR {name} =" in row["input"] for name in row["outputs"])
    True
    """
    for rng in generators_of("ruler_vt", seed, count):
        example = _vt(rng, 500, 1, min(hops, 10), letters=3)
        shot = f"{example['input']} {example['prefix']} {' '.join(example['outputs'])}\n\n\n\n"
        row = _vt(rng, length - tokens_in(shot), chains, hops, letters=5)
        yield {**row, "input": shot + row["input"]}


def _letters(rng: random.Random, alphabet: str, count: int) -> str:
    return "".join(alphabet[rng.randrange(26)] for _ in range(count))


def _vt(rng: random.Random, length: int, chains: int, hops: int, *, letters: int) -> Row:
    names = list(distinct(partial(_letters, rng, string.ascii_uppercase, letters), chains * (hops + 1)))
    numbers = list(distinct(partial(rng.randrange, 10_000, 100_000), chains))
    before = "Memorize and track the chain(s) of variable assignment hidden in the following text.\n\n"
    question = f"\nQuestion: Find all variables that are assigned the value {numbers[0]} in the text above."
    prefix = (
        "Answer: According to the chain(s) of variable assignment in the text above, "
        f"{hops + 1} variables are assgined the value {numbers[0]}, they are:"  # as RULER spells it
    )
    own = [names[start : start + hops + 1] for start in range(0, len(names), hops + 1)]
    used = tokens_in(before + question + prefix) + 4 * len(names) + 30
    units = (length - used) // tokens_in(FILLER)
    sentences = [f"{FILLER}\n"] * units
    if units <= hops + 1:
        sentences = [f"{part}." if part.strip() else part for line in sentences for part in line.split(".")]
    if len(sentences) < hops + 1:
        raise CannotGenerate(f"length is too short for chains of {hops} hops; give more, or fewer hops")
    for chain, number in zip(own, numbers, strict=True):
        links = [f"VAR {chain[0]} = {number}"]
        links += [f"VAR {name} = VAR {source} " for source, name in pairwise(chain)]
        places = sorted(rng.sample(range(len(sentences)), len(links)))
        for offset, (place, link) in enumerate(zip(places, links, strict=True)):
            sentences.insert(place + offset, link)
    text = " ".join(sentences).replace(". \n", ".\n")
    return {"input": before + text + question, "prefix": prefix, "outputs": own[0]}


def ruler_cwe(*, seed: int = 0, count: int = 100, length: int = 4096) -> Iterator[Row]:
    """Write a numbered list of words, after a solved example.

    Ten words come ten times as often as all others. In a text below 4,096 tokens they come 6 times and the others once.
    Rows have `input`, `prefix` and `outputs`, the ten words.

    >>> row = next(ruler_cwe(length=1000))
    >>> len(set(row["outputs"])), row["input"].count(f" {row['outputs'][0]}")
    (10, 6)
    """
    for rng in generators_of("ruler_cwe", seed, count):
        shown, often = (20, (3, 1)) if length < LEAST_LONG else (40, (10, 3))
        example, common = _cwe(rng, shown, often)
        prefix = "Answer: The top 10 words that appear most often in the list are:"
        shot = f"{example} {prefix}{' '.join(f'{n}. {word}' for n, word in enumerate(common, 1))}\n"
        repeats = (6, 1) if length < LEAST_LONG else (30, 3)
        entries = (length - 2 * tokens_in(_cwe_question("")) - tokens_in(shot) - 120) // tokens_in("1. brief-otter")
        words = 10 + (entries - 10 * repeats[0]) // repeats[1]
        if words < 20:
            raise CannotGenerate(f"length is {length} tokens, too short for a list of words; give at least 900")
        if words > PAIRS:
            raise CannotGenerate(f"length is {length} tokens, which needs {words} words; there are {PAIRS}")
        text, common = _cwe(rng, words, repeats)
        yield {"input": shot + text, "prefix": prefix, "outputs": common}


def _cwe(rng: random.Random, count: int, repeats: tuple[int, int]) -> tuple[str, list[str]]:
    """Return a question about a list of words, and its common words.

    The list has `count` different words.
    """
    words = [pair_at(place) for place in rng.sample(range(PAIRS), count)]
    entries = words[:10] * repeats[0] + words[10:] * repeats[1]
    rng.shuffle(entries)
    return _cwe_question(" ".join(f"{n}. {word}" for n, word in enumerate(entries, 1))), words[:10]


def _cwe_question(words: str) -> str:
    return (
        "Below is a numbered list of words. In these words, some appear more often than others. Memorize the ones that "
        f"appear most often.\n{words}\nQuestion: What are the 10 most common words in the above list?"
    )


def ruler_fwe(*, seed: int = 0, count: int = 100, length: int = 4096) -> Iterator[Row]:
    """Write coded words whose numbers fall with the square of their rank.

    The most frequent word is dots, and the question asks for the next three. Rows have `input`, `prefix` and `outputs`.

    >>> row = next(ruler_fwe(length=500))
    >>> [row["input"].split().count(word) for word in row["outputs"]]
    [26, 11, 6]
    """
    before = (
        "Read the following coded text and track the frequency of each coded word. Find the three most frequently "
        "appeared coded words. "
    )
    question = (
        "\nQuestion: Do not provide any explanation. Please ignore the dots '....'. What are the three most frequently "
        "appeared words in the above coded text?"
    )
    prefix = "Answer: According to the coded text above, the three most frequently appeared words are:"
    room = length - tokens_in(before + question + prefix) - 50
    numbers = _frequencies(room, max(length // 50, 5))
    if len(numbers) < 5 or numbers[3] == numbers[4]:
        raise CannotGenerate(f"length is {length} tokens, too short to tell frequent words apart; give at least 400")
    for rng in generators_of("ruler_fwe", seed, count):
        vocabulary = list(distinct(partial(_letters, rng, string.ascii_lowercase, 6), len(numbers) - 1))
        words = [word for word, n in zip(["...", *vocabulary], numbers, strict=True) for _ in range(n)]
        rng.shuffle(words)
        yield {"input": before + " ".join(words) + question, "prefix": prefix, "outputs": vocabulary[:3]}


def _frequencies(room: int, ranks: int) -> list[int]:
    """Return how often each rank's word comes in a text of `room` tokens.

    The first word, the dots, takes three tokens.
    """

    def shares(total: int) -> list[int]:
        return [int(total * rank**-2.0 / (math.pi**2 / 6)) for rank in range(1, ranks + 1)]

    totals = range(1, max(room, 1) * 2 + 1)
    return shares(bisect_right(totals, room, key=lambda total: sum(numbers := shares(total)) + 2 * numbers[0]))


# A generator of rows by the name of its task. Each raises CannotGenerate where the options cannot give that many rows.
GENERATORS: Mapping[str, Callable[..., Iterator[Row]]] = {
    function.__name__: function
    for function in (arithmetic, passkey_retrieval, json_extraction, ruler_niah, ruler_vt, ruler_cwe, ruler_fwe)
}


def check_options(name: str, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (option, fault) for every option that a generator does not take."""
    for key, value in options.items():
        try:
            check_option(name, GENERATORS[name], key, value)
        except BadOption as error:
            yield key, str(error)
        else:
            if isinstance(value, int) and key not in ("seed", "low", "high") and value < 1:
                yield key, f"is {value}; give 1 or more"
