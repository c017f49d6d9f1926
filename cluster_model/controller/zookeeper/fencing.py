"""Which requests of a controller a broker obeys (``ReplicaManager``, ``KafkaApis``). Pure."""

from collections.abc import Mapping

from cluster_model.controller.zookeeper.messages import DELETE_EPOCH, ControlRequest, StoppedReplica
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import PartitionState


def judge_request(request: ControlRequest, controller_epoch: int, broker_epoch: int) -> KafkaError:
    """Whether it is of a controller of the past, or for a process of the past (KIP-380, from 2.2 on)."""
    if request.controller_epoch < controller_epoch:
        return KafkaError.STALE_CONTROLLER_EPOCH
    if request.broker_epoch != -1 and request.broker_epoch < broker_epoch:
        return KafkaError.STALE_BROKER_EPOCH
    return KafkaError.NONE


def judge_state(state: PartitionState, broker: int, known: Mapping[str, int]) -> KafkaError:
    """One partition of a LeaderAndIsr, ``known`` being the leader epochs here: only a greater one is news."""
    if state.leader_epoch <= known.get(state.partition, -1):
        return KafkaError.STALE_CONTROLLER_EPOCH
    if broker not in state.replicas:
        return KafkaError.UNKNOWN_TOPIC_OR_PARTITION
    return KafkaError.NONE


def judge_stop(stopped: StoppedReplica, known: Mapping[str, int]) -> KafkaError:
    """One partition of a StopReplica; one that deletes its topic, or comes from before 2.6, is never stale."""
    if stopped.leader_epoch in (-1, DELETE_EPOCH):
        return KafkaError.NONE
    stale = stopped.leader_epoch < known.get(stopped.partition, -1)
    return KafkaError.FENCED_LEADER_EPOCH if stale else KafkaError.NONE
