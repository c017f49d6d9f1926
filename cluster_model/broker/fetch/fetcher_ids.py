"""Which fetcher thread fetches a partition (``AbstractFetcherManager.getFetcherId``)."""

from typing import Final

BITS: Final = 8
"""Room of a fetcher's number in the correlations of its requests."""
FETCHER: Final = "fetcher"
"""Name of the timer with which a fetcher looks whether anything is overdue."""
_FETCHERS: Final = (1 << BITS) - 1
_WORD: Final = 1 << 32
_SIGN: Final = 1 << 31


def _signed(value: int) -> int:
    """A number as 32 bits hold it."""
    return (value + _SIGN) % _WORD - _SIGN


def java_hash(text: str) -> int:
    """``String.hashCode`` of text without characters beyond the basic plane, which topic names lack."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) % _WORD
    return _signed(value)


def fetcher_id(partition: str, fetchers: int) -> int:
    """The number of the thread for a partition such as ``orders-0``, below ``fetchers`` (``num.replica.fetchers``)."""
    if fetchers == 1:
        return 0
    topic, _dash, number = partition.rpartition("-")
    value = _signed(31 * java_hash(topic) + int(number))
    return (0 if value == -_SIGN else abs(value)) % fetchers


def fetcher_of(correlation: int) -> int:
    """Which thread a correlation belongs to."""
    return correlation >> 32 & _FETCHERS


def first_correlation(incarnation: int, fetcher: int) -> int:
    """Where a thread's correlations begin: none of a former life of the process, or of another thread, is like them."""
    return ((incarnation << BITS) + fetcher) << 32
