"""Elections that an administrator asks for (ELECT_LEADERS, KIP-460), in both modes. Pure."""

from cluster_model.controller.rules.change import Brokers, Change, Election
from cluster_model.controller.rules.kraft_partition_changes import build
from cluster_model.controller.rules.zk_partition_changes import offline_election, preferred_election
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import NOBODY, PartitionState
from cluster_model.protocol.versions import Profile


def asked_kraft(
    state: PartitionState,
    *,
    unclean: bool,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> Change | KafkaError:
    """An election of the preferred replica, or of any active one for a partition without a leader; or why not."""
    if not _is_needed(state, unclean=unclean):
        return KafkaError.ELECTION_NOT_NEEDED
    election = Election.UNCLEAN if unclean else Election.PREFERRED
    change = build(state, election=election, active=active, profile=profile, topic=topic, by=by, elr=elr)
    return change if change is not None and change.state.leader != NOBODY else _nobody(unclean=unclean)


def asked_zk(
    state: PartitionState, *, unclean: bool, live: Brokers, profile: Profile, topic: TopicConfig, by: str
) -> Change | KafkaError:
    """The same in ZooKeeper mode, where the leader may also be one that has just died."""
    if not _is_needed(state, unclean=unclean) and (not unclean or live(state.leader)):
        return KafkaError.ELECTION_NOT_NEEDED
    if unclean:
        change = offline_election(state, live=live, profile=profile, topic=topic, by=by, unclean=True)
    else:
        change = preferred_election(state, live=live, by=by)
    return _nobody(unclean=unclean) if change is None else change


def _is_needed(state: PartitionState, *, unclean: bool) -> bool:
    return state.leader == NOBODY if unclean else state.leader != state.replicas[0]


def _nobody(*, unclean: bool) -> KafkaError:
    return KafkaError.ELIGIBLE_LEADERS_NOT_AVAILABLE if unclean else KafkaError.PREFERRED_LEADER_NOT_AVAILABLE
