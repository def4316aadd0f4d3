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
from accgate.github.api.answers import CannotPublish, CannotReach, Refused
from accgate.github.proposal import Options, commit_message, propose
from accgate.github.runner import Job
from accgate.inputs.paths import content_digest
from accgate.references.store import find_reference
from tests.github.asking import job, outputs, replies
from tests.github.recorded import NAMES, REASON, recorded_stores
from tests.github.server import SECONDARY, GitHub
from tests.report.rendered import page_of
from tests.servers import Fault

ASKED = f"/accgate accept {REASON}"


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
        self.head = self.push({"README.md": b"hello", "src/a.py": b"pass\n"} | bytes_of(old))
        hub.store.add_pull(7, sha=self.head)
        self.options = Options(self.out, self.head)

    def push(self, files: dict[str, bytes], *, branch: str = "change", modes: dict[str, str] | None = None) -> str:
        store = self.hub.store
        parent = store.refs.get(f"refs/heads/{branch}")
        entries = [
            {"path": path, "sha": store.add_blob(content), "mode": (modes or {}).get(path, "100644")}
            for path, content in files.items()
        ]
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
        self.said: list[str] = []
        assert propose(options, Job(self.environ, lambda _: self.hub.client(), self.said.append)) == 0
        return outputs(self.environ)

    def files(self, ref: str) -> dict[str, bytes]:
        store = self.hub.store
        tree = store.trees[store.commits[store.resolve(ref)]["tree"]["sha"]]
        return {path: store.blobs[blob] for path, (_, blob) in tree.items()}

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
def world(tmp_path, stores):
    with GitHub() as hub:
        yield World(hub, tmp_path, *stores)


class TestPullRequest:
    def test_it_brings_what_differs_into_the_branch_and_nothing_else(self, world):
        found = world.propose()
        (pull,) = world.proposals
        assert found == {"url": pull["html_url"]}
        assert (pull["head"]["ref"], pull["base"]["ref"]) == (world.branch, "change")
        assert world.files(world.branch) == world.files("change") | bytes_of(world.out)
        commit = world.hub.store.commits[world.hub.store.refs[f"refs/heads/{world.branch}"]]
        assert [parent["sha"] for parent in commit["parents"]] == [world.head]
        sent = next(asked.body for asked in world.hub.asked if asked.path.endswith("/git/trees") and asked.body)
        assert [row["path"] for row in sent["tree"]] == [f"references/{name}" for name in NAMES]
        assert {row["mode"] for row in sent["tree"]} == {"100644"}

    def test_the_pull_request_s_own_branch_stays(self, world):
        world.propose()
        assert world.hub.store.refs["refs/heads/change"] == world.head

    def test_the_commit_says_why_and_who(self, world):
        world.propose()
        message = world.hub.store.commits[world.hub.store.refs[f"refs/heads/{world.branch}"]]["message"]
        assert message == f"Record accuracy references\n\n{REASON}\n\nRequested by will in #7\n"

    def test_the_answer_leads_to_it_and_says_what_the_guard_will_ask(self, world):
        found = world.propose()
        assert f"]({found['url']})" in replies(world.hub)[0]
        assert "must approve the new commit" in world.reply

    def test_the_first_reference_needs_none_before_it(self, world):
        world.head = world.push({"README.md": b"x"}, branch="bare")
        world.hub.store.add_pull(7, sha=world.head, branch="bare")
        for path in world.out.rglob("*.anchor.*"):
            path.unlink()
        world.options = Options(world.out, world.head)
        world.propose()
        assert set(world.files(world.branch)) == {"README.md", "references/m/sums.toml", "references/m/sums.scores.csv"}

    def test_a_folder_deep_in_the_repository(self, world, stores):
        world.head = world.push(bytes_of(stores[0], "eval/llm/refs"))
        world.move(world.head)
        world.propose(head_sha=world.head, references="eval/llm/refs")
        assert bytes_of(world.out, "eval/llm/refs").items() <= world.files(world.branch).items()

    def test_references_that_the_head_has_already_are_not_proposed(self, world, stores):
        shutil.rmtree(world.out)
        shutil.copytree(stores[0], world.out)
        assert world.propose() == {"url": ""}
        assert not world.writes
        assert "nothing to propose" in world.reply

    @pytest.mark.parametrize("side", ["head", "artifact"])
    def test_what_differs_by_line_ends_alone_is_not_proposed(self, world, stores, side):
        shutil.rmtree(world.out)
        shutil.copytree(stores[0], world.out)
        ended = {path: with_crlf(content) for path, content in bytes_of(world.out, "").items()}
        assert any(b"\r\n" in content for content in ended.values())
        if side == "artifact":
            for path, content in ended.items():
                (world.out / path[1:]).write_bytes(content)
        else:
            world.head = world.push({f"references{path}": content for path, content in ended.items()})
            world.move(world.head)
        assert world.propose(head_sha=world.head) == {"url": ""}
        assert "nothing to propose" in world.reply

    def test_what_the_artifact_lacks_is_not_deleted(self, world):
        world.head = world.push({"references/other/sums.toml": b"x", "references/README.md": b"y"})
        world.move(world.head)
        world.propose(head_sha=world.head)
        assert {"references/other/sums.toml", "references/README.md"} <= set(world.files(world.branch))

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

    def test_a_branch_without_its_pull_request_gets_one(self, world):
        world.hub.fail(Fault(500), method="POST", path="/pulls$", times=9)
        with pytest.raises(CannotPublish):
            world.propose()
        world.hub.failing.clear()
        world.again()
        assert len(world.proposals) == 1

    def test_other_references_at_the_same_head_go_on_the_same_branch(self, world):
        first = world.propose()
        tip = world.hub.store.refs[f"refs/heads/{world.branch}"]
        path = world.out / "m" / "sums.toml"
        path.write_text(path.read_text().replace(f'reason = "{REASON}"', 'reason = "again"'))
        assert world.propose("/accgate accept again") == first
        commit = world.hub.store.commits[world.hub.store.refs[f"refs/heads/{world.branch}"]]
        assert [parent["sha"] for parent in commit["parents"]] == [tip]
        assert len(world.proposals) == 1

    def test_what_a_person_added_to_the_branch_stays(self, world):
        world.propose()
        world.push({"note.md": b"mine", "references/m/sums.toml": b"broken"}, branch=world.branch)
        world.again()
        assert world.files(world.branch)["note.md"] == b"mine"
        assert world.files(world.branch)["references/m/sums.toml"] == (world.out / "m/sums.toml").read_bytes()

    def test_another_job_that_makes_the_branch_first_does_no_harm(self, world):
        world.hub.fail(
            Fault(422, {"message": "Reference already exists"}), method="POST", path="git/refs", performed=True
        )
        world.propose()
        assert len(world.proposals) == 1

    def test_a_pull_request_into_another_branch_is_not_it(self, world):
        other = world.hub.store.add_pull(90, branch=world.branch)
        assert other["base"]["ref"] == "main"
        assert world.propose()["url"] != other["html_url"]

    def test_a_pull_request_of_the_same_branches_elsewhere_is_not_ours(self, world):
        world.hub.store.add_pull(90, branch=world.branch, head_repository="octo/other")
        assert world.propose()["url"].endswith("/pull/90") is False


class TestCommit:
    def test_it_goes_onto_the_branch_itself(self, world):
        found = world.propose(how="commit")
        tip = world.hub.store.refs["refs/heads/change"]
        assert found["url"] == f"https://github.example/octo/models/commit/{tip}"
        assert world.hub.store.commits[tip]["parents"][0]["sha"] == world.head
        assert bytes_of(world.out).items() <= world.files("change").items()
        assert world.proposals == []
        assert "started no workflow" in world.reply

    def test_the_branch_is_never_forced(self, world):
        world.push({"README.md": b"pushed meanwhile"})  # the API's pull request does not know yet
        with pytest.raises(Refused, match="moved"):
            world.propose(how="commit")
        assert world.files("change")["README.md"] == b"pushed meanwhile"
        assert all(
            asked.body["force"] is False for asked in world.hub.asked if asked.method == "PATCH" and "git" in asked.path
        )

    def test_a_second_time_finds_the_first_s(self, world):
        first = world.propose(how="commit")
        world.move(world.hub.store.refs["refs/heads/change"])
        before = len(world.writes)
        assert world.again(how="commit") == first
        assert len(world.writes) == before

    def test_it_is_found_under_a_later_commit_too(self, world):
        world.propose(how="commit")
        world.move(world.push({"README.md": b"x"}))
        before = len(world.writes)
        world.again(how="commit")
        assert len(world.writes) == before

    def test_a_later_commit_of_somebody_s_is_not_taken_for_it(self, world):
        world.move(world.push({"README.md": b"x"}))
        with pytest.raises(Refused, match="has moved"):
            world.propose(how="commit")

    def test_a_branch_with_a_slash_and_a_hash(self, world):
        world.hub.store.refs["refs/heads/ann/fix#1"] = world.head
        world.hub.store.add_pull(7, sha=world.head, branch="ann/fix#1")
        world.propose(how="commit")
        assert world.hub.store.refs["refs/heads/ann/fix#1"] != world.head


class TestRefused:
    def refused(self, world, match, kind=CannotPublish, **how) -> None:
        with pytest.raises(kind, match=match):
            world.propose(**how)
        assert not world.writes
        assert world.proposals == []
        assert outputs(world.environ) == {}
        assert "were not proposed" in world.reply

    def test_a_head_that_moved(self, world):
        world.move(world.push({"README.md": b"x"}))
        self.refused(world, "has moved")

    def test_a_closed_pull_request(self, world):
        world.hub.store.pulls[7]["state"] = "closed"
        self.refused(world, "closed")

    def test_a_fork_s(self, world):
        world.hub.store.add_pull(7, sha=world.head, head_repository="ann/models")
        self.refused(world, "fork")

    @pytest.mark.parametrize("path", ["references", "references/m", "references/m/sums.toml"])
    @pytest.mark.parametrize("mode", ["120000", "160000"])
    def test_a_link_or_submodule_in_the_place(self, world, path, mode):
        world.head = world.push({"README.md": b"x", path: b"../elsewhere"}, branch="bare", modes={path: mode})
        world.hub.store.add_pull(7, sha=world.head, branch="bare")
        self.refused(world, "(is not a folder|other than a plain file)", BadInput, head_sha=world.head)

    def test_a_folder_in_the_place_of_a_file(self, world):
        world.head = world.push({"references/m/sums.toml/x": b"x"}, branch="bare")
        world.hub.store.add_pull(7, sha=world.head, branch="bare")
        self.refused(world, "other than a plain file", BadInput, head_sha=world.head)

    def test_a_list_of_files_that_github_cut(self, world):
        world.hub.fail(Fault(200, {"sha": "x", "tree": [], "truncated": True}), path="git/trees")
        self.refused(world, "only a part")

    @pytest.mark.parametrize("body", ["/accgate rerun", "/accgate accept", "thanks", f"/accgate accept {'x' * 301}"])
    def test_a_comment_that_accepts_nothing(self, world, body):
        with pytest.raises(BadInput, match="not /accgate accept REASON or /accgate record"):
            world.propose(body)
        assert not world.hub.asked

    def test_what_may_not_be_opened_says_where_to_allow_it(self, world):
        said = {"message": "GitHub Actions is not permitted to create or approve pull requests."}
        world.hub.fail(Fault(403, said), method="POST", path="/pulls$")
        with pytest.raises(Refused, match="Workflow permissions"):
            world.propose()
        assert world.branch in world.reply.replace("\u200b", "")


class TestHostileFiles:
    """What is taken of them, in test_artifact.py; here, that nothing is written where one is refused."""

    def test_one_bad_file_refuses_all(self, world):
        (world.out / "m" / "link.toml").symlink_to("/etc/passwd")
        TestRefused().refused(world, "is a link", BadInput)

    def test_a_bad_reference_refuses_all(self, world):
        path = world.out / "m" / "sums.scores.csv"
        path.write_text(path.read_text().replace(",100", ",0", 1))
        TestRefused().refused(world, "is not what was recorded", BadInput)

    def test_another_reason_than_the_comment_s_is_refused(self, world):
        path = world.out / "m" / "sums.toml"
        path.write_text(path.read_text().replace(REASON, "some other"))
        TestRefused().refused(world, "another reason", BadInput)

    @pytest.mark.parametrize("name", [".github/workflows/x.yml", "m/evil.py", "evil.toml"])
    def test_other_files_are_not_committed(self, world, name):
        (world.out / name).parent.mkdir(parents=True, exist_ok=True)
        (world.out / name).write_text("x = 1")
        world.propose()
        assert set(world.files(world.branch)) - set(world.files("change")) <= {f"references/{name}" for name in NAMES}

    def test_a_damaged_reference_that_the_head_has_too_is_not_looked_at(self, world):
        (world.out / "m" / "old.toml").write_text("mean only, by hand")
        world.head = world.push({"references/m/old.toml": b"mean only, by hand"})
        world.move(world.head)
        world.propose(head_sha=world.head)
        assert len(world.proposals) == 1

    def test_what_is_committed_reads_as_the_reference(self, world, tmp_path):
        world.propose()
        for path, content in world.files(world.branch).items():
            (tmp_path / "tree" / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "tree" / path).write_bytes(content)
        found = find_reference(tmp_path / "tree" / "references", "m", "sums")
        assert found.about.mean == 75.0
        assert found.about.scores_sha256 == content_digest(
            [(tmp_path / "tree/references/m/sums.scores.csv").read_bytes()]
        )


class TestMessage:
    @pytest.mark.parametrize(
        "reason",
        ["@team look", "fixes #3", "closes GH-3", "fixes https://github.com/o/r/issues/3", "[skip ci]", "[ci skip]"],
    )
    def test_it_does_nothing(self, reason):
        message = commit_message(reason, "will", 7)
        for active in ("@team", "#3", "GH-3", "://", "[skip", "[ci"):
            assert active not in message
        assert message.replace("\u200b", "") == f"Record accuracy references\n\n{reason}\n\nRequested by will in #7\n"

    def test_a_trailer_is_none(self):
        assert commit_message("skip-checks: true", "will", 7).strip().endswith("in #7")

    def test_the_pull_request_s_text_mentions_nobody(self, world):
        reason = "@team <b>x</b> [a](http://b) fixes #3"
        path = world.out / "m" / "sums.toml"
        path.write_text(path.read_text().replace(REASON, reason))
        world.propose(f"/accgate accept {reason}")
        (pull,) = world.proposals
        assert not [link for link in page_of(pull["body"]).links if "//b" in link]
        for active in ("@team", "<b>", "#3"):
            assert active not in (html.unescape(pull["body"]) if active[0] in "@#" else pull["body"])
        assert "#7" in pull["body"]


class TestFaults:
    @pytest.mark.parametrize("fault", [Fault(502), Fault(cut=True), Fault(429, SECONDARY, {"retry-after": "9"})])
    @pytest.mark.parametrize("path", ["git/blobs", "git/trees", "git/commits", "git/refs", "/pulls$"])
    def test_what_fails_once_is_asked_again(self, world, fault, path):
        performed = fault.status != 429
        world.hub.fail(fault, method="POST", path=path, performed=performed)
        world.propose()
        assert len(world.proposals) == 1
        assert world.files(world.branch) == world.files("change") | bytes_of(world.out)

    def test_what_never_works_is_said(self, world):
        world.hub.fail(Fault(502), method="POST", path="git/blobs", times=99)
        with pytest.raises(CannotReach, match="blobs"):
            world.propose()
        assert world.proposals == []

    def test_a_missing_permission_is_named(self, world):
        world.hub.forbid("POST", "git/blobs")
        with pytest.raises(CannotPublish, match="`contents: write`"):
            world.propose()


class TestCommandLine:
    def run(self, world, monkeypatch, *arguments: str) -> int:
        world.environ = job(world.folder, world.hub, ASKED)
        for name, value in world.environ.items():
            monkeypatch.setenv(name, value)
        return main(["propose", str(world.out), *arguments])

    def test_it_proposes_with_the_variables_of_the_job(self, world, monkeypatch):
        assert self.run(world, monkeypatch, "--head-sha", world.head) == 0
        assert outputs(world.environ)["url"] == world.proposals[0]["html_url"]

    def test_as_a_commit(self, world, monkeypatch):
        assert self.run(world, monkeypatch, "--head-sha", world.head, "--as", "commit") == 0
        assert world.hub.store.refs["refs/heads/change"] != world.head

    @pytest.mark.parametrize("path", ["", "/etc", "..", "a/../../b", ".github", "x/.git", "."])
    def test_a_folder_that_is_none_in_the_repository_is_refused(self, world, monkeypatch, capsys, path):
        assert self.run(world, monkeypatch, "--head-sha", world.head, f"--references={path}") == 2
        assert "--references" in capsys.readouterr().out
        assert not world.hub.asked

    @pytest.mark.parametrize("sha", ["", "main", "a" * 39, "A" * 40, "a" * 40 + "\n"])
    def test_a_head_that_is_no_commit_is_refused(self, world, monkeypatch, sha):
        assert self.run(world, monkeypatch, f"--head-sha={sha}") == 2
        assert not world.hub.asked

    def test_a_failure_is_exit_code_3(self, world, monkeypatch, capsys):
        world.hub.forbid("POST", "git/commits")
        assert self.run(world, monkeypatch, "--head-sha", world.head) == 3
        assert capsys.readouterr().out.startswith("::error title=accgate propose::")

    def test_hostile_files_cannot_command_the_runner(self, world, monkeypatch, capsys):
        (world.out / "m" / "sums.toml").write_text('"x\\n::add-mask::y\\n##[add-mask]z" = 1\n')
        assert self.run(world, monkeypatch, "--head-sha", world.head) == 2
        said = capsys.readouterr().out.splitlines()
        assert len(said) == 1
        assert said[0].startswith("::error title=accgate propose::")
