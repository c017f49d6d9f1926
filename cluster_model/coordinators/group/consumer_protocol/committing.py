"""Who may commit in a group of the consumer protocol, and ask what is committed (``ConsumerGroup.validateOffset...``).

Sans-IO: functions of a group, None where there is no such, and a request.
"""

from typing import Final

from cluster_model.coordinators.group.consumer_protocol.consumer_group import ModernGroup
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import OffsetCommitRequest, OffsetFetchRequest, TxnOffsetCommitRequest

KNOWS_EPOCHS: Final = 9
"""Version of OffsetCommit from which it is a member's by this protocol."""


def may_commit(group: ModernGroup | None, request: OffsetCommitRequest) -> KafkaError | None:
    """Whether a commit is a member's of today; None: no such group.

    A member that tells the version of its request has to use one that knows of epochs (since 3.8).
    """
    if group is None:
        return None
    member_id, epoch = request.member_id, request.generation_id
    if epoch < 0 and not group.members:
        return KafkaError.NONE
    if member_id in group.current and 0 < request.version < KNOWS_EPOCHS:
        return KafkaError.UNSUPPORTED_VERSION
    return _in_step(group, member_id, epoch)


def may_commit_in_transaction(group: ModernGroup | None, request: TxnOffsetCommitRequest) -> KafkaError | None:
    """The same for a transaction's: whoever says to be a member must be one."""
    if group is None:
        return None
    member_id, epoch = request.member_id, request.generation_id
    if epoch < 0 and not (group.members and (member_id or request.group_instance_id)):
        return KafkaError.NONE
    error = _in_step(group, member_id, epoch)
    return KafkaError.ILLEGAL_GENERATION if error is KafkaError.STALE_MEMBER_EPOCH else error


def may_fetch(group: ModernGroup | None, request: OffsetFetchRequest) -> KafkaError:
    """Whether somebody may ask what is committed: everybody who does not claim to be a member."""
    if group is None or (request.member_epoch < 0 and not request.member_id):
        return KafkaError.NONE
    return _in_step(group, request.member_id, request.member_epoch)


def unknown(version: int) -> KafkaError:
    """What a member of a group that nobody knows is told of its commit (``OffsetMetadataManager``)."""
    return KafkaError.GROUP_ID_NOT_FOUND if version >= KNOWS_EPOCHS else KafkaError.ILLEGAL_GENERATION


def _in_step(group: ModernGroup, member_id: str, epoch: int) -> KafkaError:
    current = group.current.get(member_id)
    if current is None:
        return KafkaError.UNKNOWN_MEMBER_ID
    return KafkaError.NONE if current.epoch == epoch else KafkaError.STALE_MEMBER_EPOCH
