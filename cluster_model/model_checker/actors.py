"""Replicas of the model, put into a state, for one step: load, act, freeze.

They are the objects that the timed and the hand-stepped cluster run, so that what is explored is what is shown.
"""

from typing import Final

from cluster_model.broker.fetch.fetch_reads import check_epoch, epoch_end, serve_fetch
from cluster_model.broker.offsets import list_offset
from cluster_model.broker.partition.following import Following
from cluster_model.broker.partition.leadership import Leadership
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.log.batch_store import Lineages
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.model_checker.shape import Decision, Entry, Local
from cluster_model.protocol.batch import Batch
from cluster_model.protocol.configs import BrokerConfig, TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import (
    LATEST,
    FetchData,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
    PartitionState,
    ProduceRequest,
)
from cluster_model.protocol.versions import Profile

PARTITION: Final = "p-0"
_NOW: Final = 0
_UNLIMITED: Final = 1 << 40


class Actors:
    """Makes replicas of one version that stand as they are told to."""

    def __init__(self, profile: Profile, replicas: int) -> None:
        self.profile = profile
        self.ids = tuple(range(replicas))
        self._config = BrokerConfig.of(profile, {})
        self._topic = TopicConfig.of(profile, {}, {})

    def put(self, broker: int, local: Local, lineages: Lineages | None = None) -> Replica:
        """A replica in that state; those that exchange records share their lineages."""
        metadata = BrokerMetadata()
        shared = Lineages() if lineages is None else lineages
        metadata.live = dict.fromkeys(self.ids, 0)
        replica = Replica(
            broker, PARTITION, self.ids, self.profile, self._config, self._topic, shared, metadata, _unheard
        )
        replica.by_hand = True
        if local.leader == broker:
            start = local.start
            _fill(replica, local.log[:start])
            replica.hw = min(local.hw, start)
            replica.apply(self.state(Decision(broker, local.isr), local.epoch), _NOW)
            for _epoch, number in local.log[start:]:
                append(replica, number)
        else:
            _fill(replica, local.log)
            if local.epoch >= 0:
                replica.leader, replica.leader_epoch, replica.partition_epoch = local.leader, local.epoch, local.epoch
                replica.following = Following(replica)
        replica.hw = local.hw
        return replica

    def state(self, decision: Decision, epoch: int) -> PartitionState:
        """A decision as brokers are told it."""
        return PartitionState(PARTITION, decision.leader, epoch, decision.isr, epoch, self.ids)


def _unheard(_event: Event) -> None:
    """Nobody listens."""


def _fill(replica: Replica, log: tuple[Entry, ...]) -> None:
    lineage = None
    for base, (epoch, number) in enumerate(log):
        if lineage is None or lineage.epoch != epoch:
            lineage = replica.log.lineages.begin(replica.broker, epoch, base)
        replica.log.append_batch(lineage, Batch(base, 1, 1, _NOW, "", -1, number, 1))


def append(replica: Replica, number: int) -> None:
    """A record is written to one that leads."""
    leading(replica).append(_NOW, ProduceRequest(0, PARTITION, 1, 0, "", -1, number, 1, 1))


def leading(replica: Replica) -> Leadership:
    """Its leadership, which it must have."""
    assert replica.leadership is not None
    return replica.leadership


def settle(replica: Replica, source: Replica) -> bool:
    """A new follower makes its log agree with its leader's by the rule of its version; False where it is refused."""
    following = replica.following
    assert following is not None
    while following.truncating:
        answer = epoch_end(source, *following.epoch_question())
        following.epoch_answer(_NOW, answer)
        if answer.error:
            return False
    if not replica.profile.kip_320:
        return True
    while True:
        asked = following.question()
        if check_epoch(source, asked.current_leader_epoch) is not KafkaError.NONE or source.leadership is None:
            return False
        data = _served(replica, source, asked)
        if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
            return _sought(replica, source, asked, data)
        if data.error or data.diverging is None:
            return not data.error
        following.answer(_NOW, asked, data)


def fetch(replica: Replica, source: Replica) -> bool:
    """A follower fetches one record, or where its leader's log ends if that is before its own; False if refused."""
    following = replica.following
    assert following is not None
    asked = following.question()
    data = _served(replica, source, asked)
    if data.error == KafkaError.OFFSET_OUT_OF_RANGE:
        return _sought(replica, source, asked, data)
    if data.error:
        return False
    following.answer(_NOW, asked, data)
    return True


def _served(replica: Replica, source: Replica, asked: FetchPartition) -> FetchData:
    request = FetchRequest(0, replica.broker, -1, 0, _UNLIMITED, (asked,))
    data = serve_fetch(source, request, asked, _NOW, (), book=False)
    if data.records.end - data.records.start > 1:
        data = data._replace(records=source.log.read(asked.offset, asked.offset + 1, _UNLIMITED))
    return data


def _sought(replica: Replica, source: Replica, asked: FetchPartition, refused: FetchData) -> bool:
    """Out of range: the follower asks where its leader's log ends, and goes there."""
    following = replica.following
    assert following is not None
    following.answer(_NOW, asked, refused)
    request = ListOffsetsRequest(0, PARTITION, LATEST, asked.current_leader_epoch, replica.broker)
    error, offset, _stamp = list_offset(source, check_epoch(source, asked.current_leader_epoch), request, _NOW)
    following.offset_answer(_NOW, error, offset)
    return not error


def book(source: Replica, follower: int, asked: FetchPartition) -> bool:
    """A leader counts a follower's fetch as news of it, if it takes it."""
    request = FetchRequest(0, follower, -1, 0, _UNLIMITED, (asked,))
    data = serve_fetch(source, request, asked, _NOW, (), book=True)
    return not data.error and data.diverging is None


def question(profile: Profile, local: Local, offset: int) -> FetchPartition:
    """What a follower in that state asks, or asked when its log ended at ``offset``."""
    current = local.epoch if profile.kip_320 else UNDEFINED
    last = local.log[offset - 1][0] if profile.diverging_fetch and offset else UNDEFINED
    return FetchPartition(PARTITION, offset, current, last, 0)
