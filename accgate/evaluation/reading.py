"""How a reply is read, and why too many hold no answer."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from accgate.engines import Reply, split_reasoning
from accgate.engines.reasoning import without_blank_lines
from accgate.planning.checks import Check
from accgate.records.figures import Figures, split_readings
from accgate.records.file import Record
from accgate.records.finish import CUT, FULL, REFUSED
from accgate.tasks import Sample, Task
from accgate.tasks.choices import TIE
from accgate.tasks.tools import parse_reply, reply_json
from accgate.text import clip, some_of, visible
from accgate.verdict import Readings

LONGEST = 4_000  # characters of a thought that a record keeps, a quarter from its beginning, the rest from its end
EXAMPLES = 3  # replies that a message shows
WIDTH = 100  # characters of each of these
FIXES = {  # of replies without an answer, by kind
    "unread": "correct [extract] of the task",
    "cut": "raise max_tokens",
    "full": "shorten the prompts, or serve the model with a longer context: max_tokens was not reached",
    "empty": "see why the model says nothing: its weights, its chat template, or a stop string that comes first",
    "refused": "look at what the model refuses, or at the content filter of its server",
}
ANSWER_TAG = re.compile(r"\s*<answer>\s*\n(.*?)(?:\n\s*</answer>\s*)?\Z", re.DOTALL)  # Hunyuan's, after its thought


@dataclass
class Thoughts:
    """What a run learns about its model's thoughts.

    `unopened` is set once a thought had only its closing mark, which shows that the prompt opens the thought. A reply
    of such a model that was cut off without any mark ended within its thought.
    """

    unopened: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A reply as it was read.

    `text` follows the `reasoning`, and `kind` is that of `Record.reading`.
    """

    text: str
    answer: str | None
    kind: str
    reasoning: str | None = None


def divide(task: Task, reply: Reply, thoughts: Thoughts, opened: str = "") -> tuple[str | None, str | None]:
    """Divide a reply into the text after its reasoning, and the reasoning.

    The text is None where the reply ended within its reasoning. `opened` is the mark with which the prompt opens a
    thought. A task that keeps the reasoning gets the whole reply as its text. Blank lines between the two are dropped.
    """
    text, apart = reply.text or "", reply.reasoning
    if task.content.reasoning == "keep":
        return (text if apart is None else f"{apart}\n\n{text}"), None
    is_cut = reply.finish_reason in CUT
    split = split_reasoning(text, cut=is_cut, opened=opened)
    thoughts.unopened = thoughts.unopened or split.unopened
    if is_cut and thoughts.unopened and apart is None and split.answer == text:
        return None, text
    answer = without_blank_lines(split.answer) if split.answer and apart is not None else split.answer
    return answer, "\n\n".join(each for each in (apart, split.reasoning) if each) or None


def read(task: Task, reply: Reply, thoughts: Thoughts, sample: Sample, *, opened: str = "", recorded: bool) -> Reading:
    """Read a reply to a sample.

    An empty reply has an empty answer if the metric scores the whole reply. For a task with tools the text becomes
    that of `reply_json`, which a `recorded` reply already is.
    """
    is_read = task.has_tools and recorded
    text, reasoning = (reply.text, reply.reasoning) if is_read else divide(task, reply, thoughts, opened)
    if task.has_tools:
        text = (text or "") if is_read else reply_json(text, reply.tool_calls)
        answer = task.answer(text, sample)
        is_found = answer is not None and answer.strip()
        kind = "read" if is_found else kind_without_answer(parse_reply(text).content, reply)
        return Reading(text, answer, kind, reasoning)
    if not (text or "").strip():
        ended_within = text is None or reply.finish_reason in CUT
        # A reply that came to no answer gets the worst score, if the metric has a worst.
        answer = None if task.extracts or (ended_within and task.metric.worst is not None) else ""
        return Reading(text or "", answer, kind_without_answer(text, reply), reasoning)
    assert text is not None
    whole = ANSWER_TAG.match(text) if reasoning is not None and not task.has_pattern else None
    answer = task.answer(text if whole is None else whole[1], sample)
    has_answer = answer is not None and answer.strip()
    return Reading(text, answer, "read" if has_answer else kind_without_answer(text, reply), reasoning)


def kind_without_answer(text: str | None, reply: Reply) -> str:
    """Return how a reply without an answer was read.

    `text` follows the reasoning; it is None where the reply ended within that.
    """
    if reply.finish_reason in CUT:
        return "cut"
    return "unread" if text is None or text.strip() else "empty"


def kind_of(kind: str, task: Task, sample: Sample, answer: str | None, score: float | None) -> str:
    """Return the kind of a reading once it is scored.

    The metric may know better than the extraction whether a reply holds an answer. A metric that looks for something in
    the answer says whether it is there. For other metrics, a right answer counts as read even if it is empty.
    """
    if answer is None or score is None or kind == "cut":
        return kind
    is_found = task.metric.found(answer, task.targets(sample.target), score)
    return kind if is_found is None or is_found == (kind == "read") else "read" if is_found else "unread"


def shorten(reasoning: str | None) -> str | None:
    """Shorten a long thought to its beginning and end, as a record keeps it.

    >>> shorten("a" * 5000)[990:1050]
    'aaaaaaaaaa\\n[... 1,000 characters left out ...]\\naaaaaaaaaaaaa'
    """
    if reasoning is None or len(reasoning) <= LONGEST:
        return reasoning
    first, last = LONGEST // 4, LONGEST - LONGEST // 4
    left_out = f"\n[... {len(reasoning) - LONGEST:,} characters left out ...]\n"
    return reasoning[:first] + left_out + reasoning[-last:]


def unread_problem(records: Sequence[Record], max_unread: float) -> tuple[str, ...] | None:
    """Say that too many replies hold no answer, with the fix and examples.

    None where `max_unread` allows them. A run in which no reply at all holds an answer is wrong whatever `max_unread`
    allows. Replies to attacked prompts have a limit of their own.
    """
    own, attacked = split_readings(records)
    if own is not None and _are_too_many(own, max_unread):
        return _own_problem(records, own, max_unread)
    if attacked is None or not _are_too_many(attacked, max_unread):
        return None
    one, many = "1 reply to an attacked prompt holds", f"{attacked.replies:,} replies to attacked prompts hold"
    unread = [record.shown_id for record in records if record.attacked_unread]
    ends = (("refused", attacked.refused), ("full", attacked.full), ("cut", attacked.cut))
    of_end = next((FIXES[kind] for kind, count in ends if count == attacked.unread), None)
    fix = of_end or "correct [extract] of the task, or the text that [[attack]] changes"
    replies = one if attacked.replies == 1 else many
    return (
        f"{attacked.unread:,} of {replies} no answer{_kinds(attacked)}, {_limit(attacked, max_unread)}: {fix}",
        f"attacked samples whose replies hold no answer: {some_of(unread)}",
    )


def is_beyond_unread(records: Sequence[Record], max_unread: float) -> bool:
    """Tell whether more replies than `max_unread` allows hold no answer.

    This share is the limit for plain and for attacked replies, each taken alone.
    """
    return any(part is not None and part.share > max_unread for part in split_readings(records))


def is_silence_alone(check: Check, records: Sequence[Record]) -> bool:
    """Tell whether too many replies are unread, only because of silence.

    Without those that are empty or cut off, few enough replies hold no answer. The reference's replies were read, so
    these answers are lost, and no better extraction would find them.
    """
    own, attacked = split_readings(records)
    if own is None or not check.silence_is_loss or (attacked is not None and _are_too_many(attacked, check.max_unread)):
        return False
    spoken = replace(own, unread=own.unread - int(Figures.of(records).silent.sum()))
    return not _are_too_many(spoken, check.max_unread)


def _are_too_many(readings: Readings, max_unread: float) -> bool:
    return readings.share > max_unread + 1e-9 or readings.unread == readings.replies


def _limit(readings: Readings, max_unread: float) -> str:
    if readings.share > max_unread + 1e-9:
        return f"more than max_unread = {max_unread:g} allows"
    return "that is all of them"


def _own_problem(records: Sequence[Record], readings: Readings, max_unread: float) -> tuple[str, ...]:
    what, fix = _cause(records, readings)
    if readings.unread < readings.replies:
        fix += "; where this model rightly gives no answer so often, raise max_unread"
    unread = [record for record in records if record.is_unread][:EXAMPLES]
    return f"{what}, {_limit(readings, max_unread)}: {fix}", *map(_reply_line, unread)


def silence_cause(records: Sequence[Record]) -> str:
    """Explain a loss through empty or cut replies, and say what to do."""
    own, _ = split_readings(records)
    assert own is not None
    what, fix = _cause(records, own)
    return f"{what}, where the reference's replies were read: {fix}"


def _cause(records: Sequence[Record], readings: Readings) -> tuple[str, str]:
    """Say how many replies hold no answer, and how to fix that.

    There is a fix for each kind of reply, the most frequent first.
    """
    unread = [record for record in records if record.is_unread]
    kinds = Counter(kind_of_end(str(record.reading), record.finish_reason) for record in unread)
    cut = kinds["cut"] + kinds["full"]
    ended = Readings(len(unread), len(unread), readings.empty, cut, kinds["refused"], kinds["full"])
    replies = "1 reply holds" if readings.replies == 1 else f"{readings.replies:,} replies hold"
    fixes = [FIXES[kind] for kind, _ in kinds.most_common()]
    if any(record.reasoning for record in unread):
        fixes.append('read the reasoning too (reasoning = "keep")')
    fix = ", or ".join(filter(None, (", ".join(fixes[:-1]), fixes[-1])))
    if all((record.reply or "").startswith(TIE) for record in unread):
        fix = "the options of each are equally likely; look at the log-probabilities that the engine gives"
    return f"{readings.unread:,} of {replies} no answer{_kinds(ended)}", fix


def _kinds(readings: Readings) -> str:
    parts = [f"{count:,} {how}" for count, how in ((readings.empty, "empty"), *readings.ends) if count]
    return f" ({', '.join(parts)})" if parts else ""


def kind_of_end(kind: str, finish_reason: str | None) -> str:
    """Return the key of `FIXES` for a reply that holds no answer."""
    if finish_reason in REFUSED:
        return "refused"
    return "full" if kind == "cut" and finish_reason in FULL else kind


def _reply_line(record: Record) -> str:
    """Show the beginning and end of a reply that holds no answer.

    The text takes one line.
    """
    text = visible((record.reply or "").strip()[:50_000])  # to make a reply of megabytes visible takes seconds
    if not text:
        within = "" if not record.reasoning else f", after reasoning that ends {_quote(record.reasoning[-WIDTH:])}"
        return f"sample {record.shown_id} replied nothing{within}"
    if len(text) > WIDTH:
        text = f"{text[: WIDTH // 2]} … {text[-WIDTH // 2 :]}"
    return f"sample {record.shown_id} replied {_quote(text)}"


def _quote(text: str) -> str:
    return json.dumps(clip(visible(text.strip()), WIDTH + 10), ensure_ascii=False)
