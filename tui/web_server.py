"""HTTP server of the TUI in a browser: textual-serve with access control, a page for phones, and a limit of visitors.

Each visitor has a process, and so a session, of their own: textual-serve starts the program for every websocket.
"""

import asyncio
import hmac
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final
from urllib.parse import urlsplit

from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.server import Server

COOKIE: Final = "floodmark_token"
"""Cookie that keeps the token after the first page."""
FOR_S: Final = 7 * 24 * 3600
"""Seconds that the cookie is kept."""
LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "::1")
"""Names of this machine; another name on a loopback address is a page that pretends to be it (DNS rebinding)."""
SEALED_S: Final = 60.0
"""Seconds that the end of the server waits for sessions to be sealed."""
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
        "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
NO_TOKEN: Final = (
    "floodmark: the token is missing or wrong; open the address that floodmark web printed, with ?token=\n"
)
FOREIGN: Final = "floodmark: found a request from or for another site, expected this address\n"
FULL: Final = "floodmark: all places are taken ({limit}); try again later, or start floodmark web with --visitors\n"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Address to listen on, access, and the process of a visitor."""

    command: str
    """Shell command of a visitor's process."""
    host: str
    port: int
    token: str = ""
    """Token that every request needs, empty for none."""
    visitors: int = 8
    """Maximum number of visitors at a time."""
    loopback: bool = True
    """Whether the address is one of this machine only."""


class WebServer(Server):
    """Server of :class:`WebSettings`; it stops at SIGINT or SIGTERM, after all sessions are sealed."""

    def __init__(self, settings: WebSettings) -> None:
        super().__init__(settings.command, settings.host, settings.port, title="floodmark")
        self.settings = settings
        self.page = files("tui").joinpath("web.html").read_text(encoding="utf-8")
        self._sockets: set[web.WebSocketResponse] = set()
        self._visits: set[asyncio.Task[Any]] = set()
        """Tasks of the visitors, each until the session is sealed."""

    def initialize_logging(self) -> None:
        """Log problems only: a log of requests would have the token."""
        logging.basicConfig(level=logging.WARNING, format="floodmark: %(message)s")

    async def run(self, started: Callable[[int], None]) -> bool:
        """Serve until a signal; ``started`` gets the port. Return whether it was SIGINT. Raises OSError."""
        self.initialize_logging()
        runner = web.AppRunner(await self._make_app(), access_log=None)
        await runner.setup()
        stopped: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        try:
            await web.TCPSite(runner, self.host, self.port).start()
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self._stop, stopped, number)
            started(runner.addresses[0][1])
            return await stopped == signal.SIGINT
        finally:
            await runner.cleanup()
            if self._visits:  # of pages that were closed before, whose processes must not be killed
                await asyncio.wait(self._visits, timeout=SEALED_S)

    @staticmethod
    def _stop(stopped: "asyncio.Future[int]", number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    # -- requests -----------------------------------------------------------------------------------------------------

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guarded)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing: :meth:`run` reports the address."""

    async def on_shutdown(self, app: web.Application) -> None:
        """Close the pages, so that their sessions are sealed before the server ends."""
        await asyncio.gather(*(each.close() for each in tuple(self._sockets)))

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer a request of a permitted visitor, with headers that keep other sites out."""
        if (refused := self._refused(request)) is not None:
            return refused
        given = request.query.get("token")
        if self.settings.token and given is not None:  # keep it in a cookie, and take it out of the address
            kept = {name: value for name, value in request.query.items() if name != "token"}
            answer = web.HTTPSeeOther(request.rel_url.with_query(kept))
            answer.set_cookie(
                COOKIE, given, max_age=FOR_S, httponly=True, samesite="Lax", secure=request.scheme == "https"
            )
            raise answer
        return await handler(request)

    def _refused(self, request: web.Request) -> web.Response | None:
        """Return the response to a visitor who may not see the page, None for one who may."""
        if not self._is_own(request):
            return web.Response(status=403, text=FOREIGN, headers=HEADERS)
        given = request.query.get("token", request.cookies.get(COOKIE, ""))
        if self.settings.token and not hmac.compare_digest(
            given.encode("utf-8", "replace"), self.settings.token.encode()
        ):
            return web.Response(status=401, text=NO_TOKEN, headers=HEADERS)
        return None

    def _is_own(self, request: web.Request) -> bool:
        """Return whether a request is for this server, and from its own page or from none.

        A browser lets any page open a websocket to this machine, so the page's origin is compared.
        """
        origin = request.headers.get("Origin")
        try:
            asked, coming = urlsplit(f"//{request.host}"), urlsplit(origin or "")
        except ValueError:  # such as an unclosed bracket
            return False
        if self.settings.loopback and asked.hostname not in LOCAL_NAMES and not self.settings.token:
            return False
        return origin is None or coming.netloc == asked.netloc

    async def handle_index(self, request: web.Request) -> Any:
        """Return the page."""
        return web.Response(text=self.page, content_type="text/html", headers=HEADERS)

    async def handle_websocket(self, request: web.Request) -> Any:
        """Run the program for one visitor, unless all places are taken."""
        if not web.WebSocketResponse().can_prepare(request):
            return web.Response(status=400, text="floodmark: expected a websocket\n", headers=HEADERS)
        if len(self._visits) >= self.settings.visitors:
            return web.Response(status=503, text=FULL.format(limit=self.settings.visitors), headers=HEADERS)
        visit = asyncio.current_task()
        assert visit is not None
        self._visits.add(visit)
        try:
            return await super().handle_websocket(request)
        finally:
            self._visits.discard(visit)

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: AppService) -> None:
        """Pass on what the browser sends, and close the page when the process ends."""
        self._sockets.add(websocket)
        closing = asyncio.create_task(self._close_at_end(websocket, app_service))
        try:
            await super()._process_messages(websocket, app_service)
        finally:
            closing.cancel()
            self._sockets.discard(websocket)
            await _end(app_service)

    @staticmethod
    async def _close_at_end(websocket: web.WebSocketResponse, app_service: AppService) -> None:
        task = app_service._task
        if task is not None:
            await asyncio.wait([task])
        await websocket.close()


async def _end(app_service: AppService) -> None:
    """Have a visitor's process end, and wait until it has sealed its session; textual-serve would kill it before."""
    process = app_service._process
    if process is None or process.stdin is None or process.stdout is None or process.stderr is None:
        return
    await app_service.send_meta({"type": "quit"})
    process.stdin.close()  # ends a process as well that reads no messages
    try:
        async with asyncio.timeout(SEALED_S):
            await app_service.stop()
            await asyncio.gather(process.stdout.read(), process.stderr.read(), process.wait())
    except TimeoutError:
        process.kill()


def serve(settings: WebSettings, started: Callable[[int], None]) -> bool:
    """Serve until SIGINT or SIGTERM, and return whether it was SIGINT; ``started`` gets the port.

    Raises:
        OSError: it cannot listen there.
    """
    os.environ.pop("TEXTUAL", None)  # developer mode of Textual would write a log of keys
    return asyncio.run(WebServer(settings).run(started))
