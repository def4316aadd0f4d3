"""Log-probabilities of continuations through `/v1/completions`: the right tokens, and servers that cannot."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from accgate.engines import Request, RequestFailed
from accgate.engines.base import LogProbs
from accgate.engines.openai.likelihood import Echoed, first_token
from accgate.errors import CannotEvaluate
from tests.engines.asking import engine_at, run_on
from tests.support.cases import each
from tests.support.servers import Fault, Server, echoed

pytestmark = pytest.mark.usefixtures("short_waits")
PROMPT = Request("a", 0, "The capital is", mode="completion", stop=("\n",), seed=3)


def scored(server: Server, continuation: str, request: Request = PROMPT) -> LogProbs:
    ((only,),) = all_scored(server, [([continuation], request)])
    return only


def all_scored(server: Server, asked: list[tuple[list[str], Request]]) -> list[list[LogProbs]]:
    engine = engine_at(server.url, max_retries=1)

    async def work() -> list[list[LogProbs]]:
        return [await engine.score(request, continuations) for continuations, request in asked]

    return run_on(engine, work)


def test_a_continuations_tokens_are_scored_and_no_text_is_asked_for(server: Server) -> None:
    assert scored(server, " Paris of") == LogProbs((" Paris", " of"), (-1.5, -0.75), greedy=False)
    (seen,) = server.seen
    assert seen.path == "/v1/completions"
    assert seen.body == {
        "model": "toy", "prompt": "The capital is Paris of", "max_tokens": 0, "temperature": 0.0, "echo": True,
        "logprobs": 1,
    }  # fmt: skip


def test_a_word_that_grows_over_the_border_is_counted_by_the_prompts_own_tokens(server: Server) -> None:
    assert scored(server, "land now") == LogProbs((" now",), (-1.0,), greedy=False)
    assert server.prompts == ["The capital island now", "The capital is"]


@each(
    "fault",
    [
        Fault(400, {"error": {"message": "Only no echo is supported"}}),
        Fault(body={"choices": [{"text": " Paris"}]}),
        Fault(body=echoed(" Paris in France")),
        Fault(body={"choices": [{"text": " Paris", "logprobs": {"content": [{"token": " Paris", "logprob": -1}]}}]}),
    ],
)
def test_a_server_that_cannot_is_said_with_the_alternative(server: Server, fault: Fault) -> None:
    server.fault_of = lambda _: fault
    with pytest.raises(CannotEvaluate, match=r"^toyserver gives no log-prob.*; vLLM and SGLang can: .*the engine vllm"):
        scored(server, " Paris")


def test_a_chat_is_refused_with_the_mend_and_an_empty_continuation_fails_its_sample(server: Server) -> None:
    with pytest.raises(CannotEvaluate, match='mode = "completion"'):
        scored(server, " Paris", Request("a", 0, "The capital is"))
    with pytest.raises(RequestFailed, match="log-probabilities of the continuation"):
        scored(server, "")


@each("message", ["the prompt is too long", "max_tokens must be 1 or more"])
def test_another_refusal_fails_the_sample_alone(server: Server, message: str) -> None:
    server.fault_of = lambda _: Fault(400, {"error": message})
    with pytest.raises(RequestFailed, match=message):
        scored(server, " Paris")


def broken(change: dict[str, Any]) -> Fault:
    body = echoed("The capital is Paris")  # as a server sends it that does as it is told
    body["choices"][0]["logprobs"] |= change
    return Fault(body=body)


@each(
    ("change", "said"),
    [
        ({"token_logprobs": [None, -1.0]}, "differ in length"),
        ({"token_logprobs": [None, -1.0, -1.0, None]}, "lacks log-probabilities of the continuation"),
        ({"token_logprobs": [None, -1.0, -1.0, float("nan")]}, "lacks log-probabilities of the continuation"),
        ({"token_logprobs": [None, -1.0, -1.0, "x"]}, "holds no log-probabilities"),
        ({"token_logprobs": [None, -1.0, -1.0, -(10**400)]}, "holds no log-probabilities"),
    ],
)
def test_a_malformed_reply_is_never_a_score(server: Server, change: dict[str, Any], said: str) -> None:
    server.fault_of = lambda _: broken(change)
    with pytest.raises(RequestFailed, match=said):
        scored(server, " is Paris", Request("a", 0, "The capital", mode="completion"))


def test_without_the_best_tokens_it_is_not_known_whether_a_continuation_is_greedy(server: Server) -> None:
    server.fault_of = lambda _: broken({"top_logprobs": None})
    assert scored(server, " Paris") == LogProbs((" Paris",), (-1.5,), greedy=None)


LETTERS = [" A", " B", " C"]


def listing(prompt: str, *, of: list[str] = LETTERS, shift: float = 0.0) -> dict[str, Any]:
    """A choice with the next tokens' log-probabilities as the echo has them, moved by so much."""
    row = {text: scored_alone(prompt, text) + shift for text in of} | {" the": -0.75}
    return {"text": " the", "logprobs": {"top_logprobs": [row]}}


ASKED = [(LETTERS, replace(PROMPT, prompt=f"Question {n}:")) for n in range(3)]


def assert_echoed(rows: list[list[LogProbs]]) -> None:
    """Each question's letters have the log-probabilities that the echo gives them."""
    expected = [[scored_alone(request.prompt, text) for text in LETTERS] for _, request in ASKED]
    assert [[one.total for one in row] for row in rows] == [pytest.approx(row, abs=0.01) for row in expected]


def scored_alone(prompt: str, text: str) -> float:
    (value,) = echoed(prompt + text)["choices"][0]["logprobs"]["token_logprobs"][-1:]
    return float(value)


def test_labels_that_are_among_the_likeliest_tokens_are_one_request(server: Server) -> None:
    server.choice_of = listing
    assert_echoed(all_scored(server, ASKED))
    assert [seen.body.get("echo", False) for seen in server.seen] == [False, True, True, True, False, False]
    assert server.seen[-1].body == {
        "model": "toy", "prompt": "Question 2:", "max_tokens": 1, "temperature": 0.0, "logprobs": 20,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lists", "echoes"),
    [
        (partial(listing, shift=-2.0), 9),  # another quantity, as after a temperature: echoes alone
        (partial(listing, of=LETTERS[:2]), 5),  # one that is not in the list has an echo
        (partial(listing, of=[]), 9),  # none is ever there
    ],
)
def test_what_a_list_lacks_or_says_otherwise_is_echoed(server: Server, lists: Any, echoes: int) -> None:
    server.choice_of = lists
    assert_echoed(all_scored(server, ASKED))
    assert sum(seen.body.get("echo", False) for seen in server.seen) == echoes


def test_a_server_with_a_list_and_without_echoes_scores_what_it_lists(server: Server) -> None:
    server.choice_of, server.echoes = listing, False
    (row,) = all_scored(server, [(LETTERS, PROMPT)])
    assert [one.total for one in row] == [scored_alone(PROMPT.prompt, text) for text in LETTERS]
    server.choice_of = partial(listing, of=LETTERS[:1])
    with pytest.raises(CannotEvaluate, match="gives no log-probabilities of a prompt"):
        all_scored(server, [(LETTERS, PROMPT)])


def test_a_server_that_fails_where_it_shall_list_tokens_is_asked_for_echoes(server: Server) -> None:
    server.fault_of = lambda body: None if body.get("echo") else Fault(400, {"error": "no"})
    first, second = all_scored(server, [(LETTERS, PROMPT)] * 2)
    assert [one.total for one in first] == [one.total for one in second]
    assert [seen.body.get("echo", False) for seen in server.seen] == [False, *[True] * 6]


def test_a_server_that_lists_fewer_tokens_is_asked_for_five(server: Server) -> None:
    server.choice_of = listing
    refusal = Fault(400, {"error": {"message": "logprobs must be 5 or less"}})
    server.fault_of = lambda body: refusal if body.get("logprobs") == 20 else None
    all_scored(server, [(LETTERS, PROMPT), (LETTERS, PROMPT)])
    assert [seen.body["logprobs"] for seen in server.seen if not seen.body.get("echo")] == [20, 5, 5]


@each(
    ("tokens", "continuation", "index"),
    [
        (("<s>", "a", " b", " c"), " b c", 2),
        (("", "a", " b", " c"), " c", 3),
        (("a", " bc"), "c", None),
        (("a", "\ufffd", "\ufffd"), "\u00e9", None),
        (("a", ""), "a", None),
    ],
)
def test_the_continuations_first_token_is_found_from_the_end(
    tokens: tuple[str, ...], continuation: str, index: int | None
) -> None:
    nothing = (None,) * len(tokens)
    assert first_token(Echoed(tokens, nothing, nothing), continuation) == index
