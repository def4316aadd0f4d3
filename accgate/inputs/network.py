"""The way to a server, as the environment gives it.

All HTTP clients follow these rules for proxies and certificates.
"""

import os
import re
import ssl
from contextlib import suppress
from ipaddress import ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from accgate.errors import CannotEvaluate

BUNDLES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
ENTRY = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(\d+))?")  # a host of no_proxy, with or without a port
PORTS = {"http": 80, "https": 443}
UNKNOWN_AUTHORITY = frozenset({2, 18, 19, 20, 21})  # OpenSSL's X509_V_ERR codes, of openssl/x509_vfy.h
TIME = "is out of date, or this machine's clock is wrong"
OTHER_FAULTS = {9: TIME, 10: TIME, 62: "is for other names than the URL's", 64: "is for other addresses than the URL's"}
NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST")  # what OpenSSL says of a server that answers in plain text


def is_this_machine(host: str) -> bool:
    """Tell whether a host of a URL is this machine by its very name.

    No name server and no proxy is asked for it.

    >>> [is_this_machine(host) for host in ("localhost", "127.0.0.9", "::1", "0.0.0.0", "10.0.0.1", "127.a.org")]
    [True, True, True, True, False, False]
    """
    try:
        return host == "localhost" or (address := ip_address(host)).is_loopback or address.is_unspecified
    except ValueError:
        return False


def proxy_of(url: str) -> str | None:
    """Return the proxy that the environment names for a URL.

    It reads HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY. One without a scheme is an HTTP proxy, as for curl and pip.
    aiohttp's own `trust_env` looks it up in a thread for each request, which halves the request rate, and knows neither
    ALL_PROXY nor networks.

    Raises
    ------
    CannotEvaluate
        When what it names is no URL of an HTTP proxy; it is not shown, since it may hold a password.
    """
    import urllib.request

    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None  # the first request says what is wrong with it
    proxies = urllib.request.getproxies()
    name = next((name for name in (parts.scheme, "all") if proxies.get(name)), None)
    if name is None or not host or is_this_machine(host):
        return None  # no proxy reaches this machine's own servers
    if is_direct(host, port, proxies.get("no", "")) or urllib.request.proxy_bypass(host):  # macOS has a list of its own
        return None
    proxy = proxies[name] if "://" in proxies[name] else f"http://{proxies[name]}"
    try:
        place = urlsplit(proxy)
        is_usable = place.scheme.lower() in PORTS and bool(place.hostname) and place.port != 0 and proxy.isprintable()
    except ValueError:
        is_usable = False
    if not is_usable or " " in proxy:
        fix = f"write it as http://HOST:PORT, or name {host} in no_proxy"
        raise CannotEvaluate(f"the environment variable {name}_proxy names no HTTP proxy; {fix}")
    return proxy


def is_direct(host: str, port: int | None, no_proxy: str) -> bool:
    """Tell whether no_proxy names a host, with its port or none.

    It names a host by its name or a parent's, its address or its network.

    >>> [is_direct("gpu-1.lab", 8000, listed) for listed in ("lab", "*.lab", "a, .LAB", "gpu-1.lab:80", "1.lab", "*")]
    [True, True, True, False, False, True]
    >>> [is_direct("10.1.2.3", 80, listed) for listed in ("10.0.0.0/8", "10.1.2.3:80", "10.1.2.4", "fd00::/8")]
    [True, True, False, False]
    """
    host = host.lower().rstrip(".")
    for entry in no_proxy.lower().replace(",", " ").split():
        match = ENTRY.fullmatch(entry)  # none for an address of IPv6 without brackets, which has no port
        name, wanted = (entry, None) if match is None else match.groups()
        if wanted is not None and int(wanted) != port:
            continue
        name = name.strip("[]")
        parent = name.lstrip("*").strip(".")
        if name == "*" or (parent and f".{host}".endswith(f".{parent}")):
            return True
        with suppress(ValueError):  # a name
            if ip_address(host) in ip_network(name, strict=False):
                return True
    return False


def bundle_of() -> tuple[str, str] | None:
    """Return the variable that names other authorities to trust, and its path.

    Raises
    ------
    CannotEvaluate
        When there is no such file, or no certificate in it.
    """
    variable = next((name for name in BUNDLES if os.environ.get(name)), None)
    if variable is None:
        return None
    path = os.environ[variable]
    try:
        _context(path)
    except OSError as error:  # ssl's own errors are of this kind
        cause = "holds no certificates" if isinstance(error, ssl.SSLError) else f"cannot be read: {error.strerror}"
        fix = "name the file with the certificates of the authorities to trust, or unset the variable"
        raise CannotEvaluate(f"{path}, named by the environment variable {variable}, {cause}; {fix}") from error
    return variable, path


def trust() -> ssl.SSLContext | bool:
    """Return what asyncio's client checks certificates with, True for the usual."""
    bundle = bundle_of()
    return True if bundle is None else _context(bundle[1])


def _context(path: str) -> ssl.SSLContext:
    is_folder = Path(path).is_dir()
    return ssl.create_default_context(cafile=None if is_folder else path, capath=path if is_folder else None)


def certificate_hint(error: BaseException | None) -> str:
    """Say how to fix what keeps a connection from being encrypted.

    The text is empty where no fix is known. The cause is looked for in the error and in those that it comes from.
    """
    while not (error is None or hasattr(error, "verify_code") or getattr(error, "reason", None) in NO_TLS):
        inner = (*(getattr(error, name, None) for name in ("certificate_error", "reason", "__cause__")), *error.args)
        error = next((each for each in inner if isinstance(each, BaseException)), None)
    if getattr(error, "reason", None) in NO_TLS:
        return "; the server speaks no TLS: write the URL with http://"
    if (code := getattr(error, "verify_code", None)) not in UNKNOWN_AUTHORITY:
        return f"; the certificate {OTHER_FAULTS[code]}" if code in OTHER_FAULTS else ""
    named = next((name for name in BUNDLES if os.environ.get(name)), None)
    if named is not None:
        return f"; {named} names {os.environ[named]}, which lacks the authority of this certificate: add it there"
    return "; if the authority is your own, set the environment variable SSL_CERT_FILE to the file of its certificate"
