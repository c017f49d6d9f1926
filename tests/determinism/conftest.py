"""All of this room is thorough: it starts processes by the dozen."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/determinism/") and item.get_closest_marker("compiled") is None:
            item.add_marker(pytest.mark.thorough)
