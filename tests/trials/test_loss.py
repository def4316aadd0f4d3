"""What is asked again of a loss tells something only where replies hold answers, as they did in the run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from accgate.errors import CannotEvaluate
from accgate.records.file import Record
from accgate.trials.loss import Loss, refuse_unread


@pytest.mark.parametrize("before", [0, 10, 2400])
def test_replies_without_an_answer_to_thousands_of_lost_samples_are_refused_but_for_what_the_run_had(
    before: int,
) -> None:
    ids = tuple(map(str, range(2500)))
    loss = Loss(SimpleNamespace(model="m"), SimpleNamespace(lost_unread=before), ids, None)
    records = [Record(i, 0, 0.0, "", None, "", "stop", 1, 0, 0.1, None, reading="empty") for i in ids[:1250]]
    with pytest.raises(CannotEvaluate, match=rf"no answer in any of 1,250 replies .*in the run {2500 - before:,} of"):
        refuse_unread(loss, records)
    refuse_unread(Loss(loss.check, SimpleNamespace(lost_unread=2499), ids, None), records)
