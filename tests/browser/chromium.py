"""Headless Chromium by its DevTools protocol over a pair of pipes: nothing listens, and nothing more is needed."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-sync",
    "--disable-extensions", "--disable-component-update", "--disable-background-networking", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 600.0  # seconds for any one answer; a busy machine is no failure
LATE = 10.0  # seconds after which one process of the browser knows what another one stored
STORED = "JSON.stringify(Object.entries(localStorage).sort())"
INSTALL = "apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium >/dev/null"


def program() -> str:
    """The browser of this machine, which Debian's packages bring where there is none; skips where they cannot."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        subprocess.run(["sh", "-c", INSTALL], check=False, timeout=1800)
        found = shutil.which("chromium")
    if found is None:
        pytest.skip("there is no Chromium here, and Debian's package chromium could not be installed")
    return found


class Browser:
    """A browser process with a profile of its own."""

    def __init__(self, folder: Path) -> None:
        self.downloads = folder / "downloads"
        to_browser, own_out = os.pipe()
        own_in, from_browser = os.pipe()
        command = [program(), *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
        started = ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", *command]
        self._process = subprocess.Popen(
            started, pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_browser)
        os.close(from_browser)
        self._out, self._in, self._read, self._count = own_out, own_in, b"", 0
        self.events: list[dict[str, Any]] = []
        self.dialogs: list[str] = []

    def person(self) -> str:
        """Somebody who has never been here: nothing is kept from before."""
        self.events.clear()
        self.dialogs.clear()
        context = str(self.call("Target.createBrowserContext")["browserContextId"])
        self.call(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(self.downloads), eventsEnabled=True,
            browserContextId=context,
        )  # fmt: skip
        return context

    def forget(self, person: str) -> None:
        """Close a person's tabs."""
        self.call("Target.disposeBrowserContext", browserContextId=person)

    def close(self) -> None:
        self._send({"id": 0, "method": "Browser.close"})
        try:
            self._process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """What the browser answers; what happens until then is kept in `events`."""
        self._count += 1
        number = self._count
        self._send(
            {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        )
        while True:
            message = self._receive(f"an answer to {method}")
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                return dict(message["result"])

    def wait(self, method: str, **wanted: Any) -> dict[str, Any]:
        """The parameters of the next event of a kind, which is taken out of `events`."""
        while True:
            for event in self.events:
                if event["method"] == method and all(event["params"].get(k) == v for k, v in wanted.items()):
                    self.events.remove(event)
                    return dict(event["params"])
            self._receive(method)

    def _send(self, message: Mapping[str, Any]) -> None:
        os.write(self._out, json.dumps(message).encode() + b"\0")

    def _receive(self, awaited: str) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._read:
            ready = select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]
            assert ready, f"the browser did not send {awaited} in {PATIENCE:g} s"
            got = os.read(self._in, 1 << 20)
            assert got, f"the browser ended before {awaited}"
            self._read += got
        line, _, self._read = self._read.partition(b"\0")
        message = dict(json.loads(line))
        if message.get("method") == "Page.javascriptDialogOpening":  # a page that asks stands still until answered
            self.dialogs.append(message["params"]["message"])
            self._send({
                "id": -1, "method": "Page.handleJavaScriptDialog", "params": {"accept": True},
                "sessionId": message["sessionId"],
            })  # fmt: skip
        elif "method" in message:
            self.events.append(message)
        return message


LABELS = """[...document.querySelectorAll("svg.chart")].flatMap((svg) => {
  const edge = (svg.closest("figure") || svg).getBoundingClientRect();
  const boxes = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()])
    .filter(([, b]) => b.width);
  const faults = boxes.filter(([, b]) => b.left < edge.left - 1 || b.right > edge.right + 1 || b.top < edge.top - 1
    || b.bottom > edge.bottom + 1).map(([words]) => `"${words}" is cut`);
  boxes.forEach(([words, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 1 && high > 3) faults.push(`"${words}" and "${other}" overlap`);
  }));
  return faults;
})"""


class Page:
    """One tab of a person: what it shows, and what the person does in it."""

    def __init__(self, browser: Browser, person: str) -> None:
        self.browser, self.person = browser, person
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=person)["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self._session, **parameters)

    def open(self, where: Path | str) -> None:
        """Go to a file or an address."""
        url = where if isinstance(where, str) else where.as_uri()
        self.call("Page.navigate", url=url)
        self._loaded(url)

    def reload(self) -> None:
        """Load the page again, and once more while the browser's new process lacks what the old one stored."""
        stored, end = self.value(STORED), time.monotonic() + LATE
        while True:
            url = self.value("window.left = location.href")
            self.call("Page.reload")
            self._loaded(url)
            if self.value(STORED) == stored or time.monotonic() > end:
                return
            time.sleep(0.5)

    def _loaded(self, url: str) -> None:
        """Wait for a page; the event would not do: that of about:blank may come late, and be taken for it."""
        here = f"location.href === {json.dumps(url)}"
        self.until(f"document.readyState === 'complete' && !window.left && {here}")

    def until(self, condition: str) -> None:
        """Wait until an expression is true in the page, which may be another one by then."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(AssertionError):  # the old page goes away under the question
                if self.value(condition):
                    return
            time.sleep(0.02)
        raise AssertionError(f"not in {PATIENCE:g} s: {condition}")

    def value(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, got["exceptionDetails"]
        return got["result"].get("value")

    def text(self, selector: str) -> str:
        """The text that is shown of an element."""
        return str(self.value(f"document.querySelector({json.dumps(selector)}).innerText"))

    def texts(self, selector: str) -> list[str]:
        return list(self.value(f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText)"))

    def label_faults(self) -> list[str]:
        """The labels of charts that stick out or lie on each other."""
        return list(self.value(LABELS))

    def click(self, selector: str, at: int = 0) -> None:
        """Press the mouse on the middle of an element, as a person does: what covers it gets the click."""
        find = f"document.querySelectorAll({json.dumps(selector)})[{at}]"
        self.value(f"{find}.scrollIntoView({{block: 'center'}})")
        x, y = self.value(f"(b => [b.x + b.width / 2, b.y + b.height / 2])({find}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, code: int | None = None) -> None:
        """Press and release a key: a character, or `Tab`, `ArrowRight`, `Enter` and so on with its key code."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        codes = {} if code is None else {"windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **codes)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **codes)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def downloaded(self) -> Path:
        """The file that a click saves."""
        begun = self.browser.wait("Browser.downloadWillBegin")
        self.browser.wait("Browser.downloadProgress", guid=begun["guid"], state="completed")
        return self.browser.downloads / begun["suggestedFilename"]

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        scale = 2 if phone else 1
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=phone
        )

    def scheme(self, name: str) -> None:
        """Light or dark, as the person's system asks for."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, path: Path, *, whole: bool = False) -> None:
        got = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(got["data"]))
