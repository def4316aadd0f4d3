"""The samples of a check from its run's folder, and the pictures that are drawn of them."""

from pathlib import Path

import numpy as np
import pytest

from accgate.records.file import paths_of
from accgate.report.html.page import html_report
from accgate.report.html.run import Sides, sides_of
from tests.report.html_pages import changed, document, written_run


@pytest.mark.parametrize(("lost", "stop"), [(0.0, "futility"), (0.12, "regression")])
def test_the_picture_of_a_run_that_stopped_early_has_the_figures_of_its_json(
    tmp_path: Path, lost: float, stop: str
) -> None:
    result = written_run(tmp_path, 1, 900, lost=lost, early=True)
    (verdict,) = result.checks
    assert verdict.stop == stop
    found = document(html_report(result, tmp_path))
    picture = found.picture("evidence")
    assert "The limits depend on how many samples had changed by then." in found.text
    assert f"after {verdict.n:,} of {verdict.n_max:,} samples." in picture.title
    assert "ln" in [keys["class"] for keys in picture.all("path", "ln")], "the run's own line"
    assert picture.figure("difference") == pytest.approx(verdict.difference_raw, abs=1e-12)
    sides = sides_of(verdict, tmp_path, 0)
    assert isinstance(sides, Sides)
    assert sides.reference is not None
    scores = [side[: verdict.n] for side in changed(900, lost, 0.02)]
    assert [sides.reference.tolist(), sides.candidate.tolist()] == scores
    sides.candidate[3] = np.nan
    assert sides.evidence(verdict) == "some samples have no score"
    paths_of(tmp_path, "model", "task-0").before.unlink()
    found = document(html_report(result, tmp_path))
    assert {picture.kind for picture in found.pictures} == {"distribution"}
    assert "the reference's scores are not beside accgate.json." in found.text
