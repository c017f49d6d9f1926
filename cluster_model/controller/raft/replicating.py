"""Fetches of the metadata log: what a leader answers, and what a follower or observer makes of it (KIP-595)."""

from cluster_model.controller.raft.config import FETCH_WAIT_US
from cluster_model.controller.raft.messages import QuorumFetchRequest, QuorumFetchResponse
from cluster_model.controller.raft.raft import RaftNode, Role
from cluster_model.protocol.errors import KafkaError


def question(node: RaftNode, correlation: int, high_watermark: int) -> QuorumFetchRequest:
    """What a node asks next; ``high_watermark`` is the last that this leader told it, -1 none."""
    log = node.log
    return QuorumFetchRequest(
        correlation, node.id, node.epoch, log.end, log.last_epoch, high_watermark, FETCH_WAIT_US
    )  # fmt: skip


def told_high_watermark(node: RaftNode) -> int:
    """The HW that a leader tells, -1 while none of its own epoch's records is committed."""
    return -1 if node.leading is None else node.leading.high_watermark


def refusal(node: RaftNode, request: QuorumFetchRequest) -> KafkaError:
    """Why a fetch is not served, NONE if it is (``validateLeaderOnlyRequest``)."""
    if request.epoch < node.epoch:
        return KafkaError.FENCED_LEADER_EPOCH
    if request.epoch > node.epoch:
        return KafkaError.UNKNOWN_LEADER_EPOCH
    return KafkaError.NONE if node.leading is not None else KafkaError.NOT_LEADER_OR_FOLLOWER


def diverges(node: RaftNode, request: QuorumFetchRequest) -> tuple[int, int] | None:
    """Where to the asker must cut its log back first, None if it is a beginning of the leader's."""
    epoch, end = node.log.end_of(request.last_epoch)
    if epoch == request.last_epoch and request.offset <= end:
        return None
    return epoch, end


def answer(node: RaftNode, request: QuorumFetchRequest) -> QuorumFetchResponse:
    """What there is to say to a fetch now; it says nothing new where :func:`says_something` is False."""
    error = refusal(node, request)
    diverging = None if error else diverges(node, request)
    log = node.log
    extents = () if error or diverging is not None else log.extents(request.offset, log.end)
    return QuorumFetchResponse(
        request.correlation, error, node.epoch, node.leader, told_high_watermark(node), extents, diverging
    )  # fmt: skip


def says_something(response: QuorumFetchResponse) -> bool:
    """Whether it is sent at once. A newer HW alone waits for the next records, or the end of the wait."""
    return bool(response.error or response.extents or response.diverging is not None)


def fetched(node: RaftNode, source: int, response: QuorumFetchResponse, now: int) -> bool:
    """Take an answer; False where it was none of the leader's (``handleFetchResponse``)."""
    node.learn(response.epoch, response.leader, now)
    if response.error or node.role is not Role.FOLLOWER:
        return False
    if response.epoch != node.epoch or node.leader != source:
        return False
    node.follow_on(now)
    log = node.log
    if response.diverging is not None:
        if log.cut(response.diverging) < node.high_watermark:
            raise ValueError(f"node {node.id} would cut its log to {log.end}, below its HW {node.high_watermark}")
    else:
        log.take(response.extents)
    node.high_watermark = max(node.high_watermark, min(response.high_watermark, log.end))
    return True
