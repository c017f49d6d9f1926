"""Looks at a Spark master before Spark does: Spark takes minutes to give up, and then says it in Java."""

import os
import re
import socket
from collections.abc import Mapping
from typing import Final

from spark_report.spark.errors import ReportError

_KNOWN: Final = re.compile(
    r"local(\[([1-9]\d*|\*)(,\s*[1-9]\d*)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn|k8s://\S+"
)
_STANDALONE: Final = "spark://"
_CONNECT: Final = "sc:"
_SERVER: Final = re.compile(r"sc://(\[[0-9A-Fa-f:.]+\]|[^\s:/,;@\[\]]+)(?::(\d{1,5}))?(?:/(?:;[^\s;=]+=[^\s;=]*)*)?")
_SERVERS_PORT: Final = 15_002
_REMOTE: Final = "SPARK_REMOTE"
"""Spark's own variable for the server of Spark Connect."""
_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/,@\[\]]+):(\d{1,5})")
_CONNECT_SECONDS: Final = 5
_LARGEST_PORT: Final = 65_535


def chosen(master: str | None, environment: Mapping[str, str] = os.environ) -> tuple[str | None, str]:
    """The master that is meant, and what named it: where no option does, the environment may name a server."""
    remote = environment.get(_REMOTE)
    return (remote, _REMOTE) if master is None and remote else (master, "--master")


def is_local(master: str | None) -> bool:
    """Whether Spark runs on this machine."""
    return master is None or master.startswith("local")


def is_here(master: str | None) -> bool:
    """Whether nothing of Spark is beyond this machine: it need not listen to any other."""
    return is_local(master) or (master or "").startswith((f"{_STANDALONE}127.0.0.1:", f"{_STANDALONE}localhost:"))


def is_standalone(master: str) -> bool:
    """Whether it is a cluster of Spark's own kind."""
    return master.startswith(_STANDALONE)


def is_connect(master: str | None) -> bool:
    """Whether it is a Spark Connect server: Spark is spoken to over the network, and there is no Java here."""
    return master is not None and master.startswith(_CONNECT)


def check(master: str, option: str = "--master") -> None:
    """Check the form of a master URL, and that something listens where a standalone master or a server should.

    Raises:
        ReportError: it is malformed or cannot be reached; the sentence names the option and the master.
    """
    if is_connect(master):
        addresses = [_server(master, option)]
    elif master.startswith(_STANDALONE):
        addresses = [_address(master, text) for text in master.removeprefix(_STANDALONE).split(",")]
    elif _KNOWN.fullmatch(master):
        return
    else:
        raise _malformed(master, option)
    trouble = ""
    for host, port in addresses:
        try:
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
        except (OSError, UnicodeError) as error:
            trouble = trouble or (getattr(error, "strerror", None) or str(error))
        else:
            return
    raise ReportError(f"{option}: {shown(master)} cannot be reached: {trouble}")


def _address(master: str, text: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) <= _LARGEST_PORT:
        raise _malformed(master)
    return found[1].strip("[]"), int(found[2])


def _server(master: str, option: str) -> tuple[str, int]:
    found = _SERVER.fullmatch(master)
    port = int(found[2] or _SERVERS_PORT) if found else 0
    if found is None or not 0 < port <= _LARGEST_PORT:
        raise _malformed(master, option)
    return found[1].strip("[]"), port


def shown(master: str) -> str:
    """A master as it may be told: without the parameters of a server, one of which may be a token."""
    return master.partition(";")[0].removesuffix("/") if is_connect(master) else master


def _malformed(master: str, option: str = "--master") -> ReportError:
    known = "local, local[N], local[*], spark://HOST:PORT, sc://HOST:PORT, yarn or k8s://URL"
    return ReportError(f"{option}: found {shown(master)!r}, expected {known}")
