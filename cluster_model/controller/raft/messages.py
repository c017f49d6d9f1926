"""Messages between voters and observers of a quorum (KIP-595, KIP-996), named after Kafka's.

A request and its response have the same ``correlation``. ``error`` is a ``KafkaError``; ``epoch`` and ``leader`` of a
response are those that the responding node knows, NO_LEADER for no leader.
"""

from typing import NamedTuple

Extent = tuple[int, int, int]
"""(epoch, first offset, end offset): a range of records written by the leader of one epoch."""


class VoteRequest(NamedTuple):
    """Request of a candidate for a vote; ``pre_vote``: whether it would get one, without any commitment (KIP-996)."""

    correlation_id: int
    epoch: int
    candidate: int
    last_epoch: int
    end_offset: int
    pre_vote: bool


class VoteResponse(NamedTuple):
    """Response to a vote request, or to a pre-vote request."""

    correlation_id: int
    error: int
    epoch: int
    leader: int
    granted: bool
    pre_vote: bool


class BeginQuorumEpochRequest(NamedTuple):
    """Announcement of a new leader to the voters."""

    correlation_id: int
    epoch: int
    leader: int


class BeginQuorumEpochResponse(NamedTuple):
    """Response of a voter to the announcement of a leader."""

    correlation_id: int
    error: int
    epoch: int
    leader: int


class EndQuorumEpochRequest(NamedTuple):
    """Resignation of a leader; ``successors`` are the voters, most complete log first."""

    correlation_id: int
    epoch: int
    leader: int
    successors: tuple[int, ...]


class EndQuorumEpochResponse(NamedTuple):
    """Response of a voter to a leader's resignation."""

    correlation_id: int
    error: int
    epoch: int
    leader: int


class QuorumFetchRequest(NamedTuple):
    """Fetch of the metadata log. ``last_epoch`` is that of the record before ``offset``, 0 for an empty log.

    ``high_watermark`` is the last one that this leader sent to the fetching node, -1 for none; the leader compares it
    with its own.
    """

    correlation_id: int
    replica: int
    epoch: int
    offset: int
    last_epoch: int
    high_watermark: int
    max_wait_us: int
    awaits_high_watermark: bool = True
    """Whether the request carries ``high_watermark``, so that a newer one alone answers it (Fetch 18, KIP-1166)."""


class QuorumFetchResponse(NamedTuple):
    """Response to a fetch. ``diverging``: (epoch, end offset) to truncate to, None where the logs agree."""

    correlation_id: int
    error: int
    epoch: int
    leader: int
    high_watermark: int
    extents: tuple[Extent, ...]
    diverging: tuple[int, int] | None
