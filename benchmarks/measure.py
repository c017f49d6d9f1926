"""CPU seconds of this process, and the best of several tries, since other load only makes a figure worse."""

import time
from collections.abc import Callable


def cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def best_of(tries: int, work: Callable[[], float]) -> float:
    """Return the highest of several measured rates."""
    return max(work() for _ in range(tries))
