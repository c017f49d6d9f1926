import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from playbooks.version import VERSION
from tests.cli.running import ROOT, Steady, Typed
from tui.cli.main import app
from tui.output import console


@pytest.fixture(autouse=True)
def width_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are as wide as in a pipe, whatever the terminal of who runs the tests."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOODMARK_SESSIONS", raising=False)
    return tmp_path


@pytest.fixture
def typed(here: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Typed]:
    """Types a command without starting a process; errors inside come out as they are.

    It has one core, so that it starts none itself unless told how many, and says nothing of what takes long: how long
    that is is a matter of the machine.
    """
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0}, raising=False)
    monkeypatch.setattr(console, "PATIENCE_S", float("inf"))

    def run(*words: Any) -> Typed:
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        return Typed(done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def steady(tmp_path_factory: pytest.TempPathFactory) -> Steady:
    """Makes a text the same at every run, on every machine and in every release, as golden files need it."""
    changing = {
        rf"{re.escape(str(tmp_path_factory.getbasetemp()))}/[^/\s]+": "<tmp>",
        re.escape(str(ROOT)): "<floodmark>",
        r"\b\d{8}T\d{6}-(\S+?-s\d+)-[0-9a-f]{4}\b": r"<time>-\1-<salt>",  # the id of a session
        r"\b[0-9a-f]{32}\b": "<digest>",
        rf"\bfloodmark {re.escape(VERSION)}\b": "floodmark <version>",
    }

    def without(text: str) -> str:
        for pattern, name in changing.items():
            text = re.sub(pattern, name, text)
        return text

    return without
