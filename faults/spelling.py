"""Times in sentences for people, in whole numbers."""

from faults.fault import MS, SECOND


def spelled(us: int) -> str:
    """A time as people write it: ``15 s``, ``250 ms``; shorter than a millisecond, ``40 us``."""
    if us >= SECOND and us % SECOND == 0:
        return f"{us // SECOND} s"
    return f"{us // MS} ms" if us >= MS else f"{us} us"
