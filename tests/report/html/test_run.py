"""The samples of a check from its run's folder, and the pictures that are drawn of them."""

from pathlib import Path

import numpy as np
import pytest

from accgate.records.file import paths_of
from accgate.report.html.run import Sides, sides_of
from tests.report.html_pages import changed, keep_reference_scores, page_of
from tests.support.gates import Project


@pytest.mark.parametrize("lost", [0.02, 0.12])
def test_the_picture_of_a_gates_run_has_the_figures_of_its_json(tmp_path: Path, lost: float) -> None:
    project = Project(tmp_path, n=600, theta=4.0)
    project.write(early_stopping=True)
    before, after = changed(600, lost, 0.02)
    project.recorded(before).run(after)
    keep_reference_scores(project)
    (verdict,), found = page_of(project)
    picture = found.picture("evidence")
    assert "The limits depend on how many samples had changed by then." in found.text
    assert verdict.stop == ("regression" if lost > 0.1 else "futility")
    assert f"after {verdict.n:,} of {verdict.n_max:,} samples." in picture.title
    assert picture.figure("difference") == pytest.approx(verdict.difference_raw, abs=1e-12)
    sides = sides_of(verdict, project.out, 0)
    assert isinstance(sides, Sides)
    assert list(sides.ids) == project.ids()[: verdict.n]
    assert sides.reference is not None
    assert [sides.reference.tolist(), sides.candidate.tolist()] == [before[: verdict.n], after[: verdict.n]]
    sides.candidate[3] = np.nan
    assert sides.evidence(verdict) == "some samples have no score"
    paths_of(project.out, "m", "sums").before.unlink()
    found = page_of(project)[1]
    assert {picture.kind for picture in found.pictures} == {"distribution"}
    assert "is left out: the reference's scores are not beside accgate.json." in found.text
