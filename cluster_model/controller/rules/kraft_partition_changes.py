"""Changes of a partition after an event in KRaft mode (``PartitionChangeBuilder``), in Kafka's order of steps.

First a reassignment is completed if possible; then the eligible leader replicas (KIP-966) follow from the ISR; then a
leader is elected; then the epochs are set. Every change raises the partition epoch. The leader epoch rises when the
leader field is set, even to the same broker: on an election, when a replica leaves the assignment, and up to 3.5 when
the ISR shrinks.
"""

from dataclasses import dataclass

from cluster_model.controller.rules.partition_change import LAST_KNOWN, Brokers, ElectionMode, PartitionChange
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.protocol.versions import Profile


@dataclass(slots=True)
class _Target:
    """Target state of a partition while it is computed."""

    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    elr: tuple[int, ...]
    last_known: int
    recovering: bool
    leader: int
    unclean: bool = False
    is_last_known: bool = False
    """Whether it is elected as the last known leader."""


def build_change(
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
    """Return the change to the targets (None: unchanged), or None if nothing would change.

    ``active`` brokers can lead: registered, unfenced, not shutting down. ``unclean_shutdown`` are brokers that
    registered after an unclean shutdown. ``elr`` turns KIP-966 on or off; None uses the profile's default.
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
    _complete_reassignment(target, profile)
    if elr_on:
        _populate_elr(target, state, topic.effective_min_isr(profile, len(target.replicas)), unclean_shutdown)
    last_known_leads = _last_known_leads(target, active, profile) if elr_on else False
    _elect(
        target, active, election, elr_on=elr_on, last_known_leads=last_known_leads,
        may_be_unclean=_may_be_unclean(election, topic),
    )  # fmt: skip
    return _changed(state, target, profile, by, elr_on=elr_on)


def _may_be_unclean(election: ElectionMode, topic: TopicConfig) -> bool:
    return election is ElectionMode.UNCLEAN or (election is ElectionMode.ONLINE and topic.unclean)


def _complete_reassignment(target: _Target, profile: Profile) -> None:
    """Complete a reassignment once all remaining replicas are in sync (``PartitionReassignmentReplicas``).

    Up to 3.7 the added ones are enough (KAFKA-15665). Since 4.3 they are enough unless there will be fewer replicas
    (KAFKA-19975).
    """
    if not target.adding and not target.removing:
        return
    isr = tuple(broker for broker in target.isr if broker not in target.removing)
    replicas = tuple(broker for broker in target.replicas if broker not in target.removing)
    by_adding = profile.reassign_by_adding and len(target.adding) >= len(target.removing)
    needed = target.adding if profile.adding_completes or by_adding else replicas
    if isr and replicas and all(broker in isr for broker in needed):
        target.isr, target.replicas = isr, replicas
        target.adding = target.removing = ()


def _populate_elr(target: _Target, state: PartitionState, minimum: int, unclean_shutdown: tuple[int, ...]) -> None:
    """Compute the ELR: below its minimum an ISR commits nothing, so replicas that leave it lack no data (KIP-966)."""
    if len(target.isr) >= minimum:
        target.elr = ()
        return
    target.elr = tuple(
        broker
        for broker in target.replicas
        if (broker in state.elr or broker in state.isr) and broker not in target.isr and broker not in unclean_shutdown
    )


def _last_known_leads(target: _Target, active: Brokers, profile: Profile) -> bool:
    """Whether the last known leader may lead as no replica is eligible; 4.0 elects it even while it is fenced."""
    last = target.last_known
    return not target.isr and not target.elr and last != NO_LEADER and (profile.fenced_last_known or active(last))


def _elect(
    target: _Target,
    active: Brokers,
    election: ElectionMode,
    *,
    elr_on: bool,
    last_known_leads: bool,
    may_be_unclean: bool,
) -> None:
    def valid(broker: int) -> bool:
        known = broker in target.isr or (elr_on and not target.isr and broker in target.elr)
        return known and active(broker)

    if election is ElectionMode.PREFERRED and valid(target.replicas[0]):
        target.leader = target.replicas[0]
    elif not valid(target.leader):
        target.leader = next((broker for broker in target.replicas if valid(broker)), NO_LEADER)
    if target.leader in target.elr and not target.isr:
        target.isr = (target.leader,)
        target.elr = tuple(broker for broker in target.elr if broker != target.leader)
    if target.leader != NO_LEADER:
        return
    if last_known_leads:
        target.leader, target.unclean, target.is_last_known = target.last_known, True, True
    elif may_be_unclean:
        target.leader = next((broker for broker in target.replicas if active(broker)), NO_LEADER)
        target.unclean = target.leader != NO_LEADER


def _changed(
    state: PartitionState, target: _Target, profile: Profile, by: str, *, elr_on: bool
) -> PartitionChange | None:
    """Return the new state with its epochs, None if nothing changes."""
    isr = state.isr
    if target.unclean:
        isr, target.elr = (target.leader,), ()
        target.recovering = profile.recovery_state
    elif target.isr != state.isr and (target.isr or elr_on):
        # Without KIP-966 the last member remains in the ISR, without a leader.
        isr = target.isr
    sets_leader = (
        target.leader != state.leader
        or target.unclean
        or any(broker not in target.replicas for broker in state.replicas)
        or (not profile.no_bump_on_shrink and any(broker not in target.isr for broker in state.isr))
    )
    if not elr_on:
        target.elr, target.last_known = (), NO_LEADER
    elif sets_leader:
        target.last_known = _last_known(state, target.leader)
    result = state._replace(
        leader=target.leader, isr=isr, replicas=target.replicas, adding=target.adding, removing=target.removing,
        elr=target.elr, last_known=target.last_known, recovering=target.recovering,
    )  # fmt: skip
    if result == state and not sets_leader:
        return None
    if sets_leader and result.leader != NO_LEADER:
        # A record that sets a leader clears the last known one (maybeUpdateLastKnownLeader).
        result = result._replace(last_known=NO_LEADER)
    epoch, partition_epoch = state.leader_epoch + sets_leader, state.partition_epoch + 1
    why = f"{by}, {LAST_KNOWN}" if target.is_last_known else by
    return PartitionChange(
        result._replace(leader_epoch=epoch, partition_epoch=partition_epoch), why, clean=not target.unclean
    )


def _last_known(state: PartitionState, leader: int) -> int:
    """Last known leader after a change of the leader: kept from the loss of the leader until there is another."""
    if leader != NO_LEADER:
        return NO_LEADER
    return state.leader if state.last_known == NO_LEADER else state.last_known


# Changes of one partition after an event (``ReplicationControlManager``).


def broker_fenced(
    state: PartitionState,
    broker: int,
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> PartitionChange | None:
    """Remove a broker that is fenced or starts its controlled shutdown from the ISR, and elect another leader.

    The broker counts as inactive, whatever ``active`` returns. None if it is not in the ISR.
    """
    if broker not in state.isr:
        return None
    isr = tuple(member for member in state.isr if member != broker)
    return build_change(
        state, target_isr=isr, active=lambda candidate: candidate != broker and active(candidate), profile=profile,
        topic=topic, by=by, elr=elr,
    )  # fmt: skip


def broker_unfenced(
    state: PartitionState,
    broker: int,
    *,
    active: Brokers,
    profile: Profile,
    topic: TopicConfig,
    by: str,
    elr: bool | None = None,
) -> PartitionChange | None:
    """Elect a leader for a partition that has none after a broker is unfenced, which counts as active.

    Every such partition is checked, even without a replica on that broker: before the timer of 3.9 such an event
    triggers an unclean election that was allowed in the meantime.
    """
    if state.leader != NO_LEADER:
        return None
    return build_change(
        state,
        active=lambda candidate: candidate == broker or active(candidate),
        profile=profile,
        topic=topic,
        by=by,
        elr=elr,
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
    """Remove a broker from ISR and ELR after an unclean shutdown, because its log may lack records (KIP-966).

    Also used for a broker that is unregistered permanently. Only with KIP-966.
    """
    if broker not in state.isr and broker not in state.elr:
        return None
    isr = tuple(member for member in state.isr if member != broker)
    return build_change(
        state, target_isr=isr, active=lambda candidate: candidate != broker and active(candidate), profile=profile,
        topic=topic, by=by, elr=elr, unclean_shutdown=(broker,),
    )  # fmt: skip
