"""A page in headless Chromium, driven over the DevTools protocol."""

import asyncio
import base64
import json
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

PLAIN = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--mute-audio"]
QUIET = ["--disable-background-networking", "--disable-extensions", "--disable-component-update"]
LONGEST_S = 60.0
"""For what a page has to show: as much as a busy machine may need."""
SEES_TERMINAL = """
Object.defineProperty(Object.prototype, "_core", {
  configurable: true,
  get() { return undefined; },
  set(core) {
    Object.defineProperty(this, "_core", {value: core, writable: true, configurable: true});
    if (typeof this.loadAddon === "function") window.terminalSeen = this;
  },
});
"""
"""The terminal of a page is drawn on a canvas: remembers the object that draws it, to read its text."""
TEXT = """(() => {
  if (!window.terminalSeen) return "";
  const lines = window.terminalSeen.buffer.active;
  return [...Array(window.terminalSeen.rows).keys()].map((at) => lines.getLine(at)?.translateToString(true) ?? "")
    .join("\\n");
})()"""
KEYS = {"\r": ("Enter", 13), "\x1b": ("Escape", 27)}


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium on PATH: nothing is opened by a browser here")
    return found


class Page:
    """One page, with what its console complained of."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._number = 0
        self.complaints: list[str] = []
        self.requested: list[str] = []
        """Addresses that the page asked for."""

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        await self._socket.send_json({"id": self._number, "method": method, "params": params})
        async with asyncio.timeout(LONGEST_S):
            while True:
                answer = json.loads((await self._socket.receive()).data)
                if answer.get("id") == self._number:
                    assert "error" not in answer, answer
                    return dict(answer["result"])
                self._take(answer)

    def _take(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"].get("exception", params)))
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif event.get("method") == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])

    async def open(self, address: str, width: int, height: int, *, phone: bool = False) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            await self.call(f"{domain}.enable")
        await self.call("Page.addScriptToEvaluateOnNewDocument", source=SEES_TERMINAL)
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=0, mobile=phone,
        )  # fmt: skip
        if phone:
            await self.call("Emulation.setTouchEmulationEnabled", enabled=True)
        await self.call("Page.navigate", url=address)

    async def value(self, script: str) -> Any:
        answer = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    async def text(self) -> str:
        return str(await self.value(TEXT))

    async def until(self, *words: str) -> str:
        """The text of the terminal, once it has all these words."""
        end, shown = time.monotonic() + LONGEST_S, ""
        while time.monotonic() < end:
            shown = await self.text()
            if all(word in shown for word in words):
                return shown
            await asyncio.sleep(0.05)
        raise AssertionError(f"{words} did not appear in:\n{shown}")

    async def press(self, *keys: str) -> None:
        for key in keys:
            name, code = KEYS.get(key, (key, ord(key.upper())))
            named = {"key": name, "windowsVirtualKeyCode": code}
            await self.call("Input.dispatchKeyEvent", type="keyDown", text=key if key not in KEYS else "", **named)
            await self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    async def tap(self, selector: str) -> None:
        await self.value(f"document.querySelector({selector!r}).click()")

    async def picture(self, path: Path) -> None:
        answer = await self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(answer["data"]))


@asynccontextmanager
async def browser(folder: Path, *flags: str) -> AsyncIterator[Page]:
    """A new browser with one page."""
    profile = folder / "profile"
    arguments = [*PLAIN, *QUIET, f"--user-data-dir={profile}", "--remote-debugging-port=0", *flags, "about:blank"]
    with subprocess.Popen([chromium(), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            port = await _port(profile / "DevToolsActivePort")
            async with aiohttp.ClientSession() as client:
                async with client.get(f"http://127.0.0.1:{port}/json") as answer:
                    pages = [each for each in await answer.json() if each["type"] == "page"]
                async with client.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                    yield Page(socket)
        finally:
            process.terminate()


async def _port(path: Path) -> int:
    end = time.monotonic() + LONGEST_S
    while time.monotonic() < end:
        if path.exists() and path.read_text(encoding="utf-8").count("\n"):
            return int(path.read_text(encoding="utf-8").splitlines()[0])
        await asyncio.sleep(0.05)
    raise AssertionError("the browser has not opened its port")


@asynccontextmanager
async def web_server(folder: Path, *arguments: str) -> AsyncIterator[str]:
    """``floodmark web`` on a free port, and its address."""
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            "-P",
            "-m",
            "tui.cli.main",
            "web",
            "--port",
            "0",
            "--out",
            str(folder / "sessions"),
            *arguments,
        ),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(LONGEST_S):
            line = (await process.stdout.readline()).decode()
        yield line.split()[1]
    finally:
        process.terminate()
        await process.wait()
