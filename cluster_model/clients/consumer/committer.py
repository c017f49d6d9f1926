"""Who commits: what commits have to know of a member, whatever protocol it goes by."""

from typing import Protocol

from cluster_model.protocol.errors import KafkaError


class Committer(Protocol):
    """A member of a group."""

    group: str

    @property
    def state(self) -> int:
        """``membership.STABLE`` while it may commit."""

    @property
    def rebalancing(self) -> bool:
        """Whether it may not because of a rebalance."""

    @property
    def generation(self) -> int:
        """Its generation, or its epoch."""

    @property
    def member_id(self) -> str:
        """Its id."""

    def request_rejoin(self) -> None:
        """A commit was answered REBALANCE_IN_PROGRESS."""

    def refused(self, error: KafkaError, now: int) -> None:
        """A commit was answered that this is no member of today."""
