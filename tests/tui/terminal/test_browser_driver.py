"""The terminal in a browser: packets alone on its stdout, and one page for several apps of a process."""

import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from tui.terminal import browser_driver
from tui.terminal.browser_driver import PRELUDE, BrowserDriver

PROGRAM = """
from tui.terminal.browser_driver import PRELUDE, packets
print("before")
for packet in (PRELUDE, b"D one", PRELUDE, b"D two"):
    packets().write(packet)
    print("between", flush=True)
"""


def test_stdout_has_packets_and_one_prelude_and_all_else_goes_to_stderr():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    assert done.stdout.replace(b"before\n", b"") == PRELUDE + b"D oneD two"
    assert done.stderr.count(b"between\n") == 4


@pytest.fixture
def driver(monkeypatch):
    written = []
    fake = SimpleNamespace(fileno=1, write=lambda data: written.append(data) or len(data))
    monkeypatch.setattr(browser_driver, "_packets", fake)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("ROWS", "30")
    app = SimpleNamespace(post_message=lambda _message: None, exits=[])
    app.exit = lambda **options: app.exits.append(options)
    app.call_later = lambda call, **options: call(**options)
    made = BrowserDriver.__new__(BrowserDriver)
    made._app, made.exit_event, made.written = app, threading.Event(), written
    made._input_reader = SimpleNamespace(close=lambda: None)
    made._key_thread = threading.Thread(target=made.exit_event.wait)
    return made


def test_the_next_app_begins_with_the_latest_size(driver, monkeypatch):
    driver.on_meta("resize", {"width": 44, "height": 55})
    assert [browser_driver.os.environ[name] for name in ("COLUMNS", "ROWS")] == ["44", "55"]


def test_the_end_of_an_app_stops_reading_and_leaves_the_page_open(driver):
    driver._key_thread.start()
    driver.stop_application_mode()
    assert not driver._key_thread.is_alive()
    assert driver.written == []


def test_the_end_of_the_input_ends_the_program(driver, monkeypatch):
    monkeypatch.setattr(browser_driver.WebDriver, "run_input_thread", lambda _self: None)
    driver.run_input_thread()
    assert driver._app.exits == [{"return_code": 129}]
    driver.exit_event.set()
    driver.run_input_thread()
    assert len(driver._app.exits) == 1
