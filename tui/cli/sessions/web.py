"""``floodmark web``: the TUI in a browser, with a process and a session for each visitor."""

import ipaddress
import secrets
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from playbooks.errors import BAD_INPUT, INTERRUPTED, OK, PlaybookError, shown
from playbooks.session_format.session_files import SessionError, sessions_root
from playbooks.session_format.session_finder import find_session
from tui.output.console import print_error, print_line, print_problems, stderr_console, stdout_console
from tui.session.playbook_choice import read
from tui.settings.settings_file import read_settings
from tui.terminal.self_command import BROWSER_DRIVER, command

MISSING: Final = "floodmark web needs the package textual-serve; install it with: pip install 'floodmark[web]'"
SHORTEST: Final = 8
"""Minimum characters of a token that the user chooses."""
ALLOWED_ALPHABET: Final = "letters, digits and - . _ ~"
SSL_HINT: Final = (
    "warning: {host} is open to the network, and the connection is not encrypted; "
    "put a proxy with TLS in front of it where others could listen"
)


@dataclass(frozen=True, slots=True)
class WebRequest:
    """Options of the command."""

    host: str
    port: int
    token: str | None
    read_only: bool
    visitors: int
    session: str | None
    playbook: str | None
    seed: int | None
    out: Path | None
    glyphs: str | None
    theme: str | None
    speed: float | None


class WebOptionError(Exception):
    """Invalid option; the message has what was found and what is allowed."""


def web(request: WebRequest) -> int:
    """Serve the TUI until a signal; return 0 stopped by SIGTERM, 2 bad input, 130 interrupted."""
    try:
        loopback = is_loopback(request.host)
        token = token_of(request, loopback=loopback)
        _check_destination(request)
        from tui.web_server import WebSettings, serve  # noqa: PLC0415 - the package is optional

        settings = WebSettings(
            visitor_command(request), request.host, request.port, token, request.visitors, loopback=loopback
        )
        interrupted = serve(settings, lambda port: _greet(request, token, port, loopback=loopback))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("textual_serve", "aiohttp", "aiohttp_jinja2"):
            raise
        print_error(MISSING)
        return BAD_INPUT
    except PlaybookError as error:
        print_problems(error)
        return BAD_INPUT
    except (WebOptionError, SessionError) as error:
        print_error(str(error))
        return BAD_INPUT
    except OSError as error:
        print_error(f"--port {request.port}: cannot listen on {request.host}: {error.strerror or error}")
        return BAD_INPUT
    return INTERRUPTED if interrupted else OK


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable from this machine only.

    Raises:
        WebOptionError: it is no address.
    """
    try:
        return ipaddress.ip_address("127.0.0.1" if host == "localhost" else host).is_loopback
    except ValueError:
        raise WebOptionError(f"--host: found {shown(host)}, expected an address such as 127.0.0.1 or 0.0.0.0") from None


def token_of(request: WebRequest, *, loopback: bool) -> str:
    """Return the token that visitors need: the given one, or a new one where other machines can connect.

    Raises:
        WebOptionError: it is too short, or has characters that an address cannot have.
    """
    if request.token is None:
        return "" if loopback else secrets.token_urlsafe(24)
    if len(request.token) < SHORTEST or quote(request.token, safe="-._~") != request.token:
        found = f"{len(request.token)} characters" if request.token else "nothing"
        raise WebOptionError(f"--token: found {found}, expected {SHORTEST} or more of {ALLOWED_ALPHABET}")
    return request.token


def _check_destination(request: WebRequest) -> None:
    """Check what visitors would open, before the first one comes. Raises PlaybookError, SessionError."""
    if request.session is not None:
        if request.playbook is not None or request.seed is not None:
            given = "--playbook" if request.playbook is not None else "--seed"
            raise WebOptionError(f"found {given} and --session, expected one of them")
        find_session(request.session, request.out or sessions_root())
    elif request.playbook is not None:
        playbook = read(request.playbook)
        if playbook.spec.manual:
            raise WebOptionError(
                f"{playbook.path}: has manual steps, which the TUI cannot run; run it with: floodmark run"
            )


def visitor_command(request: WebRequest) -> str:
    """Return the shell command that textual-serve runs for each visitor."""
    arguments = ["open", request.session] if request.session is not None else []
    glyphs = request.glyphs or read_settings().settings.glyphs
    options = {
        "--playbook": request.playbook,
        "--seed": request.seed,
        "--out": request.out,
        "--glyphs": "unicode" if glyphs in (None, "", "auto") else glyphs,  # of the browser, not of the server's locale
        "--theme": request.theme,
        "--speed": request.speed,
    }
    for name, value in options.items():
        if value is not None:
            arguments += [name, str(value)]
    if request.read_only:
        arguments.append("--read-only")
    return f"TEXTUAL_DRIVER={BROWSER_DRIVER} exec {shlex.join((*command(), *arguments))}"


def _greet(request: WebRequest, token: str, port: int, *, loopback: bool) -> None:
    host = f"[{request.host}]" if ":" in request.host else request.host
    address = f"http://{host}:{port}/" + (f"?token={token}" if token else "")
    watching = "watch" if request.read_only else "use"
    if not loopback:
        print_line(stderr_console(), SSL_HINT.format(host=request.host), "yellow")
    console = stdout_console()
    print_line(console, f"open {address}")
    print_line(
        console,
        f"up to {request.visitors} visitors {watching} it at a time, each with a session of their own; ctrl+c stops",
    )
