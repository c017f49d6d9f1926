"""What all rooms' tests share."""

import gc

import pytest
from hypothesis import settings

# Property tests draw the same examples everywhere, and no machine is too slow for them.
settings.register_profile("same-everywhere", deadline=None, derandomize=True, database=None)
settings.load_profile("same-everywhere")

# For an evening: pytest --hypothesis-profile=deep
settings.register_profile("deep", deadline=None, max_examples=2_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="write golden files as the program is now")


def pytest_collection_finish() -> None:
    """Thousands of collected tests need not be looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
