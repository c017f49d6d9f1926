"""What voters and observers of a quorum say to each other (KIP-595, KIP-996), under Kafka's names.

A request and its answer have the same ``correlation``. ``error`` is a ``KafkaError``; ``epoch`` and ``leader`` of an
answer are what the answerer knows, NOBODY for no leader.
"""

from typing import NamedTuple

Extent = tuple[int, int, int]
"""(epoch, first offset, offset behind the last): a stretch of what that epoch's leader wrote."""


class VoteRequest(NamedTuple):
    """A candidate asks for a vote; ``pre_vote``: whether it would get one, nothing is promised (KIP-996)."""

    correlation: int
    epoch: int
    candidate: int
    last_epoch: int
    end_offset: int
    pre_vote: bool


class VoteResponse(NamedTuple):
    """The answer."""

    correlation: int
    error: int
    epoch: int
    leader: int
    granted: bool
    pre_vote: bool


class BeginQuorumEpochRequest(NamedTuple):
    """A new leader makes itself known to the voters."""

    correlation: int
    epoch: int
    leader: int


class BeginQuorumEpochResponse(NamedTuple):
    """The answer."""

    correlation: int
    error: int
    epoch: int
    leader: int


class EndQuorumEpochRequest(NamedTuple):
    """A leader resigns; voters that have most of its log come first in ``successors``."""

    correlation: int
    epoch: int
    leader: int
    successors: tuple[int, ...]


class EndQuorumEpochResponse(NamedTuple):
    """The answer."""

    correlation: int
    error: int
    epoch: int
    leader: int


class QuorumFetchRequest(NamedTuple):
    """Fetch of the metadata log. ``last_epoch`` is that of the record before ``offset``, 0 for an empty log.

    ``high_watermark`` is the last one the asker was told by this leader, -1 none; it says whether there is one to tell.
    """

    correlation: int
    replica: int
    epoch: int
    offset: int
    last_epoch: int
    high_watermark: int
    max_wait_us: int


class QuorumFetchResponse(NamedTuple):
    """Its answer. ``diverging``: (epoch, end offset) of the leader's log to cut back to, None where the logs agree."""

    correlation: int
    error: int
    epoch: int
    leader: int
    high_watermark: int
    extents: tuple[Extent, ...]
    diverging: tuple[int, int] | None
