"""What a KRaft controller makes of an event for one partition (``ReplicationControlManager``)."""

from cluster_model.controller.rules.change import Brokers, Change
from cluster_model.controller.rules.kraft_partition_changes import build
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.messages import NOBODY, PartitionState
from cluster_model.protocol.versions import Profile


def broker_gone(
    state: PartitionState,
    broker: int,
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> Change | None:
    """A broker is fenced, or begins its controlled shutdown: it leaves the ISR, and somebody else leads.

    It does not count as active any more, whatever ``active`` says. Nothing if it is not in the ISR.
    """
    if broker not in state.isr:
        return None
    isr = tuple(member for member in state.isr if member != broker)
    return build(
        state, target_isr=isr, active=lambda other: other != broker and active(other), profile=profile, topic=topic,
        by=by, elr=elr,
    )  # fmt: skip


def broker_back(
    state: PartitionState,
    broker: int,
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> Change | None:
    """A broker is unfenced: a partition without a leader may have found one. It counts as active.

    Every such partition is looked at, also where that broker has no replica: before the timer of 3.9 such an event
    brings about the unclean election that has been allowed meanwhile.
    """
    if state.leader != NOBODY:
        return None
    return build(
        state, active=lambda other: other == broker or active(other), profile=profile, topic=topic, by=by, elr=elr
    )


def unclean_shutdown(
    state: PartitionState,
    broker: int,
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> Change | None:
    """A broker registers that had not stopped in good order: its log may be short, so it leaves ISR and ELR (KIP-966).

    Also for a broker that is unregistered for good. Only where KIP-966 is on.
    """
    if broker not in state.isr and broker not in state.elr:
        return None
    isr = tuple(member for member in state.isr if member != broker)
    return build(
        state, target_isr=isr, active=lambda other: other != broker and active(other), profile=profile, topic=topic,
        by=by, elr=elr, unclean_shutdown=(broker,),
    )  # fmt: skip
