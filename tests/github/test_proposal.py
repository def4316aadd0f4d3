"""References recorded on request: what of hostile files is taken, and how it becomes a pull request or a commit."""

from __future__ import annotations

import gzip
import html
import json
import shutil
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.github.api.answers import CannotPublish, Refused
from accgate.github.proposal import Options, commit_message, propose
from accgate.github.runner import Job
from tests.github.asking import job, outputs, replies
from tests.github.recorded import NAMES, REASON, recorded_stores
from tests.github.server import SECONDARY, GitHub
from tests.report.rendered import page_of
from tests.support.servers import Fault

ASKED = f"/accgate accept {REASON}"
CUT_LIST = {"sha": "x", "tree": [], "truncated": True}


def bytes_of(folder: Path, under: str = "references") -> dict[str, bytes]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {f"{under}/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in paths}


def with_crlf(content: bytes) -> bytes:
    """A text as git writes it for Windows; other files as they are."""
    return content if b"\0" in content else content.replace(b"\n", b"\r\n")


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    return recorded_stores(tmp_path_factory.mktemp("recorded"))


class World:
    """The tests' GitHub with a pull request whose branch has the old references, and a folder with the new ones."""

    def __init__(self, hub: GitHub, folder: Path, old: Path, new: Path) -> None:
        self.hub, self.folder, self.out = hub, folder, folder / "artifact"
        shutil.copytree(new, self.out)
        self.begin({"README.md": b"hello", "src/a.py": b"pass\n"} | bytes_of(old))

    def begin(self, files: dict[str, bytes], *, branch: str = "change", mode: str = "100644") -> None:
        """Let the pull request's head be a commit of these files on a branch."""
        self.head = self.push(files, branch=branch, mode=mode)
        self.hub.store.add_pull(7, sha=self.head, branch=branch)
        self.options = Options(self.out, self.head)

    def push(self, files: dict[str, bytes], *, branch: str = "change", mode: str = "100644") -> str:
        store = self.hub.store
        parent = store.refs.get(f"refs/heads/{branch}")
        entries = [{"path": path, "sha": store.add_blob(content), "mode": mode} for path, content in files.items()]
        tree = store.add_tree(entries, store.commits[parent]["tree"]["sha"] if parent else None)
        store.refs[f"refs/heads/{branch}"] = sha = store.add_commit(tree, [parent] if parent else [], "by hand")
        return sha

    def move(self, sha: str) -> None:
        self.hub.store.push(7, sha)

    def propose(self, body: str = ASKED, **changes) -> dict[str, str]:
        """What a new comment's job gives, or the last comment's again."""
        self.environ = job(self.folder, self.hub, body)
        return self.again(**changes)

    def again(self, **changes) -> dict[str, str]:
        options = Options(**vars(self.options) | changes)
        Path(self.environ["GITHUB_OUTPUT"]).write_text("")
        assert propose(options, Job(self.environ, lambda _: self.hub.client(), lambda _: None)) == 0
        return outputs(self.environ)

    def edit(self, old: str, new: str, name: str = "sums.toml") -> None:
        """Change a file of the artifact."""
        path = self.out / "m" / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def tip(self, branch: str) -> dict:
        """The last commit of a branch."""
        return self.hub.store.commits[self.hub.store.refs[f"refs/heads/{branch}"]]

    def files(self, ref: str) -> dict[str, bytes]:
        return self.hub.store.contents(ref)

    @property
    def branch(self) -> str:
        return f"accgate/accept-7-{self.head[:12]}"

    @property
    def writes(self) -> list[str]:
        """The requests that changed something, other than comments."""
        return [asked.path for asked in self.hub.asked if asked.method != "GET" and "/git/" in asked.path]

    @property
    def reply(self) -> str:
        (text,) = replies(self.hub)
        return html.unescape(text)

    @property
    def proposals(self) -> list[dict]:
        return [row for number, row in self.hub.store.pulls.items() if number != 7]


@pytest.fixture
def world(hub, tmp_path, stores):
    return World(hub, tmp_path, *stores)


class TestPullRequest:
    # Pull requests into another branch or of another repository are not ours.
    @pytest.mark.parametrize("other", [{}, {"head_repository": "octo/other", "base": "change"}])
    def test_it_brings_what_differs_onto_a_branch_of_its_own_and_says_why_and_who(self, world, other):
        world.hub.store.add_pull(90, branch=world.branch, **other)
        found = world.propose()
        _, pull = world.proposals
        assert found == {"url": pull["html_url"]}
        assert (pull["head"]["ref"], pull["base"]["ref"]) == (world.branch, "change")
        assert world.files(world.branch) == world.files("change") | bytes_of(world.out)
        assert world.tip("change")["sha"] == world.head
        commit = world.tip(world.branch)
        assert [parent["sha"] for parent in commit["parents"]] == [world.head]
        assert commit["message"] == f"Record accuracy references\n\n{REASON}\n\nRequested by will in #7\n"
        sent = next(asked.body for asked in world.hub.asked if asked.path.endswith("/git/trees") and asked.body)
        assert [row["path"] for row in sent["tree"]] == [f"references/{name}" for name in NAMES]
        assert {row["mode"] for row in sent["tree"]} == {"100644"}
        assert f"]({found['url']})" in replies(world.hub)[0]
        assert "must approve the new commit" in world.reply

    def test_the_first_reference_needs_none_before_it(self, world):
        world.begin({"README.md": b"x", "eval/llm/refs/other.toml": b"y"}, branch="bare")
        for path in world.out.rglob("*.anchor.*"):
            path.unlink()
        world.propose(references="eval/llm/refs")
        stored = {f"eval/llm/refs/{name}" for name in ("other.toml", "m/sums.toml", "m/sums.scores.csv")}
        assert set(world.files(world.branch)) == {"README.md", *stored}

    @pytest.mark.parametrize("crlf", ["nowhere", "head", "artifact"])
    def test_what_the_head_has_already_but_for_line_ends_is_not_proposed(self, world, stores, crlf):
        shutil.rmtree(world.out)
        shutil.copytree(stores[0], world.out)
        ended = {path: with_crlf(content) for path, content in bytes_of(world.out, "").items()}
        assert any(b"\r\n" in content for content in ended.values())
        if crlf == "artifact":
            for path, content in ended.items():
                (world.out / path[1:]).write_bytes(content)
        elif crlf == "head":
            world.begin({f"references{path}": content for path, content in ended.items()})
        assert world.propose() == {"url": ""}
        assert not world.writes
        assert "nothing to propose" in world.reply

    def test_replies_are_committed_as_they_are(self, world):
        row = {"id": "a", "repeat": 0, "reply": "@team"}
        (world.out / "m" / "sums.replies.jsonl.gz").write_bytes(content := gzip.compress(json.dumps(row).encode()))
        world.propose()
        assert world.files(world.branch)["references/m/sums.replies.jsonl.gz"] == content


class TestTwice:
    def test_a_second_time_finds_the_first_s(self, world):
        first = world.propose()
        before = len(world.writes)
        assert world.again() == first
        assert len(world.writes) == before
        assert len(world.proposals) == len(replies(world.hub)) == 1

    def test_other_references_at_the_same_head_go_on_the_same_branch(self, world):
        first = world.propose()
        tip = world.tip(world.branch)["sha"]
        world.edit(f'reason = "{REASON}"', 'reason = "again"')
        assert world.propose("/accgate accept again") == first
        assert [parent["sha"] for parent in world.tip(world.branch)["parents"]] == [tip]
        assert len(world.proposals) == 1

    def test_what_a_person_added_to_the_branch_stays(self, world):
        world.propose()
        world.push({"note.md": b"mine", "references/m/sums.toml": b"broken"}, branch=world.branch)
        world.again()
        assert world.files(world.branch)["note.md"] == b"mine"
        assert world.files(world.branch)["references/m/sums.toml"] == (world.out / "m/sums.toml").read_bytes()


class TestCommit:
    @pytest.mark.parametrize("branch", ["change", "ann/fix#1"])
    def test_it_goes_onto_the_branch_itself(self, world, branch):
        world.begin(world.files("change"), branch=branch)
        found = world.propose(how="commit")
        tip = world.tip(branch)
        assert found["url"] == f"https://github.example/octo/models/commit/{tip['sha']}"
        assert tip["parents"][0]["sha"] == world.head
        assert bytes_of(world.out).items() <= world.files(branch).items()
        assert world.proposals == []
        assert "started no workflow" in world.reply

    def test_the_branch_is_never_forced(self, world):
        world.push({"README.md": b"pushed meanwhile"})  # the API's pull request does not know yet
        with pytest.raises(Refused, match="moved"):
            world.propose(how="commit")
        assert world.files("change")["README.md"] == b"pushed meanwhile"
        changes = [asked for asked in world.hub.asked if asked.method == "PATCH" and "git" in asked.path]
        assert all(asked.body["force"] is False for asked in changes)

    def test_a_second_time_finds_the_first_s_under_a_later_commit_too(self, world):
        world.propose(how="commit")
        before = len(world.writes)
        for push in (lambda: world.tip("change")["sha"], lambda: world.push({"README.md": b"x"})):
            world.move(push())
            assert world.again(how="commit")["url"]
            assert len(world.writes) == before

    def test_a_later_commit_of_somebody_s_is_not_taken_for_it(self, world):
        world.move(world.push({"README.md": b"x"}))
        with pytest.raises(Refused, match="has moved"):
            world.propose(how="commit")


class TestRefused:
    def refused(self, world, match, kind=CannotPublish) -> None:
        with pytest.raises(kind, match=match):
            world.propose()
        assert not world.writes
        assert world.proposals == []
        assert outputs(world.environ) == {}
        assert "were not proposed" in world.reply

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            (lambda world: world.move(world.push({"README.md": b"x"})), "has moved"),
            (lambda world: world.hub.store.pulls[7].update(state="closed"), "closed"),
            (lambda world: world.hub.store.add_pull(7, sha=world.head, head_repository="ann/models"), "fork"),
            (lambda world: world.hub.fail(Fault(200, CUT_LIST), path="git/trees"), "only a part"),
        ],
    )
    def test_a_head_that_moved_is_closed_a_fork_s_or_not_listed_whole(self, world, change, match):
        change(world)
        self.refused(world, match)

    @pytest.mark.parametrize(
        ("path", "mode"),
        [
            ("references", "120000"), ("references/m", "160000"),
            ("references/m/sums.toml", "120000"), ("references/m/sums.toml/x", "100644"),
        ],
    )  # fmt: skip
    def test_a_link_submodule_or_folder_in_the_place(self, world, path, mode):
        world.begin({path: b"../elsewhere"}, branch="bare", mode=mode)
        self.refused(world, "(is not a folder|other than a plain file)", BadInput)

    @pytest.mark.parametrize("body", ["/accgate rerun", "/accgate accept", "thanks"])
    def test_a_comment_that_accepts_nothing(self, world, body):
        with pytest.raises(BadInput, match="not /accgate accept"):
            world.propose(body)
        assert not world.hub.asked

    def test_what_may_not_be_opened_says_where_to_allow_it_and_a_second_try_opens_it(self, world):
        said = {"message": "GitHub Actions is not permitted to create or approve pull requests."}
        world.hub.fail(Fault(403, said), method="POST", path="/pulls$")
        with pytest.raises(Refused, match="Workflow permissions"):
            world.propose()
        assert world.branch in world.reply.replace("\u200b", "")
        world.again()
        assert len(world.proposals) == 1


class TestHostileFiles:
    """What is taken of them, in test_artifact.py; here, that nothing is written where one is refused."""

    def test_a_bad_reference_refuses_all(self, world):
        world.edit(",100", ",0", "sums.scores.csv")
        TestRefused().refused(world, "is not what was recorded", BadInput)

    def test_a_damaged_reference_that_the_head_has_too_is_not_looked_at(self, world):
        (world.out / "m" / "old.toml").write_text("mean only, by hand")
        world.begin({"references/m/old.toml": b"mean only, by hand"})
        world.propose()
        assert len(world.proposals) == 1


class TestMessage:
    def test_it_does_nothing(self):
        reason = "@team closes GH-3, fixes https://github.com/o/r/3 [skip ci] #3"
        message = commit_message(reason, "will", 7)
        for active in ("@team", "#3", "GH-3", "://", "[skip"):
            assert active not in message
        assert message.replace("\u200b", "") == f"Record accuracy references\n\n{reason}\n\nRequested by will in #7\n"

    def test_the_pull_request_s_text_mentions_nobody(self, world):
        reason = "@team <b>x</b> [a](http://b) fixes #3"
        world.edit(REASON, reason)
        world.propose(f"/accgate accept {reason}")
        (pull,) = world.proposals
        assert not [link for link in page_of(pull["body"]).links if "//b" in link]
        for active in ("@team", "<b>", "#3"):
            assert active not in (html.unescape(pull["body"]) if active[0] in "@#" else pull["body"])
        assert "#7" in pull["body"]


class TestFaults:
    @pytest.mark.parametrize("fault", [Fault(cut=True), Fault(429, SECONDARY, {"retry-after": "9"})])
    def test_what_fails_once_is_asked_again(self, world, fault):
        for path in ("git/blobs", "git/trees", "git/commits", "git/refs", "/pulls$"):
            world.hub.fail(fault, method="POST", path=path, performed=fault.cut)
        world.propose()
        assert len(world.proposals) == 1
        assert world.files(world.branch) == world.files("change") | bytes_of(world.out)


class TestCommandLine:
    @pytest.fixture
    def run(self, world, monkeypatch):
        world.environ = job(world.folder, world.hub, ASKED)
        for name, value in world.environ.items():
            monkeypatch.setenv(name, value)
        return lambda *arguments: main(["propose", str(world.out), *arguments])

    @pytest.mark.parametrize("how", ["pull-request", "commit"])
    def test_it_proposes_with_the_variables_of_the_job(self, world, run, how):
        assert run("--head-sha", world.head, "--as", how) == 0
        assert len(world.proposals) == (how == "pull-request")
        assert (world.tip("change")["sha"] != world.head) == (how == "commit")

    @pytest.mark.parametrize("path", ["/etc", "a/../../b", "x/.git", "."])
    def test_a_folder_that_is_none_in_the_repository_is_refused(self, world, run, capsys, path):
        assert run("--head-sha", world.head, f"--references={path}") == 2
        assert "--references" in capsys.readouterr().out
        assert not world.hub.asked

    @pytest.mark.parametrize("sha", ["main", "A" * 40, "a" * 40 + "\n"])
    def test_a_head_that_is_no_commit_is_refused(self, world, run, sha):
        assert run(f"--head-sha={sha}") == 2
        assert not world.hub.asked

    def test_a_missing_permission_is_named_with_exit_code_3(self, world, run, capsys):
        world.hub.forbid("POST", "git/commits")
        assert run("--head-sha", world.head) == 3
        said = capsys.readouterr().out
        assert said.startswith("::error title=accgate propose::")
        assert "`contents: write`" in said

    def test_hostile_files_cannot_command_the_runner(self, world, run, capsys):
        (world.out / "m" / "sums.toml").write_text('"x\\n::add-mask::y\\n##[add-mask]z" = 1\n')
        assert run("--head-sha", world.head) == 2
        (said,) = capsys.readouterr().out.splitlines()
        assert said.startswith("::error title=accgate propose::")
