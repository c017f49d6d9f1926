"""How a KRaft controller changes a partition after an event (``PartitionChangeBuilder``), in its exact order.

A reassignment that can be completed is; then the eligible leader replicas (KIP-966) follow from the ISR; then a leader
is looked for; then the epochs. Every change raises the partition epoch. The leader epoch rises where the leader field
is set, be it to the same broker: on an election, when a replica leaves the assignment, and up to 3.5 when the ISR
shrinks.
"""

from dataclasses import dataclass

from cluster_model.controller.rules.partition_change import LAST_KNOWN, Brokers, ElectionMode, PartitionChange
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.messages import NOBODY, PartitionState
from cluster_model.protocol.versions import Profile


@dataclass(slots=True)
class _Target:
    """Where a partition is to go, while it is being worked out."""

    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    elr: tuple[int, ...]
    last_known: int
    recovering: bool
    leader: int
    unclean: bool = False
    led_last: bool = False
    """Whether it is elected for having led last."""


def build(
    state: PartitionState,
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    target_isr: tuple[int, ...] | None = None,
    target_replicas: tuple[int, ...] | None = None,
    target_adding: tuple[int, ...] | None = None,
    target_removing: tuple[int, ...] | None = None,
    target_recovering: bool | None = None,
    election: ElectionMode = ElectionMode.ONLINE,
    unclean_shutdown: tuple[int, ...] = (),
    elr: bool | None = None,
) -> PartitionChange | None:
    """The change that leads to the targets (None: as it is), or None if nothing would be another.

    ``active`` brokers may lead: registered, unfenced, not shutting down. ``unclean_shutdown`` are brokers that came
    back without having stopped in good order. ``elr`` turns KIP-966 on or off; None goes by the profile.
    """
    elr_on = profile.elr if elr is None else elr
    target = _Target(
        state.isr if target_isr is None else target_isr,
        state.replicas if target_replicas is None else target_replicas,
        state.adding if target_adding is None else target_adding,
        state.removing if target_removing is None else target_removing,
        state.elr,
        state.last_known,
        state.recovering if target_recovering is None else target_recovering,
        state.leader,
    )
    _complete_reassignment(target)
    if elr_on:
        _populate_elr(target, state, topic.effective_min_isr(profile, len(target.replicas)), unclean_shutdown)
    _elect(target, active, election, elr_on=elr_on, may_be_unclean=_may_be_unclean(election, topic))
    return _changed(state, target, profile, by, elr_on=elr_on)


def _may_be_unclean(election: ElectionMode, topic: TopicConfig) -> bool:
    return election is ElectionMode.UNCLEAN or (election is ElectionMode.ONLINE and topic.unclean)


def _complete_reassignment(target: _Target) -> None:
    """Once everyone who stays is in sync, those who leave go (``PartitionReassignmentReplicas``)."""
    if not target.adding and not target.removing:
        return
    isr = tuple(broker for broker in target.isr if broker not in target.removing)
    replicas = tuple(broker for broker in target.replicas if broker not in target.removing)
    if isr and replicas and all(broker in isr for broker in replicas):
        target.isr, target.replicas = isr, replicas
        target.adding = target.removing = ()


def _populate_elr(target: _Target, state: PartitionState, minimum: int, unclean_shutdown: tuple[int, ...]) -> None:
    """While the ISR is below its minimum nothing is committed, so whoever leaves it lacks nothing (KIP-966)."""
    if len(target.isr) >= minimum:
        target.elr, target.last_known = (), NOBODY
        return
    target.elr = tuple(
        broker
        for broker in target.replicas
        if (broker in state.elr or broker in state.isr) and broker not in target.isr and broker not in unclean_shutdown
    )


def _elect(target: _Target, active: Brokers, election: ElectionMode, *, elr_on: bool, may_be_unclean: bool) -> None:
    def valid(broker: int) -> bool:
        known = broker in target.isr or (elr_on and not target.isr and broker in target.elr)
        return known and active(broker)

    if election is ElectionMode.PREFERRED and valid(target.replicas[0]):
        target.leader = target.replicas[0]
    elif not valid(target.leader):
        target.leader = next((broker for broker in target.replicas if valid(broker)), NOBODY)
    if target.leader == NOBODY:
        if election is not ElectionMode.PREFERRED:
            _elect_unclean(target, active, elr_on=elr_on, may_be_unclean=may_be_unclean)
    elif target.leader in target.elr and not target.isr:
        target.isr = (target.leader,)
        target.elr = tuple(broker for broker in target.elr if broker != target.leader)


def _elect_unclean(target: _Target, active: Brokers, *, elr_on: bool, may_be_unclean: bool) -> None:
    """Nobody is known to hold all that is committed: the last known leader, or whoever lives where that is allowed."""
    last = target.last_known
    if elr_on and not target.isr and not target.elr and last in target.replicas and active(last):
        target.leader, target.unclean, target.led_last = last, True, True
    elif may_be_unclean:
        target.leader = next((broker for broker in target.replicas if active(broker)), NOBODY)
        target.unclean = target.leader != NOBODY


def _changed(
    state: PartitionState, target: _Target, profile: Profile, by: str, *, elr_on: bool
) -> PartitionChange | None:
    """The record, with its epochs."""
    isr = state.isr
    if target.unclean:
        isr, target.elr, target.last_known = (target.leader,), (), NOBODY
        target.recovering = profile.recovery_state
    elif sorted(target.isr) != sorted(state.isr) and (target.isr or elr_on):
        # Without KIP-966 the last member stays, leaderless.
        isr = target.isr
    if not elr_on:
        target.elr, target.last_known = (), NOBODY
    elif state.isr and not isr and state.leader != NOBODY:
        target.last_known = state.leader
    sets_leader = (
        target.leader != state.leader
        or target.unclean
        or any(broker not in target.replicas for broker in state.replicas)
        or (not profile.no_bump_on_shrink and any(broker not in isr for broker in state.isr))
    )
    found = state._replace(
        leader=target.leader, isr=isr, replicas=target.replicas, adding=target.adding, removing=target.removing,
        elr=target.elr, last_known=target.last_known, recovering=target.recovering,
    )  # fmt: skip
    if found == state and not sets_leader:
        return None
    epoch, partition_epoch = state.leader_epoch + sets_leader, state.partition_epoch + 1
    why = f"{by}, {LAST_KNOWN}" if target.led_last else by
    return PartitionChange(
        found._replace(leader_epoch=epoch, partition_epoch=partition_epoch), why, clean=not target.unclean
    )


# Changes of one partition after an event (``ReplicationControlManager``).


def broker_gone(
    state: PartitionState,
    broker: int,
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> PartitionChange | None:
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
) -> PartitionChange | None:
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
) -> PartitionChange | None:
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
