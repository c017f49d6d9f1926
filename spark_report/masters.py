"""Looks at a Spark master before Spark does: Spark takes minutes to give up, and then says it in Java."""

import re
import socket
from typing import Final

from spark_report.errors import ReportError

_KNOWN: Final = re.compile(
    r"local(\[([1-9]\d*|\*)(,\s*[1-9]\d*)?\])?|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]|yarn|k8s://\S+"
)
_STANDALONE: Final = "spark://"
_CONNECT: Final = "sc://"
_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/,@\[\]]+):(\d{1,5})")
_CONNECT_SECONDS: Final = 5
_LARGEST_PORT: Final = 65_535


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


def check(master: str) -> None:
    """Check the form of a master URL, and that something listens where a standalone master or a server should.

    Raises:
        ReportError: it is malformed or cannot be reached; the sentence names the option and the master.
    """
    if is_connect(master):
        # Behind a semicolon there may be parameters, such as a user's token.
        listed = [master.removeprefix(_CONNECT).partition(";")[0].rstrip("/")]
    elif master.startswith(_STANDALONE):
        listed = master.removeprefix(_STANDALONE).split(",")
    elif _KNOWN.fullmatch(master):
        return
    else:
        raise _malformed(master)
    addresses = [_address(master, text) for text in listed]
    trouble = ""
    for host, port in addresses:
        try:
            socket.create_connection((host, port), _CONNECT_SECONDS).close()
        except (OSError, UnicodeError) as error:
            trouble = trouble or (getattr(error, "strerror", None) or str(error))
        else:
            return
    raise ReportError(f"--master: {shown(master)} cannot be reached: {trouble}")


def _address(master: str, text: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(text)
    if found is None or not 0 < int(found[2]) <= _LARGEST_PORT:
        raise _malformed(master)
    return found[1].strip("[]"), int(found[2])


def shown(master: str) -> str:
    """A master as it may be told: without the parameters of a server, one of which may be a token."""
    return master.partition(";")[0] if is_connect(master) else master


def _malformed(master: str) -> ReportError:
    known = "local, local[N], local[*], spark://HOST:PORT, sc://HOST:PORT, yarn or k8s://URL"
    return ReportError(f"--master: found {shown(master)!r}, expected {known}")
