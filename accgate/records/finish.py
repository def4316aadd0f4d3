"""The words with which servers say why a reply ended.

Servers may invent new words. A reply is scored only if its word is known, or if there is none, since a part of a reply
looks like a wrong answer. The words are those of OpenAI, vLLM, SGLang, TGI, TensorRT-LLM, llama.cpp, Ollama, Anthropic,
Google, Cohere, Bedrock, Mistral, DeepSeek, Zhipu, Baidu, watsonx and OpenRouter, as their documentation or source has
them.
"""

import re
from typing import Any

# The model ended its reply. A malformed call is an answer of the model, too.
ENDED = """
    stop stopped stop_sequence stop_string stop_token stop_word stop_words complete completed finish finished normal
    eos eos_token eos_found eog_token end_id end_turn end_of_turn end_of_message endoftext success null none unspecified
    finish_reason_unspecified tool_call tool_calls tool_use function_call function_calls malformed_function_call
    malformed_tool_use malformed_model_output unexpected_tool_call too_many_tool_calls
    end eot end_of_text im_end stop_str stop_token_id
"""
# The reply reached a limit of tokens, that of the request as far as the word tells.
LIMITED = """
    length max_length max_len max_tokens max_new_tokens max_output_tokens max_completion_tokens token_limit truncated
    out_of_tokens max_predicted_tokens
"""
SERVER_LIMIT = "server_limit"  # accgate's own word, where a reply is shorter than the request's limit
# The reply reached the end of the context, or another limit of the server.
BEYOND = f"""
    {SERVER_LIMIT} model_length max_context context_length context_length_exceeded context_window_exceeded
    model_context_window_exceeded
"""
# The model or a filter declined to go on; vLLM's detector of repetitions is such a filter.
DECLINED = """
    refusal refused content_filter content_filtered sensitive safety image_safety recitation image_recitation blocklist
    blacklist spii prohibited_content image_prohibited_content language
    model_armor guardrail_intervened error_toxic repetition
"""
FULL, REFUSED = frozenset(BEYOND.split()), frozenset(DECLINED.split())
CUT = FULL.union(LIMITED.split())
KNOWN = {None, *ENDED.split(), *CUT, *REFUSED}  # a reply that ended for one of these reasons can be scored


NEARLY = 0.9  # share of the tokens that a reply may have; servers differ in how they count the last ones


def end_within(reason: str | None, tokens: int, limit: float) -> str | None:
    """Return a finish reason, or `SERVER_LIMIT`.

    The latter is for a reply that was cut off well before its limit of tokens.

    >>> end_within("length", 256, 256), end_within("length", 40, 256), end_within("stop", 40, 256)
    ('length', 'server_limit', 'stop')
    """
    return SERVER_LIMIT if reason in CUT and 0 < tokens < NEARLY * limit else reason


def reason_of(value: Any) -> str | None:
    """Spell a finish reason as these tables do.

    The result is None where the server gives no word. SGLang's native API gives a table with the reason's type.
    Gateways write reasons in capitals, with hyphens, after the name of an enum, or as an event
    (`maxPredictedTokensReached`).

    >>> reason_of("FinishReason.MAX_TOKENS"), reason_of("tool-calls"), reason_of({"type": "endTurn"}), reason_of(" ")
    ('max_tokens', 'tool_calls', 'end_turn', None)
    """
    word = value.get("type") if isinstance(value, dict) else value
    word = re.sub(r"^\s*\w+\.(?=\w)", "", word) if isinstance(word, str) else ""
    word = "_".join(re.findall(r"[A-Z]?[^A-Z\W_]+|[A-Z]+", word)).lower() or None
    bare = re.sub(r"^(finish|stop)_reason_|_(found|reached|detected)$", "", word or "")
    return bare if word not in KNOWN and bare in KNOWN else word
