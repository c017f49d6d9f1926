from pathlib import Path

import pytest
from textual.app import App

from tests.tui.driving import at_rest

GOLDENS = Path(__file__).parent / "goldens"


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch, tmp_path):
    """The same terminal for every test, whatever this one is, and nobody's settings."""
    monkeypatch.setenv("FLOODMARK_CONFIG", str(tmp_path / "config.toml"))
    for name in ("NO_COLOR", "SSH_CONNECTION", "TEXTUAL_FILTERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


@pytest.fixture(autouse=True)
def patient_toasts(monkeypatch):
    """Toasts go by the wall clock: on a busy machine one might be gone before it is looked at."""
    notify = App.notify

    def lasting(self, message, **more):
        notify(self, message, **{**more, "timeout": 3_600})

    monkeypatch.setattr(App, "notify", lasting)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", at_rest)


@pytest.fixture
def golden(golden_file):
    """What the screen of this name is known to show, to be compared with its trimmed text."""
    return lambda name: golden_file(GOLDENS / f"{name}.txt")
