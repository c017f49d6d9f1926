"""Golden files: what the program prints or records, as it is known to be. ``make goldens`` writes them anew.

Long texts and tables have a file each (``golden_file``); short texts are compared with ``snapshot``, which keeps those
of a module of tests in one file below ``__snapshots__``.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

GoldenFile = Callable[[Path, str], None]
"""Compares a text with the golden file at a path, or writes the file."""


@pytest.fixture
def renewing(pytestconfig: pytest.Config) -> bool:
    """Whether golden files are to be written as the program is now."""
    return bool(pytestconfig.option.update_snapshots)


@pytest.fixture
def golden_file(renewing: bool) -> GoldenFile:
    """Compare a text with a file of its own."""

    def compare(path: Path, text: str) -> None:
        if renewing:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden file {path}: `make goldens` writes it"
        assert text == path.read_text(encoding="utf-8")

    return compare


def has_golden(item: pytest.Item) -> bool:
    """Whether a test compares anything with a golden file."""
    return not {"renewing", "snapshot"}.isdisjoint(getattr(item, "fixturenames", ()))
