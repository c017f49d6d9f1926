"""A voter that stands: who was asked and said what, and how long to hold back after a failure."""

from collections.abc import Callable
from typing import Any, Final

from cluster_model.controller.raft.config import QuorumConfig

_BACKOFF_US: Final = 100_000
_MOST_DOUBLINGS: Final = 20


class Election:
    """One round of votes, of a candidate or a prospective one."""

    __slots__ = ("_voters", "_votes", "backing_off", "retries")

    def __init__(self, me: int, voters: tuple[int, ...], retries: int = 1) -> None:
        """``retries`` counts the candidate's rounds in a row, this one included."""
        self._voters = voters
        self._votes: dict[int, bool] = {me: True}
        self.retries = retries
        self.backing_off = False
        """Whether it has failed, and waits before the next."""

    def record(self, voter: int, *, granted: bool) -> None:
        """A voter answered; its first word counts."""
        if voter in self._voters:
            self._votes.setdefault(voter, granted)

    def unrecorded(self) -> list[int]:
        """Voters that have not answered."""
        return [voter for voter in self._voters if voter not in self._votes]

    @property
    def won(self) -> bool:
        """Whether a majority granted."""
        return sum(self._votes.values()) > len(self._voters) // 2

    @property
    def lost(self) -> bool:
        """Whether a majority cannot be had any more."""
        return len(self._votes) - sum(self._votes.values()) >= (len(self._voters) + 1) // 2

    def backoff_us(self, config: QuorumConfig, draw: Callable[[int], int]) -> int:
        """How long to hold back (``binaryExponentialElectionBackoffMs``)."""
        rounds = 2 << min(self.retries - 1, _MOST_DOUBLINGS)
        return min(_BACKOFF_US * draw(rounds), config.backoff_max_us)

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return (tuple(self._votes.items()), self.retries, self.backing_off)

    @classmethod
    def loaded(cls, saved: tuple[Any, ...], me: int, voters: tuple[int, ...]) -> "Election":
        """Undo of :meth:`save`."""
        votes, retries, backing_off = saved
        election = cls(me, voters, retries)
        election._votes = dict(votes)
        election.backing_off = backing_off
        return election


def successor_backoff_us(position: int, successors: int, config: QuorumConfig) -> int:
    """How long a successor leaves the others time, the first none (``strictExponentialElectionBackoffMs``)."""
    if position == 0:
        return 0
    if position < 0:
        return config.backoff_max_us
    return min(config.backoff_max_us, (config.backoff_max_us >> (successors - 1)) << (position - 1))
