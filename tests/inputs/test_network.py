"""One rule for proxies and certificates, held by both HTTP clients against a real TLS server."""

from __future__ import annotations

import asyncio
import http.server
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from accgate.engines.identity import Listing
from accgate.engines.openai.client import Client, Fault
from accgate.errors import CannotEvaluate
from accgate.github.api.answers import CannotReach
from accgate.github.api.client import Client as GitHubClient
from accgate.github.api.transport import Session
from accgate.inputs.network import BUNDLES, is_direct, proxy_of
from tests.support.cases import each

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*PROXIES, *map(str.upper, PROXIES), *BUNDLES):
        monkeypatch.delenv(name, raising=False)


@each(
    ("no_proxy", "host", "port", "direct"),
    [
        ("gpu.lab", "a.gpu.lab", 80, True), ("*.lab", "gpu.lab", 80, True), ("GPU.lab.", "gpu.LAB", 80, True),
        ("a b,gpu.lab", "gpu.lab", 80, True), ("lab", "gpulab", 80, False), ("gpu.lab:8000", "gpu.lab", 8000, True),
        ("gpu.lab:8000", "gpu.lab", 80, False), ("*", "any.example", 443, True), (", ,", "any.example", 443, False),
        ("10.0.0.1/8", "10.2.0.1", 80, True), ("10.0.0.0/8", "11.9.8.7", 80, False), ("fd00::/8", "fd12::1", 80, True),
        ("[fd00::1]:80", "fd00::1", 80, True), ("[fd00::1]:80", "fd00::1", 81, False), ("a/99", "h", 80, False),
    ],
)  # fmt: skip
def test_no_proxy_names_hosts_parents_ports_and_networks(no_proxy: str, host: str, port: int, direct: bool) -> None:
    assert is_direct(host, port, no_proxy) is direct


@each(
    ("environment", "url", "proxy"),
    [
        ({"ALL_PROXY": "http://p:1"}, "https://h/v1", "http://p:1"),
        ({"all_proxy": "p:1", "HTTP_PROXY": "q:2"}, "http://h/v1", "http://q:2"),
        ({"all_proxy": "p:1", "NO_PROXY": "172.16.0.0/12"}, "http://172.20.0.9:8000/v1", None),
        ({"all_proxy": "p:1"}, "http://localhost:8000/v1", None),
        ({}, "https://h/v1", None),
    ],
)
def test_both_clients_take_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, proxy: str | None
) -> None:
    with monkeypatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        assert proxy_of(url) == proxy
        assert Session(url).proxies == ({} if proxy is None else {"all": proxy})


@each("proxy", ["socks5://me:secret@p:1080", "http://me:secret@p:port"])
def test_a_proxy_that_is_none_is_named_by_its_variable_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(CannotEvaluate, match=r"^the environment variable all_proxy names no HTTP proxy") as caught:
        proxy_of("http://h/v1")
    assert "secret" not in str(caught.value)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    folder = tmp_path_factory.mktemp("authority")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=accgate"
    words += " -keyout key.pem -out ca.pem -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
    return folder / "ca.pem"


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers every question with one model."""

    def do_GET(self) -> None:
        content = b'{"data": [{"id": "toy"}]}'
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.send_header("content-security-policy", "a " * 9_000)  # 18 kB
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def secure(authority: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, authority.with_name("key.pem"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def listing_at(url: str) -> Listing | Fault:
    async def work() -> Listing | Fault:
        client = Client(connections=1, timeout=60)
        try:
            return await client.listing(f"{url}/v1")
        finally:
            await client.close()

    return asyncio.run(work())


@each("variable", BUNDLES)
def test_both_clients_trust_the_authority_that_a_variable_names_and_read_long_headers(
    secure: str, authority: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, str(authority))
    answer = listing_at(secure)
    assert isinstance(answer, Listing), answer
    assert answer.models == ("toy",)
    assert GitHubClient(secure, "token").get("/x") == {"data": [{"id": "toy"}]}


@each(
    ("variable", "hint"),
    [
        (None, "set the environment variable SSL_CERT_FILE to the file of its certificate"),
        ("REQUESTS_CA_BUNDLE", "REQUESTS_CA_BUNDLE names {}, which lacks the authority of this certificate: add it"),
    ],
)
def test_both_clients_say_which_variable_would_trust_an_unknown_authority(
    secure: str, monkeypatch: pytest.MonkeyPatch, variable: str | None, hint: str
) -> None:
    import certifi

    if variable is not None:
        monkeypatch.setenv(variable, certifi.where())
    answer = listing_at(secure)
    assert isinstance(answer, Fault)
    assert hint.format(certifi.where()) in answer.text
    with pytest.raises(CannotReach) as caught:
        GitHubClient(secure, "token").get("/x")
    assert hint.format(certifi.where()) in str(caught.value)


@each(("content", "cause"), [(None, "cannot be read"), ("no certificate", "holds no certificates")])
def test_a_variable_that_names_no_certificates_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, cause: str
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with pytest.raises(CannotEvaluate, match=rf"named by the environment variable SSL_CERT_FILE, {cause}"):
        Session("https://h")
    assert isinstance(listing_at("http://127.0.0.1:1"), Fault)  # nothing is encrypted there
