from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.cli.running import Typed
from tui.cli.main import app


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLOODMARK_SESSIONS", raising=False)
    return tmp_path


@pytest.fixture
def typed(here: Path) -> Callable[..., Typed]:
    """Types a command without starting a process; errors inside come out as they are."""

    def run(*words: Any) -> Typed:
        done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        return Typed(done.exit_code, done.stdout, done.stderr)

    return run
