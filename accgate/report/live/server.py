"""A server that shows one run to a browser of this machine.

It answers only who has its token, and ends by itself.
"""

import json
import secrets
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from accgate.errors import AccgateError
from accgate.report.html.inline import page_template
from accgate.report.html.page import answers_page, html_report
from accgate.report.html.viewer import SamplesFile
from accgate.report.live.progress import Follower
from accgate.report.result_file import read_result
from accgate.result import NAME, SAMPLES
from accgate.text import message_line

HOME = "127.0.0.1"
GONE = 180.0  # seconds without a request of the page, which asks every two: a tab in the background asks once a minute
HTML = "text/html; charset=utf-8"
TICK = 0.2  # seconds between two looks at whether to end
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Content(NamedTuple):
    """The content of an address, and the policy to send with it."""

    kind: str
    body: bytes
    policy: str = "default-src 'none'"


class Viewer(ThreadingHTTPServer):
    """Serves a run at `url` until it is closed, or nobody looks any more.

    Parameters
    ----------
    idle : float
        Seconds without a request after which it ends once the run is decided, or where no browser came.
    """

    def __init__(self, follower: Follower, *, idle: float = 600.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.follower = follower
        self.token = secrets.token_urlsafe(24)
        self._idle, self._clock = idle, clock
        self._last, self._visited = clock(), False
        self._reading = threading.Lock()  # a follower remembers what it has read
        self._report: tuple[int, bytes] | None = None
        self._samples_files: dict[str, bytes] = {}
        super().__init__((HOME, 0), _Handler)
        self.hosts = frozenset(f"{name}:{self.server_port}" for name in (HOME, "localhost"))

    @property
    def url(self) -> str:
        """The page's address, with the token."""
        return f"http://{HOME}:{self.server_port}/{self.token}/"

    def serve(self) -> None:
        """Serve until nobody looks any more."""
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": TICK}, daemon=True)
        thread.start()
        try:
            while self._clock() - self._last < self._patience():
                thread.join(TICK)
        finally:
            self.shutdown()
            self.server_close()

    def _patience(self) -> float:
        is_followed = self._visited and not self.follower.is_finished
        return min(GONE, self._idle) if is_followed else self._idle

    def note_visit(self) -> None:
        """Note that a browser with the token asked for something."""
        self._last, self._visited = self._clock(), True

    def state(self) -> dict[str, Any]:
        """Return the state of the run, which its page reads as JSON.

        It holds each check and whether the run is decided, or a fault.
        """
        with self._reading:
            try:
                checks = [asdict(standing) for standing in self.follower.look()]
                finished, answered = self.follower.is_finished, self.follower.is_answered
                return {"finished": finished, "answered": answered, "checks": checks, "fault": None}
            except AccgateError as error:
                return {"finished": False, "answered": False, "checks": [], "fault": message_line(str(error))}

    def report(self) -> bytes | None:
        """Render the run's report as HTML, once the run is decided.

        Raises
        ------
        AccgateError
            When the run's files are damaged.
        """
        path = self.follower.folder / NAME
        with self._reading:
            if not path.is_file():
                return None
            written = path.stat().st_mtime_ns
            if self._report is None or self._report[0] != written:
                samples_file = SamplesFile(SAMPLES)
                page = html_report(read_result(path), path.parent, samples_file)
                self._samples_files[SAMPLES] = samples_file.text.encode()
                self._report = written, page.encode("utf-8", "replace")
            return self._report[1]

    def answers(self) -> bytes:
        """Render the answers so far as HTML. It raises as `report` does."""
        with self._reading, tempfile.TemporaryFile() as spool:
            samples_file = SamplesFile("answers.samples.js")
            page = answers_page(self.follower.answers(spool), samples_file, answered=self.follower.is_answered)
            self._samples_files[samples_file.name] = samples_file.text.encode()
        return page.encode("utf-8", "replace")

    def content(self, name: str) -> Content | None:
        """Return the content of an address under the token, if there is any.

        It raises as `report` does.
        """
        if name == "state":
            return Content("application/json", json.dumps(self.state()).encode())
        page = self.report() if name in ("", "report") else None
        if name == "answers" or (name == "" and page is None and self.follower.is_answered):
            page = self.answers()
        if page is not None:
            return Content(HTML, page, "frame-ancestors 'none'")
        if name == "":
            return Content(HTML, *self.page())
        samples = self._samples_files.get(name)
        return Content("text/javascript; charset=utf-8", samples) if samples else None

    def page(self) -> tuple[bytes, str]:
        """Return the page that follows the run, and its security policy.

        The policy allows no script or style but the page's own.
        """
        nonce = secrets.token_urlsafe(12)
        html = page_template("accgate.report", "live.html.j2").render(nonce=nonce, folder=str(self.follower.folder))
        policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'"
        return html.encode("utf-8", "replace"), f"{policy}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class _Handler(BaseHTTPRequestHandler):
    """Answers GET for the pages under the token. No path names a file."""

    server: Viewer
    server_version, sys_version = "accgate", ""
    timeout = 30

    def do_GET(self) -> None:
        """Answer with a page, a file, or the state of the run."""
        viewer = self.server
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if host not in viewer.hosts or origin not in (None, f"http://{host}"):
            return self._refuse(HTTPStatus.FORBIDDEN, "open this address in a browser on the machine that serves it")
        _, token, *rest = [*self.path.split("/"), ""]
        if not secrets.compare_digest(token.encode(), viewer.token.encode()):
            fault = "the address lacks its token; copy the whole address from the terminal"
            return self._refuse(HTTPStatus.FORBIDDEN, fault)
        viewer.note_visit()
        try:
            content = viewer.content("/".join(rest).rstrip("/"))
        except AccgateError as error:
            return self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, message_line(str(error)))
        if content is None:
            return self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")
        return self._send(HTTPStatus.OK, content)

    def _refuse(self, status: HTTPStatus, text: str) -> None:
        self._send(status, Content("text/plain; charset=utf-8", f"{text}\n".encode()))

    def _send(self, status: HTTPStatus, content: Content) -> None:
        self.send_response(status)
        length, policy = str(len(content.body)), content.policy
        headers = {"Content-Type": content.kind, "Content-Length": length, "Content-Security-Policy": policy}
        for name, value in (headers | HEADERS).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content.body)

    def log_message(self, *_: Any) -> None:
        """Print nothing, because addresses hold the token."""
