"""Golden files: expected texts and tables, one per file. ``make goldens`` renews them.

Short texts are compared with ``snapshot``, which keeps those of a test module in one file below ``__snapshots__``.
"""

from collections.abc import Callable
from pathlib import Path

import pytest


class Golden(str):
    """Content of a golden file. During renewal it equals any text, which is written to the file."""

    path: Path | None = None

    def __eq__(self, text: object) -> bool:
        if self.path:
            self.path.parent.mkdir(exist_ok=True)
            self.path.write_text(str(text), encoding="utf-8")
        return self.path is not None or str.__eq__(self, text)

    __hash__ = str.__hash__


GoldenFile = Callable[[Path], Golden]


@pytest.fixture
def renewing(pytestconfig: pytest.Config) -> bool:
    """Return whether golden files are to be renewed."""
    return bool(pytestconfig.option.update_snapshots)


@pytest.fixture
def golden_file(renewing: bool) -> GoldenFile:
    """Return a function that returns the expected content of a golden file."""

    def known(path: Path) -> Golden:
        assert renewing or path.exists(), f"no golden file {path}: `make goldens` writes it"
        golden = Golden("" if renewing else path.read_text(encoding="utf-8"))
        golden.path = path if renewing else None
        return golden

    return known


def has_golden(item: pytest.Item) -> bool:
    """Return whether a test compares anything with a golden file."""
    return not {"renewing", "snapshot"}.isdisjoint(getattr(item, "fixturenames", ()))
