"""Golden files: long texts and tables as they are known to be, a file each. ``make goldens`` writes them anew.

Short texts are compared with ``snapshot``, which keeps those of a module of tests in one file below ``__snapshots__``.
"""

from collections.abc import Callable
from pathlib import Path

import pytest


class Golden(str):
    """What a file holds. When golden files are renewed, it is equal to any text, and the file holds that afterwards."""

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
    """Whether golden files are to be written as the program is now."""
    return bool(pytestconfig.option.update_snapshots)


@pytest.fixture
def golden_file(renewing: bool) -> GoldenFile:
    """What the file at a path is known to hold, to be compared with a text."""

    def known(path: Path) -> Golden:
        assert renewing or path.exists(), f"no golden file {path}: `make goldens` writes it"
        golden = Golden("" if renewing else path.read_text(encoding="utf-8"))
        golden.path = path if renewing else None
        return golden

    return known


def has_golden(item: pytest.Item) -> bool:
    """Whether a test compares anything with a golden file."""
    return not {"renewing", "snapshot"}.isdisjoint(getattr(item, "fixturenames", ()))
