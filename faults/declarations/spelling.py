"""Times and shares in sentences for people, in whole numbers."""

from faults.declarations.fault import MS, PERCENT, SECOND


def spelled(us: int) -> str:
    """A time with as many digits as it takes: ``15 s``, ``2.5 s``, ``250 ms``; below a millisecond, ``40 us``."""
    if us >= SECOND:
        whole, rest = divmod(us, SECOND)
        return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + " s"
    return f"{us // MS} ms" if us >= MS else f"{us} us"


def percent(ppm: int) -> str:
    """A share of so many millionths: ``5%``, ``0.5%``."""
    whole, rest = divmod(ppm, PERCENT)
    return f"{whole}.{rest:04d}".rstrip("0").rstrip(".") + "%"
