"""Faults of clients: load, poll stalls, failing handlers, rejoins, lost acknowledgements, zombie producers."""

from typing import Any, Final

from cluster_model.clients.consumer.record_handler import (
    CLOSE,
    CONFIGURED,
    CRASH,
    DEAD_LETTER,
    REACTIONS,
    RETRY,
    SKIP,
    THROWN,
    WHOLE,
    HandlerFault,
)
from cluster_model.clients.producer import ProducerConfig, TransactionalProducer
from cluster_model.cluster import Cluster
from cluster_model.kernel import ProcessState
from cluster_model.spec import GroupSpec
from cluster_model.util.deterministic_math import partition_for_key
from cluster_model.util.quantities import counted, exact_duration, percent
from faults.declarations.fault import (
    MS,
    PERCENT,
    SECOND,
    ActiveFault,
    Alias,
    Behaviour,
    ExpectedImpact,
    Fault,
    FaultContext,
    FaultError,
    Param,
    ResolvedTarget,
    table,
)
from faults.declarations.impact import each_of, impact_without_leader_change, names, slow_impact
from faults.declarations.targets import TARGET_STREAM
from faults.kinds.process import require_up

# Processes that exit by themselves and are restarted.


def restart_after_exit(context: FaultContext, node: int) -> None:
    """Restart a process that has exited by itself, at once or as soon as it has exited.

    A consumer takes time to close. A process that another fault is shutting down is restarted by that fault.
    """
    lives = context.cluster.processes
    if not context.cluster.is_up(node):
        context.restart(node)
    elif not lives.is_leaving(node):
        lives.start_again(node)


# Common to application faults: removed from each client when the fault heals.


class ClientBehaviour(Behaviour):
    """Base of faults whose healing removes their effects from each client."""

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Remove the effects of this fault from each client."""
        for node in active_fault.nodes:
            context.cluster.clients.faults.lift(node, active_fault.id)


# Group membership: rejoin storms and duplicate instance ids.


LEAVE: Final = "leave"
RESTART: Final = "restart"
EVEN: Final = "even"
RANDOM: Final = "random"
GAPS: Final = "rejoin storm"
"""Random stream for gaps."""
FENCED: Final = ("FencedInstanceIdException", "UnreleasedInstanceIdException")
"""Exceptions of a member whose ``group.instance.id`` another member uses."""


class RejoinStorm(Behaviour):
    """Repeated leaving and rejoining of members, one after another."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse consumers without a group coordinator."""
        for node in resolved.nodes:
            if context.cluster.consumers[context.cluster.name_of(node)].coordination is None:
                raise FaultError(
                    f"{context.cluster.name_of(node)} is in no group: its partitions are assigned manually",
                    code="not_in_a_group",
                )

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Let the first member leave at once."""
        active_fault.memo["turn"] = 0
        self.on_timer(context, active_fault)

    def on_timer(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Let the next member leave, unless it is down, paused or already leaving."""
        turn = int(active_fault.memo["turn"])
        active_fault.memo["turn"] = turn + 1
        node = active_fault.nodes[turn % len(active_fault.nodes)]
        cluster = context.cluster
        if cluster.state_of(node) is ProcessState.RUNNING and not cluster.processes.is_leaving(node):
            if active_fault.params["method"] == LEAVE:
                context.release_process(node)
                cluster.shutdown(node)
                cluster.processes.start_again(node)
            else:
                context.release_process(node)
                cluster.crash(node)
                context.restart(node)
        every = int(active_fault.params["every"])
        random = active_fault.params["gaps"] == RANDOM
        context.schedule(active_fault, 1 + cluster.stream(GAPS).below(2 * every) if random else every)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Do nothing: no other member leaves, and a leaving member restarts as planned."""

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return how often the group would rebalance."""
        hit = tuple([cluster.clients.names[node] for node in resolved.nodes])
        groups = ", ".join(dict.fromkeys(cluster.consumers[name].group for name in hit))
        if resolved.params["method"] == LEAVE and cluster.clients.instance_of(resolved.nodes[0]):
            return impact_without_leader_change(
                f"{groups} does not rebalance: static members that close do not leave", hit
            )
        every = exact_duration(int(resolved.params["every"]))
        return impact_without_leader_change(f"{groups} rebalances every {every}, each time for all of its members", hit)


class DuplicateInstance(Behaviour):
    """Second process with the ``group.instance.id`` of another member."""

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Determine the member whose id is used."""
        cluster = context.cluster
        members = context.targets(str(resolved.params["member"]))
        if len(members) != 1 or not cluster.clients.instance_of(members[0]):
            shown = ", ".join(cluster.name_of(node) for node in members)
            raise FaultError(
                f"duplicate_instance: member must be one static member, found {shown}", code="no_static_member"
            )
        params: dict[str, Any] = dict(resolved.params)
        params["member"] = f"client({cluster.name_of(members[0])})"
        return ResolvedTarget(resolved.nodes, params, resolved.links)

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require two different static members of one group."""
        cluster = context.cluster
        (member,) = context.targets(str(resolved.params["member"]))
        for node in resolved.nodes:
            name, other = cluster.name_of(node), cluster.name_of(member)
            if node == member:
                raise FaultError(f"{name} has its own group.instance.id already", code="own_instance_id")
            if cluster.consumers[name].group != cluster.consumers[other].group:
                raise FaultError(f"{name} and {other} are in different groups", code="different_groups")

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Restart the target with the other member's id."""
        (member,) = context.targets(str(active_fault.params["member"]))
        active_fault.memo["member"] = member
        clients = context.cluster.clients
        for node in active_fault.nodes:
            clients.faults.claim(node, active_fault.id, clients.instance_of(member))
            _start_anew(context, node)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Restart the target with its own id, and also a member that was fenced."""
        cluster = context.cluster
        for node in active_fault.nodes:
            cluster.clients.faults.lift(node, active_fault.id)
            if cluster.is_up(node) or _fenced(cluster, node):
                _start_anew(context, node)
            else:
                cluster.clients.renew(node)
        member = int(active_fault.memo["member"])
        if _fenced(cluster, member):
            restart_after_exit(context, member)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return which of the two members is fenced."""
        given = resolved.params["member"]
        other = str(given).removeprefix("client(").removesuffix(")") if given else "the other"
        targets = [cluster.clients.names[node] for node in resolved.nodes]
        hit = (*targets, other) if given else tuple(targets)
        subject = each_of(cluster, resolved.nodes)
        coordination = cluster.consumers[targets[0]].coordination
        if coordination is not None and coordination.settings.consumer_protocol:
            return impact_without_leader_change(
                f"{subject} is rejected while {other} is alive, and exits (UNRELEASED_INSTANCE_ID)", hit
            )
        return impact_without_leader_change(
            f"{subject} replaces {other}, which is fenced at its next heartbeat and exits", hit
        )


def _start_anew(context: FaultContext, node: int) -> None:
    """Shut a process down cleanly, so that its own id is released (KIP-848), and start the next one."""
    cluster = context.cluster
    if cluster.state_of(node) is ProcessState.RUNNING:
        if not cluster.processes.is_leaving(node):
            context.release_process(node)
            cluster.shutdown(node)
        cluster.processes.start_again(node)
        return
    if cluster.is_up(node):
        context.release_process(node)
        cluster.crash(node)
    else:
        cluster.clients.renew(node)
    context.restart(node)


def _fenced(cluster: Cluster, node: int) -> bool:
    return cluster.consumers[cluster.name_of(node)].failed in FENCED


MEMBERSHIP_FAULTS: Final = table(
    Fault(
        name="rejoin_storm",
        letter="J",
        title="rejoin storm",
        family="clients",
        summary="One after another, the members leave their group and rejoin it as new members, over and over.",
        params=(
            Param("every", "duration", "From one member's turn to the next.", default=5 * SECOND, low=100_000),
            Param(
                "method",
                "choice",
                "How a member leaves: it closes its consumer and creates a new one, or its process is killed and "
                "restarted.",
                default=LEAVE,
                choices=(LEAVE, RESTART),
                old="how",
            ),
            Param(
                "gaps", "choice", "Equal gaps, or random gaps with the same mean.", default=EVEN, choices=(EVEN, RANDOM)
            ),
        ),
        accepts="consumers",
        is_lasting=True,
        heals="members stay; the group becomes stable",
        glyph="@",
        colour="alarm",
        cause="an autoscaler that flaps, a crash loop, a liveness probe that kills healthy pods, a deployment in many "
        "small steps",
        may_break="a group that rebalances all the time: with eager protocols no member reads during a rebalance; lag "
        "grows, and records are processed again",
        default_duration_us=30 * SECOND,
        example="members(billing)",
        behaviour=RejoinStorm(),
    ),
    Fault(
        name="duplicate_instance",
        letter="I",
        title="duplicate instance id",
        family="clients",
        summary="The target restarts with the group.instance.id of another member: two processes claim one id, and "
        "one of them is fenced.",
        params=(Param("member", "target", "Static member of the same group whose id is used.", old="of"),),
        accepts="consumers",
        is_lasting=True,
        heals="the target restarts with its own id, and the fenced member restarts too",
        glyph="=",
        colour="alarm",
        cause="a copied configuration, a pod that starts while its predecessor still runs",
        may_break="one member, which exits with FencedInstanceIdException or, under the consumer protocol, "
        "UnreleasedInstanceIdException; the target's own partitions, which wait for its session to expire",
        example="client(billing/1)",
        behaviour=DuplicateInstance(),
    ),
)
"""Faults by name."""


# Lost acknowledgements.


LOOKS_US: Final = 100 * MS
"""Interval of checks whether all responses are lost, in microseconds."""


class LostAck(ClientBehaviour):
    """Loss of responses to produce requests."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require producers that wait for acknowledgements."""
        partition = str(resolved.params["partition"])
        if partition and partition not in context.cluster.cluster_state.records:
            raise FaultError(f"no partition {partition}", code="no_partition")
        for node in resolved.nodes:
            name = context.cluster.name_of(node)
            if context.cluster.producers[name].acks == 0:
                raise FaultError(f"{name} waits for no acknowledgements (acks=0)", code="no_acknowledgements")

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Lose the next responses from now on."""
        for node in active_fault.nodes:
            context.cluster.clients.faults.lose_acks(
                node, active_fault.id, int(active_fault.params["count"]), str(active_fault.params["partition"])
            )  # fmt: skip
        context.schedule(active_fault, LOOKS_US)

    def on_timer(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """End the fault when all responses are lost."""
        faults = context.cluster.clients.faults
        if any(faults.acks_to_lose(node, active_fault.id) for node in active_fault.nodes):
            context.schedule(active_fault, LOOKS_US)
            return
        self.heal(context, active_fault)
        context.end(active_fault)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return whether retries duplicate records."""
        hit = tuple([cluster.clients.names[node] for node in resolved.nodes])
        duplicating = []
        for each in cluster.spec.producers:
            config = ProducerConfig.of(cluster.profile, each.config)
            if each.name in hit and config.retries and not config.idempotent:
                duplicating.append(each.name)
        subject = each_of(cluster, resolved.nodes)
        if duplicating:
            return impact_without_leader_change(
                f"{', '.join(duplicating)} retries records that are written already: duplicates in the log", hit
            )
        return impact_without_leader_change(
            f"{subject} retries records that are written already; the broker recognises the duplicates", hit
        )


LOST_ACK_FAULTS: Final = table(
    Fault(
        name="lost_ack",
        letter="A",
        title="lost acknowledgement",
        family="clients",
        summary="The leader executes the target's next requests, but the connection is reset before the responses "
        "arrive; the outcome of all other requests in flight on it is unknown too.",
        params=(
            Param("count", "int", "Number of responses that are lost.", default=1, low=1, high=1_000_000),
            Param("partition", "partition", "Only responses for this partition; empty: for any.", default=""),
        ),
        accepts="producers",
        is_lasting=True,
        heals="responses arrive; the fault ends by itself when all of them are lost",
        glyph="?",
        colour="warning",
        cause="a load balancer or firewall that resets a connection, a host that crashes between write and response",
        may_break="without idempotence a retry writes the records twice; without retries their outcome is unknown",
        behaviour=LostAck(),
    ),
)
"""Faults by name."""


# Failing handlers.


_OUTCOMES: Final = {
    RETRY: "returns to the first failed record again and again",
    SKIP: "skips them: they are not processed",
    CRASH: "crashes at the first failed record, and reads it again after a restart",
    CLOSE: "closes its consumer at the first failed record, which an automatic commit then covers",
    DEAD_LETTER: "sends them to its dead-letter topic",
}


class FailingHandler(Behaviour):
    """Handler that throws an exception for some records."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse a reaction that the application does not support."""
        reaction = str(resolved.params["reaction"])
        for node in resolved.nodes:
            name = context.cluster.clients.names[node]
            group = _group(context.cluster, node)
            if reaction == DEAD_LETTER and not group.dead_letter:
                raise FaultError(
                    f"{name} has no dead-letter topic: set dead_letter for {group.name}", code="no_dead_letter_topic"
                )
            if group.commit == "handed_off" and reaction not in (CONFIGURED, SKIP):
                raise FaultError(
                    f"{name} processes records on another thread without waiting: "
                    f"reaction takes {CONFIGURED} or {SKIP}",
                    code="hands_records_off",
                )

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Fail for records of later polls."""
        params = active_fault.params
        pause_us = int(params["pause"])
        trouble = HandlerFault(int(params["percent"]), bool(params["poison"]), str(params["reaction"]), pause_us)
        for node in active_fault.nodes:
            context.cluster.clients.faults.fail(node, active_fault.id, trouble)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Process every record again, and restart processes that exited by an exception."""
        for node in active_fault.nodes:
            context.cluster.clients.faults.lift(node, active_fault.id)
            if context.cluster.consumers[context.cluster.name_of(node)].failed == THROWN:
                restart_after_exit(context, node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the outcome of the failing records."""
        hit = tuple([cluster.clients.names[node] for node in resolved.nodes])
        share = percent(int(resolved.params["percent"]))
        outcome = _OUTCOMES.get(str(resolved.params["reaction"])) or _usual(_group(cluster, resolved.nodes[0]))
        return impact_without_leader_change(
            f"{each_of(cluster, resolved.nodes)} fails for {share} of the records, and {outcome}", hit
        )


def _group(cluster: Cluster, node: int) -> GroupSpec:
    name = cluster.consumers[cluster.clients.names[node]].group
    return next(group for group in cluster.spec.groups if group.name == name)


def _usual(group: GroupSpec) -> str:
    tries = f"tries {group.retries} times more, then " if group.retries else ""
    return f"{tries}{_OUTCOMES[DEAD_LETTER] if group.dead_letter else _OUTCOMES[SKIP]}"


HANDLER_FAULTS: Final = table(
    Fault(
        name="failing_handler",
        letter="a",
        title="failing handler",
        family="clients",
        summary="The application's handler throws an exception for some of the records it receives.",
        params=(
            Param("percent", "percent", "Share of the records.", default=PERCENT, low=1, high=100 * PERCENT),
            Param("poison", "bool", "The same records fail every time, whichever target reads them.", False),
            Param(
                "reaction",
                "choice",
                "What the application does: " + "; ".join(f"{name}: {text}" for name, text in REACTIONS.items()) + ".",
                default=CONFIGURED,
                choices=tuple(REACTIONS),
                old="then",
            ),
            Param("pause", "duration", "Pause before a record is polled again, with reaction: retry.", default=SECOND),
        ),
        accepts="consumers",
        is_lasting=True,
        heals="the handler can process every record; a process that exited by the exception is restarted",
        glyph="!",
        colour="alarm",
        cause="a record that the code does not expect, a schema change, a failing service that the handler calls",
        may_break="records left unprocessed; a partition that a poison record blocks; a process in a crash loop",
        default_duration_us=30 * SECOND,
        behaviour=FailingHandler(),
    ),
)
"""Faults by name."""


# Load: more or fewer records, or most of them with one key.


class RateChange(ClientBehaviour):
    """Change of a producer's record rate."""

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Change the rate from now on."""
        for node in active_fault.nodes:
            context.cluster.clients.faults.pace(node, active_fault.id, int(active_fault.params["rate"]))

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the new rate and the readers."""
        hit = tuple([cluster.clients.names[node] for node in resolved.nodes])
        topics = [each.topic for each in cluster.spec.producers if each.name in hit]
        readers = [
            name
            for name, consumer in cluster.consumers.items()
            if any(partition.rpartition("-")[0] in topics for partition in consumer.assignment)
        ]
        rate = int(resolved.params["rate"])
        subject = each_of(cluster, resolved.nodes)
        if not rate:
            return impact_without_leader_change(f"{subject} produces no records", (*hit, *readers))
        loops = any(each.loop is not None for each in cluster.spec.producers if each.name in hit)
        what = "records, or of its closed-loop concurrency," if loops else "records"
        sentence = f"{subject} produces {percent(rate)} of its usual {what} for {counted(len(readers), 'reader')}"
        return impact_without_leader_change(sentence, (*hit, *readers))


class HotKeyFault(ClientBehaviour):
    """Skewed keys: most records have one key."""

    def resolve(self, context: FaultContext, resolved: ResolvedTarget) -> ResolvedTarget:
        """Choose the key at random if none is given: one for all targets."""
        if not resolved.nodes or resolved.params["key"] >= 0:
            return resolved
        fewest = min(_keys(context.cluster, node) for node in resolved.nodes)
        if not fewest:
            return resolved
        params: dict[str, Any] = dict(resolved.params)
        params["key"] = context.cluster.stream(TARGET_STREAM).below(fewest)
        return ResolvedTarget(resolved.nodes, params, resolved.links)

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require records with keys, and a partitioner that uses them."""
        for node in resolved.nodes:
            name, keys = context.cluster.name_of(node), _keys(context.cluster, node)
            if not keys:
                raise FaultError(f"the records of {name} have no keys", code="no_keys")
            if not context.cluster.producers[name].keyed:
                raise FaultError(
                    f"the records of {name} are not partitioned by key: set its partitioner",
                    code="not_partitioned_by_key",
                )
            if resolved.params["key"] >= keys:
                raise FaultError(
                    f"{name} has key-0 to key-{keys - 1}, found key {resolved.params['key']}", code="no_such_key"
                )

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Skew the keys from the next record on."""
        for node in active_fault.nodes:
            context.cluster.clients.faults.heat(
                node, active_fault.id, int(active_fault.params["key"]), int(active_fault.params["share"])
            )  # fmt: skip

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the partitions that would receive the records."""
        hit = tuple([cluster.clients.names[node] for node in resolved.nodes])
        key, share = int(resolved.params["key"]), percent(int(resolved.params["share"]))
        topics = dict.fromkeys(each.topic for each in cluster.spec.producers if each.name in hit)
        if not all(_keys(cluster, node) for node in resolved.nodes):
            return impact_without_leader_change(
                f"nothing: the records of {names(cluster, resolved.nodes)} have no keys"
            )
        if key < 0:
            return impact_without_leader_change(
                f"{share} of the records go to one partition of {', '.join(topics)}", hit
            )
        partitions = []
        for topic in topics:
            total = sum(name.rpartition("-")[0] == topic for name in cluster.cluster_state.records)
            if total:
                partitions.append(f"{topic}-{partition_for_key(b'key-%d' % key, total)}")
        return impact_without_leader_change(
            f"{share} of the records have key-{key} and go to {', '.join(partitions)}", hit
        )


def _keys(cluster: Cluster, node: int) -> int:
    """Return the number of different keys of a producer's records."""
    name = cluster.name_of(node)
    return next(each.keys for each in cluster.spec.producers if each.name == name)


def _rate(default: int) -> Param:
    return Param(
        "rate", "percent", "Relative to the usual rate; 0% stops.", default=default * PERCENT, high=100_000 * PERCENT
    )


LOAD_FAULTS: Final = table(
    Fault(
        name="rate_change",
        letter="v",
        title="rate change",
        family="clients",
        summary="The application produces more or fewer records than usual; in a closed loop, more or fewer are in "
        "flight.",
        params=(_rate(300),),
        accepts="producers",
        is_lasting=True,
        heals="records are produced at the usual rate",
        glyph="%",
        colour="warning",
        cause="more users, a batch job, a feature that is switched on, an upstream that has stopped",
        may_break="consumers that only keep up with the usual load; buffer.memory and the latency of acks=all",
        default_duration_us=60 * SECOND,
        behaviour=RateChange(),
    ),
    Fault(
        name="traffic_spike",
        letter="T",
        title="traffic spike",
        family="clients",
        summary="For a short time the application produces many times its usual records: a short, sharp rate change.",
        params=(_rate(1_000),),
        accepts="producers",
        is_lasting=True,
        heals="records are produced at the usual rate; the backlog is worked off",
        glyph="^",
        colour="alarm",
        cause="a sale, a retry storm upstream, a backlog that is released at once",
        may_break="lag of groups with little spare capacity; retention by size; quotas and buffers",
        default_duration_us=15 * SECOND,
        behaviour=RateChange(),
    ),
    Fault(
        name="hot_key",
        letter="1",
        title="hot key",
        family="clients",
        summary="Most new records have the same key, so most go to one partition (murmur2 of the key).",
        params=(
            Param("share", "percent", "Share of the records.", default=80 * PERCENT, low=1, high=100 * PERCENT),
            Param("key", "int", "N of key-N; -1: chosen at random (by the seed).", default=-1, low=-1, high=1 << 31),
        ),
        accepts="producers",
        is_lasting=True,
        heals="keys are distributed as usual",
        glyph="*",
        colour="warning",
        cause="one very active customer, device or product; a default value used as a key",
        may_break="lag of one partition, whose only reader cannot keep up, while averages look fine; more consumers "
        "or partitions do not help",
        default_duration_us=60 * SECOND,
        behaviour=HotKeyFault(),
    ),
)
"""Faults by name."""


# Slow processing: applications that read too slowly or not at all.


class SlowProcessing(ClientBehaviour):
    """Extra processing time for every record."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require a slowdown."""
        if not resolved.params["extra"] and resolved.params["factor"] <= 100 * PERCENT:
            raise FaultError(
                "slow_processing needs extra time or a factor above 100%, found neither", code="no_slowdown"
            )

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Slow down the records of later polls."""
        for node in active_fault.nodes:
            context.cluster.clients.faults.slow(
                node, active_fault.id, int(active_fault.params["extra"]), int(active_fault.params["factor"])
            )  # fmt: skip

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return the remaining throughput in records per second."""
        hit = _names(cluster, resolved)
        usual = max(cluster.consumers[name].handling.record_us for name in hit)
        slow = usual * int(resolved.params["factor"]) // WHOLE + int(resolved.params["extra"])
        subject = each_of(cluster, resolved.nodes)
        if not slow:
            return impact_without_leader_change(
                f"{subject} spends no time on records, so a factor changes nothing", hit
            )
        return impact_without_leader_change(
            f"{subject} processes at most {SECOND // slow} records a second; lag grows if more come", hit
        )


class PausedMember(Behaviour):
    """Group member whose application has paused its partitions (``Consumer.pause``)."""

    holds_process = True

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Refuse processes that are down."""
        require_up(context.cluster, resolved.nodes)

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Pause the current assignment of each member."""
        for node in active_fault.nodes:
            context.cluster.clients.faults.pause(node, active_fault.id)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Resume the partitions that are still paused."""
        for node in active_fault.nodes:
            context.cluster.clients.faults.resume(node, active_fault.id)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return how many partitions are not read meanwhile."""
        hit = _names(cluster, resolved)
        owned = sum(len(cluster.consumers[name].assignment) for name in hit)
        what = "1 partition" if owned == 1 else f"{owned} partitions"
        return impact_without_leader_change(
            f"{each_of(cluster, resolved.nodes)} stays in its group and fetches nothing of its {what}", hit
        )


def _names(cluster: Cluster, resolved: ResolvedTarget) -> tuple[str, ...]:
    return tuple([cluster.clients.names[node] for node in resolved.nodes])


PROCESSING_FAULTS: Final = table(
    Fault(
        name="slow_processing",
        letter="j",
        title="slow processing",
        family="clients",
        summary="The application takes longer for every record: records that arrive faster wait in the log.",
        params=(
            Param("extra", "duration", "Added to the processing time of each record.", default=10 * MS),
            Param(
                "factor",
                "percent",
                "Processing time of each record, relative to the usual.",
                default=100 * PERCENT,
                low=PERCENT,
                high=100_000 * PERCENT,
            ),
        ),
        accepts="consumers",
        is_lasting=True,
        heals="records of later polls take their usual time, and the lag is worked off",
        glyph="~",
        colour="warning",
        cause="a slow database or service that the handler calls, a noisy neighbour, a new version that does more work",
        may_break="lag; max.poll.interval.ms, if a poll's records take longer than that: then the member leaves",
        default_duration_us=60 * SECOND,
        behaviour=SlowProcessing(),
    ),
    Fault(
        name="paused_member",
        letter="q",
        title="paused member",
        family="clients",
        summary="The application has paused its partitions (Consumer.pause): it polls and stays in its group but "
        "fetches nothing. A partition that is revoked and assigned again is no longer paused.",
        params=(),
        accepts="consumers",
        is_lasting=True,
        heals="it resumes the partitions it has kept since",
        glyph="‖",
        colour="warning",
        cause="back-pressure that was never released, a circuit breaker that stays open, a command of an operator",
        may_break="lag, without a rebalance or an error; records that retention deletes before they are read",
        default_duration_us=30 * SECOND,
        aliases=(Alias("pause_consumer"),),
        behaviour=PausedMember(),
    ),
)
"""Faults by name."""


# Poll stalls: applications that call poll too late.


class PollStall(ClientBehaviour):
    """Extra processing time for the records of every poll."""

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Delay later polls."""
        for node in active_fault.nodes:
            context.cluster.clients.faults.stall(node, active_fault.id, int(active_fault.params["extra"]))

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return whether the group removes the member."""
        return slow_impact(cluster, "poll_stall", resolved.nodes)


POLL_STALL_FAULTS: Final = table(
    Fault(
        name="poll_stall",
        letter="s",
        title="poll stall",
        family="clients",
        summary="The application takes longer for the records of every poll, so the next poll is late.",
        params=(
            Param("extra", "duration", "Added to the processing of each poll's records.", default=10 * SECOND, low=1),
        ),
        accepts="consumers",
        is_lasting=True,
        heals="records of later polls take their usual time",
        glyph="…",
        colour="warning",
        cause="a slow database that the handler calls, a lock, endless retries",
        may_break="max.poll.interval.ms: the member leaves its group, and another member reads its records again",
        behaviour=PollStall(),
    ),
)
"""Faults by name."""


# Zombie producers: two processes with one transactional id.


class ZombieProducer(Behaviour):
    """Second process of a transactional producer, started while the first one continues."""

    def check(self, context: FaultContext, resolved: ResolvedTarget) -> None:
        """Require a transactional producer without a second process."""
        for node in resolved.nodes:
            name = context.cluster.name_of(node)
            if not isinstance(context.cluster.producers[name], TransactionalProducer):
                raise FaultError(
                    f"{name} has no transactional.id: brokers cannot recognise a second process of it",
                    code="no_transactional_id",
                )
            if context.cluster.clients.duplicate_nodes.is_there(node):
                raise FaultError(f"{name} has a second process already", code="second_process_already")

    def apply(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Start the second process."""
        for node in active_fault.nodes:
            context.cluster.clients.duplicate_nodes.start(node)

    def heal(self, context: FaultContext, active_fault: ActiveFault) -> None:
        """Kill the second process and restart the first, which aborts the open transaction."""
        for node in active_fault.nodes:
            context.cluster.clients.duplicate_nodes.end(node)
            if context.cluster.is_up(node):
                context.release_process(node)
                context.cluster.crash(node)
                context.restart(node)

    def predict(self, cluster: Cluster, resolved: ResolvedTarget) -> ExpectedImpact:
        """Return which process is fenced."""
        hit = tuple([cluster.clients.names[node] for node in resolved.nodes])
        subject = each_of(cluster, resolved.nodes)
        if not all(isinstance(cluster.producers[name], TransactionalProducer) for name in hit):
            return impact_without_leader_change("nothing: there is no transactional.id")
        return impact_without_leader_change(
            f"{subject} loses its transaction to a second process and is fenced at its next request", hit
        )


ZOMBIE_FAULTS: Final = table(
    Fault(
        name="zombie_producer",
        letter="Z",
        title="zombie producer",
        family="clients",
        summary="A second process with the same transactional.id starts while the first one continues: the first is "
        "now a zombie, and its next transactional request is fenced.",
        params=(),
        accepts="producers",
        is_lasting=True,
        heals="the second process is killed and the first one restarted; it aborts the open transaction",
        glyph="z",
        colour="warning",
        cause="a deployment that overlaps, an orchestrator that considers a slow process dead",
        may_break="the open transaction of the first process, which fails with PRODUCER_FENCED or "
        "INVALID_PRODUCER_EPOCH; read_committed consumers see nothing of it",
        default_duration_us=20 * SECOND,
        behaviour=ZombieProducer(),
    ),
)
"""Faults by name."""
