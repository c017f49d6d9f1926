"""What all tests share: profiles of property tests, which tests run, in which order and beside whom."""

import gc
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.support.breadth import EVENING, sample_count
from tests.support.golden import golden_file, has_golden, renewing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["golden_file", "renewing"]

# Property tests draw the same examples everywhere, and no machine is too slow for them.
settings.register_profile(
    "same-everywhere", deadline=None, derandomize=True, database=None, max_examples=sample_count(50, 200)
)
settings.load_profile("same-everywhere")

# For an evening: pytest --hypothesis-profile=deep
settings.register_profile("deep", deadline=None, max_examples=2_000)

ONE_PROCESS = ("spark", "tmux", "browser")
"""Markers of what one process runs, one after the other: there is one JVM, one terminal and one browser at a time. Of
all else a process runs whole files."""
FOR_THE_EVENING = ("evening", "compiled")
"""Markers of what only ``make test-evening`` runs."""
_ALL_SLOW = re.compile(rf"^pytestmark = .*\bmark\.(?:slow|evening|{'|'.join(ONE_PROCESS)})\b", re.MULTILINE)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many as there are cores; with all tests one more, since some wait for a JVM, a terminal or a connection."""
    return (os.cpu_count() or 1) + (not config.option.markexpr)


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr:  # goldens of the tests that are left out are no unused ones
        config.option.warn_unused_snapshots = True
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so begun in the background by a shell script
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even read files whose tests are all slow when slow tests are left out."""
    if collection_path.suffix != ".py" or "not slow" not in config.option.markexpr.replace("(", ""):
        return None
    return True if _ALL_SLOW.search(collection_path.read_text(encoding="utf-8")) else None


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for the evening, begin with what takes long, and have one process run what shares its runs."""
    unasked = (*(() if EVENING else FOR_THE_EVENING), *(() if "kafka" in config.option.markexpr else ("kafka",)))
    left_out = [item for item in items if any(map(item.get_closest_marker, unasked))]
    if config.option.update_snapshots:
        left_out = [item for item in items if not has_golden(item)]
    config.hook.pytest_deselected(items=left_out)
    gone = set(map(id, left_out))
    items[:] = sorted((item for item in items if id(item) not in gone), key=_rank)
    for item in items:
        group = next(filter(item.get_closest_marker, ONE_PROCESS), item.nodeid.partition("::")[0])
        item.add_marker(pytest.mark.xdist_group(group))


def _rank(item: pytest.Item) -> int:
    marks = (*ONE_PROCESS, *FOR_THE_EVENING, "sockets", "slow")
    return next((rank for rank, name in enumerate(marks) if item.get_closest_marker(name)), len(marks))


def pytest_collection_finish() -> None:
    """Thousands of collected tests need not be looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Call no golden file unused, and delete none, when the tests were not run."""
    if session.config.option.collectonly or exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        session.config.option.update_snapshots, session.config.option.warn_unused_snapshots = False, True


def pytest_unconfigure() -> None:
    """As pytest ends it looks through everything for garbage five times: nothing is left to look through."""
    gc.freeze()


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """One Spark for all that are given one."""
    from spark_report.spark import session  # noqa: PLC0415 - most tests need none of it

    with session.start("local[1]") as started:
        started.spark.conf.set("spark.sql.shuffle.partitions", "1")
        yield started.spark
