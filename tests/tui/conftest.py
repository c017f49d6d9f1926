from pathlib import Path

import pytest
from textual.app import App

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


@pytest.fixture
def golden(request):
    """Compare text with a file, or write the file with ``--update-goldens``."""

    def compare(name, text):
        path = GOLDENS / f"{name}.txt"
        text = "\n".join(line.rstrip() for line in text.split("\n")) + "\n"
        if request.config.getoption("--update-goldens"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden {path}: look at the screen, then run pytest --update-goldens"
        assert text == path.read_text(encoding="utf-8")

    return compare
