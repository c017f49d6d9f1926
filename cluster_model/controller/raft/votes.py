"""How a node answers the messages of elections, and what it makes of the answers (KIP-595, KIP-996)."""

from cluster_model.controller.raft.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from cluster_model.controller.raft.raft import RaftNode, Role
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY

_Answer = VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse


def vote(node: RaftNode, request: VoteRequest, now: int) -> VoteResponse:
    """Answer a candidate: granted to one whose log is not behind, once in an epoch (``handleVoteRequest``)."""
    if request.epoch > node.epoch:
        node.learn(request.epoch, NOBODY, now)
    error = KafkaError.FENCED_LEADER_EPOCH if request.epoch < node.epoch else KafkaError.NONE
    granted = not error and may_vote(node, request)
    if granted and not request.pre_vote:
        node.grant(request.candidate, now)
    return VoteResponse(request.correlation, error, node.epoch, node.leader, granted, request.pre_vote)


def may_vote(node: RaftNode, request: VoteRequest) -> bool:
    """Whether a candidate of this node's own epoch gets its vote (``EpochState.canGrantVote``)."""
    ahead = (request.last_epoch, request.end_offset) >= (node.log.last_epoch, node.log.end)
    if not node.voter or node.role is Role.LEADER:
        return False
    if request.pre_vote:
        return ahead and not (node.role is Role.FOLLOWER and node.heard)
    if node.role in (Role.FOLLOWER, Role.RESIGNED) or (node.role is Role.PROSPECTIVE and node.leader != NOBODY):
        return False
    if node.voted != NOBODY:
        return node.voted == request.candidate
    return ahead


def _expected(node: RaftNode, voter: int, response: _Answer, now: int) -> bool:
    """Whether the answer is to the request under way; what it knows of epochs is believed."""
    if not node.connections.expects(voter, response.correlation):
        return False
    node.connections.answered(voter)
    node.learn(response.epoch, response.leader, now)
    return True


def voted(node: RaftNode, voter: int, response: VoteResponse, now: int) -> None:
    """A voter answered (``handleVoteResponse``)."""
    if not _expected(node, voter, response, now):
        return
    asked = Role.PROSPECTIVE if response.pre_vote else Role.CANDIDATE
    if node.role is asked:
        node.count(voter, now, granted=response.granted)


def begin(node: RaftNode, request: BeginQuorumEpochRequest, now: int) -> BeginQuorumEpochResponse:
    """A leader makes itself known."""
    if request.epoch < node.epoch:
        return BeginQuorumEpochResponse(request.correlation, KafkaError.FENCED_LEADER_EPOCH, node.epoch, node.leader)
    node.learn(request.epoch, request.leader, now)
    return BeginQuorumEpochResponse(request.correlation, KafkaError.NONE, node.epoch, node.leader)


def begun(node: RaftNode, voter: int, response: BeginQuorumEpochResponse, now: int) -> None:
    """A voter knows the leader, or a newer epoch."""
    if not _expected(node, voter, response, now):
        return
    if node.leading is not None and not response.error and response.epoch == node.epoch:
        node.leading.unaware.pop(voter, None)


def end(node: RaftNode, request: EndQuorumEpochRequest, now: int) -> EndQuorumEpochResponse:
    """A leader resigns."""
    if request.epoch < node.epoch:
        return EndQuorumEpochResponse(request.correlation, KafkaError.FENCED_LEADER_EPOCH, node.epoch, node.leader)
    node.learn(request.epoch, request.leader, now)
    node.succeed(request.leader, request.successors, now)
    return EndQuorumEpochResponse(request.correlation, KafkaError.NONE, node.epoch, node.leader)


def ended(node: RaftNode, voter: int, response: EndQuorumEpochResponse, now: int) -> None:
    """A voter knows that this leader resigned, or a newer epoch."""
    if not _expected(node, voter, response, now):
        return
    if node.role is Role.RESIGNED and response.epoch == node.epoch:
        node.unaware.pop(voter, None)
