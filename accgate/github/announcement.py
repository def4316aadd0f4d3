"""The comment with its picture, and the check run with its annotations."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from accgate.config.config import load_config
from accgate.errors import AccgateError, BadInput
from accgate.github.api.client import Client
from accgate.github.api.objects import Repository, object_of
from accgate.github.branch import NewFiles, push_files
from accgate.github.check_runs import Annotation, CheckRuns, Conclusion, Level
from accgate.github.comments import State, When, comment_key, put_comment
from accgate.github.event import Event, check_run_name
from accgate.github.outcome import FAIL_ON, TITLE, Outcome, conclusion
from accgate.github.rules import Trees, has_commands, template_of
from accgate.github.runner import collect_troubles
from accgate.guard.base import Selection
from accgate.guard.state import Guard
from accgate.report.cause import CauseFile, CauseView, cause_view, read_cause
from accgate.report.comment import About, render_comment
from accgate.report.flips import flips_of_result
from accgate.report.forest import forest_files
from accgate.report.story import worst_first
from accgate.result import CAUSE, Result
from accgate.text import clip
from accgate.verdict.sentences import name_of, sentence

FAULT = re.compile(r"^accgate: (?P<path>[^\n:]+):(?P<line>[1-9]\d{0,6}): (?P<message>.+)$", re.MULTILINE)
INSIDE = ("/accgate/head", "/accgate/workspace", "/accgate/out")  # inside the evaluating container
MOST = 200  # annotations; nobody reads more, and every 50 take a request


@dataclass(frozen=True)
class Options:
    """The options of `accgate publish`.

    `trees.base` is None where no base's rules decide, as after a push.
    """

    result: Path
    trees: Trees
    check_name: str = "accgate"
    comment: When = "always"
    fail_on: frozenset[str] = frozenset(FAIL_ON)
    exit_code: int | None = None
    log: Path | None = None
    check_run_id: int | None = None
    cancelled: bool = False
    untrusted: bool = False
    dry_run: bool = False
    selection: Selection = field(default_factory=Selection)
    branches: tuple[str, ...] = ()
    picture_branch: str = ""

    @property
    def part(self) -> str:
        """A short name of this job's checks, the same in each attempt."""
        text = "\0".join((self.trees.config, *self.selection.models, "\0", *self.selection.tasks))
        return hashlib.sha256(text.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Announcement:
    """The announcement of an outcome.

    `troubles` gets a line for each part that could not be written.
    """

    options: Options
    event: Event
    client: Client | None
    outcome: Outcome
    guard: Guard | None
    troubles: list[str]

    @property
    def name(self) -> str:
        """The check run's name."""
        options = self.options
        return check_run_name(self.event, options.check_name, branches=options.branches, advisory=options.untrusted)

    @property
    def ended(self) -> Conclusion:
        """The check run's conclusion."""
        return conclusion(self.outcome, self.guard, advisory=self.options.untrusted)

    def body(self) -> str:
        """Return the Markdown of the comment, which the job summary shows too."""
        options, outcome, guard, pictures = self.options, self.outcome, self.guard, None
        with collect_troubles("the picture could not be written, so the comment has it as text", self.troubles):
            is_drawn = options.picture_branch and not (options.untrusted or options.dry_run)
            if is_drawn and self.client is not None and outcome.result is not None:
                pictures = push_pictures(self.client, self.event, options.picture_branch, outcome.result)
        about = About(
            title=self.name,
            config=options.trees.config,
            head_sha=self.event.head_sha,
            report_url=self.event.run_url,
            advisory=options.untrusted,
            commands=not options.untrusted and has_commands(options.trees),
            pictures=pictures,
        )
        flips, template, cause = None, None, None
        with collect_troubles("the comment lacks a part", self.troubles):
            if not options.untrusted:
                cause = _cause(outcome, options.result.parent)
                template = template_of(options.trees)
                flips = None if outcome.result is None else flips_of_result(outcome.result, options.result.parent)
        body = render_comment(
            outcome.result, about, guard=guard, flips=flips, failure=outcome.failure, cause=cause, template=template
        )
        return _in_repository(body, options.trees)

    def write(self, title: str, body: str) -> None:
        """Write the comment and the check run.

        Each of them is written even though the other fails.
        """
        options, outcome, guard = self.options, self.outcome, self.guard
        if self.client is None:
            return
        state = State(outcome.verdict, "none" if guard is None else guard.state, passed=self.ended == "success")
        annotations: tuple[Annotation, ...] = ()
        with collect_troubles("the check run has no annotations", self.troubles):
            annotations = () if options.untrusted else annotations_of(outcome, guard, options.trees)
        url = None
        with collect_troubles("the comment was not written", self.troubles):
            if not outcome.cancelled:
                key = comment_key(options.trees.config, options.check_name)
                url = put_comment(self.client, self.event, key=key, state=state, body=body, when=options.comment)
        summary = f"{body}\n\n[The comment on the pull request]({url})\n" if url else body
        with collect_troubles("the check run was not written", self.troubles):
            self._write_check(self.client, title, summary, annotations)

    def _write_check(self, client: Client, title: str, summary: str, annotations: tuple[Annotation, ...]) -> None:
        """End the check run with its own conclusion, or a worse one.

        It never ends better than a check run of the same name by another job or a later run.
        """
        checks = CheckRuns(client, self.event, self.name, self.options.part)
        number, ended = self.options.check_run_id, self.ended
        allowed = checks.allowed(ended, number)
        if allowed != ended:
            title = f"{clip(title, TITLE, '…')}. But another job or a later run of this check ended with {allowed}."
        is_loosened = self.guard is not None and self.guard.state == "loosened"
        number = checks.finish(allowed, title, summary, annotations, number=number, is_loosened=is_loosened)
        with collect_troubles("the check run was written, but other jobs of its name were not read", self.troubles):
            if advice := checks.settle(allowed, number):
                self.troubles.append(advice)


def _cause(outcome: Outcome, folder: Path) -> CauseView | None:
    """Return what explains a regression according to the evaluating job, if anything does."""
    if outcome.result is None or all(verdict.verdict != "regression" for verdict in outcome.result.checks):
        return None
    try:
        cause = read_cause(folder / CAUSE)
    except BadInput as error:
        cause = CauseFile(failure=str(error).replace(f"{folder.as_posix()}/", ""))
    return None if cause is None else cause_view(cause, outcome.result)


def annotations_of(outcome: Outcome, guard: Guard | None, trees: Trees) -> tuple[Annotation, ...]:
    """Return the annotations of a run, the most important first."""
    return tuple([*_faults(outcome, trees), *_verdicts(outcome, trees), *_changes(guard, trees)][:MOST])


def _verdicts(outcome: Outcome, trees: Trees) -> Iterator[Annotation]:
    if outcome.result is None:
        return
    try:
        source = load_config(trees.head_config).source
    except AccgateError:
        return
    warns = outcome.result.on_inconclusive == "warn"
    for verdict in outcome.result.decided:
        if verdict.verdict != "pass":
            is_mild = verdict.tier == "advisory" or (verdict.verdict == "inconclusive" and warns)
            level: Level = "warning" if is_mild else "failure"
            line = source.line(("gate",) if verdict.test == "overall" else ("tasks", verdict.task or ""))
            title = f"{name_of(verdict)}: {verdict.verdict}"
            yield Annotation(trees.config, line, level, title, sentence(verdict))


def _changes(guard: Guard | None, trees: Trees) -> Iterator[Annotation]:
    for change in () if guard is None else guard.changes:
        level: Level = "failure" if change.effect == "loosening" and guard and not guard.holds else "notice"
        title = f"{change.effect}: {change.rule}"
        yield Annotation(trees.config, change.line or 1, level, title, f"{change.rule}: {change.why}")


def _faults(outcome: Outcome, trees: Trees) -> Iterator[Annotation]:
    """Find the faults of files in the head's tree, in accgate's own messages."""
    for fault in FAULT.finditer("" if outcome.failure is None else outcome.failure.log):
        name = _in_repository(fault["path"], trees)
        if not PurePosixPath(name).is_absolute():
            yield Annotation(name, int(fault["line"]), "failure", "accgate: bad input", fault["message"])


def _in_repository(text: str, trees: Trees) -> str:
    """Rewrite paths of the head's files to those of the repository.

    The text may name files here or in the evaluating container.

    >>> from pathlib import Path
    >>> _in_repository("/accgate/head/accuracy.toml:2: gate", Trees(Path("head"), None, "accuracy.toml"))
    'accuracy.toml:2: gate'
    """
    folders = [*INSIDE, *([trees.head.as_posix()] if trees.head.is_absolute() else [])]
    return re.sub(f"({'|'.join(map(re.escape, folders))})/", "", text)


def push_pictures(client: Client, event: Event, branch: str, result: Result) -> tuple[str, str] | None:
    """Write the picture for light and dark pages to a branch.

    Return the addresses of both. There is none where there is nothing to draw (one check, or all passed), outside of a
    pull request, and in a repository that is not public: neither a comment's reader nor GitHub's image proxy could
    fetch it.

    Raises
    ------
    BadInput
        When the branch is the default one or the pull request's: it would get commits that nobody looked at.
    CannotPublish
        When GitHub could not be reached, or refused; the token needs `contents: write`.
    """
    drawn = {} if result.verdict == "pass" or event.number is None else forest_files(worst_first(result.checks))
    if len(drawn) != 2:
        return None
    about = object_of(Repository, client.get(f"/repos/{event.repository}", needs="metadata: read"), event.repository)
    if about.private:
        return None
    if branch.removeprefix("refs/heads/") in {about.default_branch, event.base_branch, event.head_branch}:
        raise BadInput(f"picture-branch: {branch} is a branch that people use; name one for pictures alone")
    start = f"{event.number}-{event.head_sha[:12]}-{event.source_run_id}"
    files = {f"{start}-{name}": text.encode() for name, text in drawn.items()}
    first = next(iter(files))

    def change_of(content: bytes) -> NewFiles:
        return NewFiles({} if content == files[first] else files, f"Checks of #{event.number}")

    commit, _ = push_files(client, event.repository, branch, first, change_of)
    raw = f"{event.server_url}/{event.repository}/raw"
    if event.server_url == "https://github.com":
        raw = f"https://raw.githubusercontent.com/{event.repository}"
    light, dark = (f"{raw}/{commit}/{path}" for path in files)
    return light, dark
