"""The check run: opened, finished, with all its annotations once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from accgate.github.api.answers import CannotReach, Refused
from accgate.github.check_runs import Annotation, CheckRuns
from tests.support.servers import Fault


def opened(hub, **event):
    return CheckRuns(hub.client(), hub.event(**event), "accgate").open("Running", "It runs.")


def finished(hub, conclusion="success", summary="All passed.", annotations=(), number=None):
    return CheckRuns(hub.client(), hub.event(), "accgate").finish(
        conclusion, "Passed", summary, annotations, number=number
    )


def notes(count: int) -> list[Annotation]:
    return [Annotation("accuracy.toml", line, "warning", "drop", f"line {line}") for line in range(1, count + 1)]


def lines(hub, id_: int) -> list[int]:
    return [row["start_line"] for row in hub.store.annotations[id_]]


class TestOpen:
    def test_it_is_in_progress_on_the_head_commit_and_leads_to_the_run(self, hub):
        row = hub.store.check_runs[opened(hub)]
        assert (row["name"], row["head_sha"]) == ("accgate", "a" * 40)
        assert (row["status"], row["conclusion"]) == ("in_progress", None)
        assert row["details_url"] == "https://github.example/octo/models/actions/runs/11/attempts/1"
        assert row["output"]["title"] == "Running"
        assert opened(hub) != row["id"]  # every run opens its own

    @pytest.mark.parametrize("performed", [True, False])
    def test_one_that_may_be_there_is_looked_for_first(self, hub, performed):
        opened(hub, run_id=10)  # of an earlier run: not this one
        hub.fail(Fault(cut=True), method="POST", performed=performed)
        id_ = opened(hub)
        assert len(hub.store.check_runs) == 2
        assert hub.store.check_runs[id_]["external_id"].startswith("11.1.7~")

    def test_it_is_given_up_where_it_never_works(self, hub):
        hub.fail(Fault(500), method="POST", times=99)
        with pytest.raises(CannotReach, match="'accgate' could not be written in 4 attempts"):
            opened(hub)
        assert hub.count("POST") == 4
        assert hub.waits == [1, 2, 4, 8]


class TestFinish:
    @pytest.mark.parametrize("conclusion", ["success", "failure"])
    def test_the_opened_one_is_completed(self, hub, conclusion):
        id_ = opened(hub)
        assert finished(hub, conclusion, number=id_) == id_
        (row,) = hub.store.check_runs.values()
        assert (row["status"], row["conclusion"]) == ("completed", conclusion)
        assert [row["output"][key] for key in ("title", "summary")] == ["Passed", "All passed."]

    @pytest.mark.parametrize("id_", [None, 999_999])
    def test_without_one_that_exists_a_completed_one_is_written(self, hub, id_):
        row = hub.store.check_runs[finished(hub, "failure", number=id_, annotations=notes(70))]
        assert (row["status"], row["conclusion"], row["head_sha"]) == ("completed", "failure", "a" * 40)
        assert lines(hub, row["id"]) == list(range(1, 71))

    @pytest.mark.parametrize(("count", "requests"), [(0, 1), (50, 1), (51, 2)])
    def test_annotations_go_by_fifty(self, hub, count, requests):
        id_ = opened(hub)
        finished(hub, number=id_, annotations=notes(count))
        assert lines(hub, id_) == list(range(1, count + 1))
        assert hub.count("PATCH") == requests

    @pytest.mark.parametrize("performed", [True, False])
    @pytest.mark.parametrize("which", [0, 2])
    def test_annotations_come_once_though_the_answer_is_lost(self, hub, performed, which):
        id_ = opened(hub)
        hub.fail(Fault(502), method="PATCH", performed=performed, skip=which)
        finished(hub, number=id_, annotations=notes(120))
        assert lines(hub, id_) == list(range(1, 121))

    def test_the_conclusion_stands_though_later_annotations_are_refused(self, hub):
        id_ = opened(hub)
        hub.fail(Fault(422, {"message": "Invalid request."}), method="PATCH", skip=1)
        with pytest.raises(Refused):
            finished(hub, "failure", number=id_, annotations=notes(51))
        assert hub.store.check_runs[id_]["conclusion"] == "failure"

    def test_updating_is_given_up_where_it_never_works(self, hub):
        id_ = opened(hub)
        hub.fail(Fault(500), method="PATCH", times=99)
        with pytest.raises(CannotReach, match=f"{id_} could not be updated in 4 attempts"):
            finished(hub, number=id_, annotations=notes(1))
        assert hub.count("PATCH") == 4

    def test_what_is_too_long_is_cut_to_githubs_limits(self, hub):
        row = hub.store.check_runs[finished(hub, summary="s" * 65_535)]
        assert row["output"]["summary"] == "s" * 65_535
        long = Annotation("accuracy.toml", 3, "failure", "t" * 300, "é" * 60_000)
        row = hub.store.check_runs[finished(hub, summary="s" * 70_000, annotations=[replace(long, message=""), long])]
        assert len(row["output"]["summary"]) == 65_535
        assert row["output"]["summary"].endswith("s…")
        empty, sent = hub.store.annotations[row["id"]]
        where = {"path": "accuracy.toml", "start_line": 3, "end_line": 3}
        assert empty == where | {"annotation_level": "failure", "title": "t" * 255, "message": "-"}
        assert set(sent["message"]) == {"é"}
        assert 63_900 < len(sent["message"].encode()) <= 65_536
