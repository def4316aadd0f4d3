"""GitHub's token: sent to GitHub alone, and shown nowhere."""

from __future__ import annotations

import logging
import traceback

import pytest

from accgate.github.api.answers import CannotPublish
from tests.github.server import TOKEN
from tests.github.store import REPOSITORY
from tests.support.servers import Fault

COMMENTS = f"/repos/{REPOSITORY}/issues/7/comments"


def comments(client):
    return list(client.pages(COMMENTS))


def test_the_token_is_sent_as_bearer_and_a_login_in_netrc_does_not_replace_it(hub, monkeypatch, tmp_path):
    (tmp_path / "netrc").write_text("default login someone password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    comments(hub.client())
    assert hub.asked[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in repr(hub.client())
    assert hub.asked[0].headers["x-github-api-version"] == "2022-11-28"


@pytest.mark.parametrize(
    "fault",
    [
        Fault(422, {"message": f"no {TOKEN}", "errors": [{"message": TOKEN}, TOKEN]}),
        Fault(500, TOKEN.encode()),
        Fault(cut=True),
        Fault(200, TOKEN.encode()),
    ],
)
def test_no_error_its_causes_or_log_show_it(hub, fault, caplog):
    caplog.set_level(logging.DEBUG)
    hub.fail(fault, times=9)
    with pytest.raises(CannotPublish) as raised:
        comments(hub.client())
    assert TOKEN not in "".join(traceback.format_exception(raised.value))
    error: BaseException | None = raised.value
    while error is not None:
        assert TOKEN not in str(error) + repr(error) + str(vars(error))
        error = error.__cause__ or error.__context__
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("token", ["", " \n", "gh s", "ghs_\x00abc", "ghs_é"])
def test_one_that_cannot_be_is_refused_unseen(hub, token):
    with pytest.raises(CannotPublish, match=r"github\.token") as raised:
        hub.client(token)
    assert not token.strip() or token not in str(raised.value)


def test_the_newline_of_a_file_is_not_part_of_it(hub):
    assert comments(hub.client(TOKEN + "\n")) == []
