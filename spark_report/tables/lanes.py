"""Jobs side by side. Spark's planner has one thread for each query, so that a second core is idle without this."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Job = Callable[[], None]


def side_by_side(spark: "SparkSession", jobs: Sequence[Job], lanes: int) -> None:
    """Do all jobs, so many at a time; the first that fails is raised, and those that have not begun are let be."""
    if lanes == 1:
        for job in jobs:
            job()
        return
    from pyspark import inheritable_thread_target  # noqa: PLC0415 - a quarter of a second that bad input need not wait for

    # What the caller has set for its own jobs, such as a group or a pool, holds for these.
    like_here: Callable[[Job], Job] = inheritable_thread_target(spark)
    pool = ThreadPoolExecutor(lanes, thread_name_prefix="floodmark-query")
    begun = [pool.submit(like_here(job)) for job in jobs]
    try:
        done, _rest = wait(begun, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
    except Exception:
        pool.shutdown(wait=True, cancel_futures=True)
        raise
    except BaseException:
        # After Ctrl-C nobody waits for a query: it ends with the JVM.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
