"""All of this room is thorough: it starts processes by the dozen."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("compiled") is None:
            item.add_marker(pytest.mark.thorough)
