"""What all rooms' tests share."""

import gc
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.support.breadth import EVENING
from tests.support.costs import Meter, costly
from tests.support.golden import golden_file, has_golden, renewing
from tests.support.lanes import Lanes, longest_first
from tests.support.loop import Loop, mark_costly

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["golden_file", "renewing"]

# Property tests draw the same examples everywhere, and no machine is too slow for them.
settings.register_profile("same-everywhere", deadline=None, derandomize=True, database=None)
settings.load_profile("same-everywhere")

# For an evening: pytest --hypothesis-profile=deep
settings.register_profile("deep", deadline=None, max_examples=2_000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--measure", action="store_true", help="note in tests/costly.txt what takes long")
    parser.addoption("--lanes", action="store_true", help="share out by measured cost what takes long: `make test`")
    parser.addoption("--quick", action="store_true", help="leave out what takes long: the everyday loop")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so begun in the background by a shell script
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--measure"):
        config.pluginmanager.register(Meter())
    if config.getoption("--quick") or config.getoption("--lanes"):
        config.option.warn_unused_snapshots = True  # those of the tests that are left out
    if config.getoption("--quick"):
        config.pluginmanager.register(Loop())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process more than there are cores: of those in lanes, one waits more than it works."""
    if not config.getoption("--lanes"):
        return None
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Lanes | None:
    """Who deals out the lanes."""
    if not config.getoption("--lanes"):
        return None
    config.option.loadscopereorder = False
    return Lanes(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long is for `make test`, not for the everyday loop, and is shared out there."""
    if config.option.update_snapshots:
        items[:] = filter(has_golden, items)
    if not EVENING:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("evening")])
        items[:] = [item for item in items if not item.get_closest_marker("evening")]
    known = costly()
    mark_costly(items, known)
    if config.getoption("--lanes"):
        longest_first(items, known)


def pytest_collection_finish() -> None:
    """Thousands of collected tests need not be looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """One Spark for all that are given one."""
    from spark_report.spark import session  # noqa: PLC0415 - most tests need none of it

    with session.start("local[1]") as started:
        started.spark.conf.set("spark.sql.shuffle.partitions", "1")
        yield started.spark
