"""The TUI in a browser: who may visit, what an audience may do, and a telephone."""

import asyncio
import re
import shlex
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web as http

from playbooks.errors import BAD_INPUT, OK
from tests.support.chromium import browser, web_server
from tests.tui.driving import driving
from tui import web_server as web_server_module
from tui.cli.main import app
from tui.cli.sessions.web import WebRequest, token_of, visitor_command, web
from tui.session.session_controller import READ_ONLY
from tui.web_server import COOKIE, HEADERS, WebServer, WebSettings

PAGE = Path(__file__).parents[2] / "docs" / "run" / "web.md"
TOKEN = "a-token-of-the-test"
PLAIN = WebRequest("127.0.0.1", 0, None, False, 8, None, None, None, None, None, None, None)
UPGRADE = {
    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}  # fmt: skip
MANUAL = "expand-race"
LOSING = """\
floodmark: 1
name: losing
cluster: {brokers: 3, config: {broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 200}}
topics:
  - {name: orders, placement: [[1, 2, 3]]}
clients:
  producers:
    - {name: clicks, topic: orders, rate: 100/s, config: {acks: 1}}
steps:
  - {at: 1s, inject: slow_follower, target: followers(orders-0), for: 20s}
settle: 1s
"""


@asynccontextmanager
async def served(**settings):
    """A server in this process whose visitors get ``cat``, a client without cookies, and the address."""
    server = WebServer(WebSettings(**{"command": "exec cat", "host": "127.0.0.1", "port": 0} | settings))
    runner = http.AppRunner(await server._make_app())
    await runner.setup()
    await http.TCPSite(runner, "127.0.0.1", 0).start()
    async with aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as client:
        yield client, f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def status(client, address, **options):
    async with client.get(address, allow_redirects=False, **options) as answer:
        return answer.status


@pytest.mark.sockets
class TestVisitors:
    async def test_a_token_is_asked_for_everywhere_and_then_kept_in_a_cookie(self):
        async with served(token=TOKEN, loopback=False) as (client, address):
            paths = ("/", "/ws", "/static/js/textual.js", "/download/x")
            assert [await status(client, address + path) for path in paths] == [401] * 4
            assert await status(client, f"{address}/?token={TOKEN[:-1]}x") == 401
            assert await status(client, f"{address}/?token=%ff", headers={"Cookie": f"{COOKIE}={TOKEN}"}) == 401
            async with client.get(f"{address}/?token={TOKEN}&fontsize=9", allow_redirects=False) as answer:
                assert (answer.status, answer.headers["Location"]) == (303, "/?fontsize=9")
                cookie = answer.cookies[COOKIE]
            assert (cookie.value, cookie["httponly"], cookie["samesite"]) == (TOKEN, True, "Lax")
            known = {"Cookie": f"{COOKIE}={TOKEN}"}
            assert await status(client, f"{address}/static/js/textual.js", headers=known) == 200
            async with client.ws_connect(f"{address}/ws", headers=known) as socket:
                assert not socket.closed

    async def test_another_site_reaches_nothing_of_this_machine(self):
        async with served() as (client, address):
            assert await status(client, address) == 200
            port = address.rpartition(":")[2]
            pretends = {"Host": f"evil.example:{port}"}
            assert await status(client, address, headers=pretends) == 403
            assert await status(client, address, headers={"Host": "[::1"}) == 403
            assert await status(client, f"{address}/ws", headers={"Origin": "http://evil.example"}) == 403
            async with client.ws_connect(f"{address}/ws", headers={"Origin": address}) as socket:
                assert not socket.closed

    async def test_the_page_loads_nothing_from_elsewhere_and_in_no_frame(self):
        async with served() as (client, address), client.get(address) as answer:
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS
            links = re.findall(r'(?:src|href)="([^"]+)"', await answer.text())
        assert links
        assert [link for link in links if not link.startswith(("/static/", "data:"))] == []

    async def test_who_finds_no_place_is_told(self):
        async with served(visitors=1) as (client, address):
            async with client.ws_connect(f"{address}/ws"):
                assert await status(client, f"{address}/ws", headers=UPGRADE) == 503
                assert await status(client, address) == 200
            async with asyncio.timeout(20):
                while await status(client, f"{address}/ws", headers=UPGRADE) == 503:
                    await asyncio.sleep(0.02)

    async def test_what_is_no_websocket_starts_no_process(self):
        async with served() as (client, address):
            assert await status(client, f"{address}/ws") == 400

    async def test_a_page_is_closed_when_its_process_ends(self):
        async with served(command="exit 3") as (client, address), client.ws_connect(f"{address}/ws") as socket:
            async with asyncio.timeout(20):
                assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)


class TestOptions:
    @pytest.mark.parametrize(
        ("changes", "found"),
        [
            ({"host": "example.com"}, "--host: found 'example.com'"),
            ({"token": "short"}, "--token: found 5 characters"),
            ({"token": "with a blank"}, "--token: found 12 characters"),
            ({"session": "x", "seed": 3}, "found --seed and --session"),
            ({"session": "nowhere"}, "nowhere"),
            ({"playbook": "zombie-leder"}, "zombie-leader"),
            ({"playbook": MANUAL}, "floodmark run"),
        ],
    )
    def test_what_is_wrong_is_one_error_before_anything_is_served(self, changes, found, capsys, tmp_path):
        assert web(replace(PLAIN, out=tmp_path, **changes)) == BAD_INPUT
        said = capsys.readouterr()
        assert said.out == ""
        assert found in said.err

    def test_the_examples_of_the_page_are_served(self, capsys, monkeypatch, tmp_path):
        made = []
        monkeypatch.setenv("FLOODMARK_SESSIONS", str(tmp_path))
        monkeypatch.setattr(
            web_server_module, "serve", lambda settings, started: made.append(settings) or started(8000)
        )
        examples = re.findall(r"^floodmark (web .*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
        for words in examples:
            with pytest.raises(SystemExit) as end:
                app(words.split())
            assert end.value.code == OK
        assert [(each.host, bool(each.token), "--read-only" in each.command) for each in made] == [
            ("127.0.0.1", False, False),
            ("0.0.0.0", True, True),
        ]
        assert f"http://0.0.0.0:8000/?token={made[1].token}" in capsys.readouterr().out

    def test_a_missing_package_is_named_with_the_way_to_install_it(self, capsys, monkeypatch):
        monkeypatch.delitem(sys.modules, "tui.web_server", raising=False)
        monkeypatch.setitem(sys.modules, "textual_serve", None)
        monkeypatch.setitem(sys.modules, "textual_serve.app_service", None)
        assert web(PLAIN) == BAD_INPUT
        assert "pip install 'floodmark[web]'" in capsys.readouterr().err

    def test_elsewhere_than_on_loopback_there_is_a_token_that_nobody_guesses(self):
        assert token_of(PLAIN, loopback=True) == ""
        assert token_of(replace(PLAIN, token="eight-or-more"), loopback=True) == "eight-or-more"
        made = {token_of(PLAIN, loopback=False) for _ in range(5)}
        assert len(made) == 5
        assert min(map(len, made)) >= 32

    def test_a_visitor_gets_the_options_of_the_command(self, tmp_path):
        request = replace(PLAIN, playbook="it's mine.yaml", seed=3, out=tmp_path, speed=5.0, read_only=True)
        words = shlex.split(visitor_command(request))
        assert words[words.index("tui.cli.main") + 1 :] == [
            *("--playbook", "it's mine.yaml", "--seed", "3", "--out", str(tmp_path)),
            *("--glyphs", "unicode", "--speed", "5.0", "--read-only"),
        ]
        words = shlex.split(visitor_command(replace(PLAIN, session="abc", glyphs="ascii")))
        assert words[words.index("open") :] == ["open", "abc", "--glyphs", "ascii"]


ACTING = ("f", "a", "C", "H", "T", "u", "U", "w", "E", "S")


class TestReadOnly:
    async def test_every_acting_key_is_answered_by_a_notice_and_changes_nothing(self):
        async with driving((120, 40)) as driver:
            driver.app.read_only = True
            await driver.frames(20)
            for count, key in enumerate(ACTING, 1):
                await driver.press(key)
                assert driver.toasts() == [READ_ONLY] * count, key
                assert len(driver.app.screen_stack) == 1, key
            await driver.press("4", "w", "e", "f")
            assert driver.toasts().count(READ_ONLY) == len(ACTING) + 3
            assert len(driver.app.screen_stack) == 2
            assert (driver.session_controller.view.faults, len(driver.session_controller.branches)) == ((), 1)

    async def test_a_typed_fault_is_refused_and_time_can_be_travelled(self):
        async with driving((120, 40)) as driver:
            driver.app.read_only = True
            await driver.frames(40)
            await driver.press("colon", *"crash", "space", "b", "2", "enter")
            assert "read-only" in driver.text()
            await driver.press("escape", "comma")
            assert driver.session_controller.session.in_past
            assert driver.session_controller.view.faults == ()


@pytest.mark.browser
async def test_a_visitor_starts_breaks_and_reads_the_autopsy_also_on_a_telephone(tmp_path):
    playbook = tmp_path / "losing.yaml"
    playbook.write_text(LOSING, encoding="utf-8")
    async with web_server(tmp_path, "--playbook", str(playbook)) as address, browser(tmp_path) as page:
        await page.open(address, 1400, 900)
        await page.until("Partitions", "LIVE", "slow follower")
        await page.press("f")
        await page.until("Inject a fault on b1")
        await page.press("c")
        await page.until("b1 crashed", "missing:")
        await page.press("n")
        await page.until("Autopsy", "clicks")
        await page.press("q", "5", "o")
        await page.until("enter opens it")
        await page.press(*"sandbox")
        await page.press("\r")
        await page.until("floodmark  sandbox", "LIVE")  # another session of the same process, on the same page
        await page.open(address, 400, 800, phone=True)
        await page.until("Partitions", "LIVE", "slow follower")
        sizes = "[terminalSeen.cols >= 80, document.documentElement.scrollWidth, document.querySelector('#keys').offsetTop > 500]"  # noqa: E501
        assert await page.value(sizes) == [True, 400, True]
        for key in ("f", "c"):
            await page.tap(f'#keys button[data-key="{key}"]')
            await page.until("Inject a fault" if key == "f" else "b1 crashed")
        await page.until("missing:")
        await page.tap('#keys button[data-key="n"]')
        await page.until("Autopsy", "clicks")
        assert page.complaints == []
        assert {url.split("/")[2] for url in page.requested if not url.startswith("data:")} == {address.split("/")[2]}
    sessions = list((tmp_path / "sessions").iterdir())
    assert len(sessions) == 3
    assert all((session / "manifest.json").exists() for session in sessions)
