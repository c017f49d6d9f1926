"""How long the records of a producer may wait before it is out of service: one rule for runs, screens and reports."""

from typing import Final

SERVICE_BOUND_US: Final = 100_000
"""The least service bound: where links are as fast as usual many round trips, with those between replicas."""
SLOW_US: Final = 2_000_000
"""Slow acknowledgements raise a service bound to this at most."""
USUAL_TIMES: Final = 3
"""A client that is answered slowly is served: its bound is as many times what the last acknowledgement took."""


def bound_us(least_us: int, usual_us: int) -> int:
    """The bound of a client with a ``least_us`` of its own, whose last acknowledgement took ``usual_us``."""
    return max(least_us, min(USUAL_TIMES * usual_us, SLOW_US))
