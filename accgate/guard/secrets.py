"""Environment variables that a pull request's models may name.

Only certain hosts may get each of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from accgate.config.config import Config
from accgate.config.tables import Judge, Model
from accgate.errors import BadInput, Key, key_text
from accgate.guard.difference import Difference, texts
from accgate.inputs.network import is_this_machine

SERVE = "serve"  # stands for a host where the value goes to a command that the model starts
HERE = ("auto", "local")  # addresses of a Ray cluster that the machine says


class Use(NamedTuple):
    """A variable that a model names, where, and the host that gets its value."""

    key: Key
    variable: str
    host: str


def refuse_secrets(head: Config, base: Config | None) -> None:
    """Refuse to send an environment variable where the base does not allow it.

    The base allows what its `[gate] secrets` name, and what its models and judges do already.

    Parameters
    ----------
    head : Config
        The pull request's accuracy.toml: its models, and the judges of its new tasks.
    base : Config or None
        That of the base; None where it has none, so that it allows nothing.

    Raises
    ------
    BadInput
        Which variable, which host, and the fix.
    """
    secrets = {} if base is None else base.gate.secrets
    before = set() if base is None else {(use.variable, use.host) for use in _uses_of(base)}
    faults = [
        (use.key, _fault(use, is_bootstrap=base is None))
        for use in _uses_of(head)
        if (use.variable, use.host) not in before and use.host not in secrets.get(use.variable, ())
    ]
    if faults:
        raise BadInput(*(head.source.error(key, fault) for key, fault in faults))


def secret_differences(base: Config, head: Config) -> Iterator[Difference]:
    """Yield the difference where `[gate] secrets` allows more, or only less."""
    tables = base.gate.secrets, head.gate.secrets
    before, after = ({(name, host) for name in table for host in table[name]} for table in tables)
    if after - before:
        yield Difference(("gate", "secrets"), *texts(*tables), "loosening", "a secret may be sent to other hosts")
    elif before - after:
        yield Difference(("gate", "secrets"), *texts(*tables), "tightening", "a secret may be sent to fewer hosts")


def _uses_of(config: Config) -> Iterator[Use]:
    tables: Mapping[str, Mapping[str, Model | Judge]] = {"models": config.models, "judges": config.judges}
    for table, entries in tables.items():
        for name, entry in entries.items():
            yield from _uses((table, name, "options"), entry.engine, entry.options)


def _uses(key: Key, engine: str, options: Mapping[str, Any]) -> Iterator[Use]:
    if engine == "openai" and options.get("api_key_env") is not None:
        for host in _hosts(options):
            yield Use((*key, "api_key_env"), str(options["api_key_env"]), host)
    if engine == "ray":
        inner = options.get("options", {})
        uses = list(_uses((*key, "options"), str(options.get("engine")), inner)) if isinstance(inner, Mapping) else []
        yield from uses
        address = str(options.get("address", HERE[0]))
        host = "ray" if address in HERE else _host_of(address if "//" in address else f"//{address}")
        sent = [((*key, "env"), str(variable)) for variable in _list(options.get("env", ()))]
        for place, variable in (*sent, *((use.key, use.variable) for use in uses)):
            yield Use(place, variable, host)


def _hosts(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield the hosts to which the engine sends its key.

    They are its servers, or the one that it starts.
    """
    urls = [str(url) for url in _list(options.get("base_url") or ())]
    if options.get("serve"):
        yield SERVE
        served = "http://127.0.0.1:{port}/", "http://localhost:{port}/"
        urls = [url for url in urls if not f"{url}/".startswith(served)]
    yield from map(_host_of, urls)


def _list(value: Any) -> Sequence[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _host_of(url: str) -> str:
    """Return the host of a URL, with its port if any.

    It begins with http:// where nothing encrypts the way to another machine. A URL whose host can be misread is
    returned whole.

    >>> _host_of("https://API.example.com/v1"), _host_of("http://127.0.0.1:8000/v1"), _host_of("https://a@b/v1")
    ('api.example.com', '127.0.0.1:8000', 'https://a@b/v1')
    >>> _host_of("http://gpu-1:8000/v1"), _host_of("http://127.example.com/v1"), _host_of("http://[::1]:8000/v1")
    ('http://gpu-1:8000', 'http://127.example.com', '[::1]:8000')
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return url
    if "@" in parts.netloc or "\\" in url or "{" in url or not host:
        return url
    plain = parts.scheme == "http" and not is_this_machine(host)
    host = f"[{host}]" if ":" in host else host
    return f"{'http://' if plain else ''}{host}{'' if port is None else f':{port}'}"


def _fault(use: Use, *, is_bootstrap: bool) -> str:
    why = "has no accuracy.toml that would allow it" if is_bootstrap else "does not allow"
    fix = f'{key_text((use.variable,))} = ["{use.host}"] under [gate.secrets]'
    return (
        f"sends the environment variable {use.variable} to {use.host}, which the base {why}; "
        f"allow it in the base's accuracy.toml first: {fix}"
    )
