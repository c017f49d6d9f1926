"""Faults of clients: load, poll stalls, failing handlers, rejoins, lost acknowledgements, zombie producers."""

from typing import Any, Final

from cluster_model.clients.consumer.record_handler import (
    CLOSE,
    CRASH,
    DEAD_LETTER,
    RETRY,
    SKIP,
    THEN,
    THROWN,
    USUAL,
    WHOLE,
    HandlerFault,
)
from cluster_model.clients.producer import ProducerConfig, TransactionalProducer
from cluster_model.cluster import Cluster
from cluster_model.kernel import ProcessState
from cluster_model.spec import GroupSpec
from cluster_model.util.deterministic_math import partition_for_key
from cluster_model.util.quantities import exact_duration, percent
from faults.declarations.fault import (
    MS,
    PERCENT,
    SECOND,
    Aim,
    Alias,
    Behaviour,
    ExpectedImpact,
    Fault,
    FaultContext,
    FaultError,
    Injury,
    Param,
    table,
)
from faults.declarations.impact import each_of, names, plain, slowness
from faults.declarations.targets import TARGETS
from faults.kinds.process import refuse_down

# Processes that end by themselves and are started again.


def back_again(stage: FaultContext, node: int) -> None:
    """Start a process that has ended itself, or have it start as soon as it has: a consumer takes its time to close.

    One that was told to end as well is for whoever told it.
    """
    lives = stage.cluster.lives
    if not stage.cluster.is_up(node):
        stage.restart(node)
    elif not lives.is_leaving(node):
        lives.start_again(node)


# Common to faults of applications: lifted from each client when the fault heals.


class Lifted(Behaviour):
    """Healed by taking off each process all that this fault put on it."""

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """What comes from then on is as usual."""
        for node in injury.nodes:
            stage.cluster.clients.faults.lift(node, injury.id)


# Faults of clients: load, poll stalls, failing handlers, rejoins, lost acknowledgements, zombie producers.


LEAVE: Final = "leave"
RESTART: Final = "restart"
EVEN: Final = "even"
RANDOM: Final = "random"
GAPS: Final = "rejoin storm"
"""The random stream that gaps are drawn from."""
FENCED: Final = ("FencedInstanceIdException", "UnreleasedInstanceIdException")
"""Why a member ends whose ``group.instance.id`` another has."""


class RejoinStorm(Behaviour):
    """One member after the other goes and comes back."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Who has no coordinator cannot leave a group."""
        for node in aim.nodes:
            if stage.cluster.consumers[stage.cluster.name_of(node)].coordination is None:
                raise FaultError(
                    f"{stage.cluster.name_of(node)} is in no group: its partitions are given for good",
                    code="not_in_a_group",
                )

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """The first goes at once."""
        injury.memo["turn"] = 0
        self.woken(stage, injury)

    def woken(self, stage: FaultContext, injury: Injury) -> None:
        """The next one goes, unless it is down, held or on its way out already."""
        turn = int(injury.memo["turn"])
        injury.memo["turn"] = turn + 1
        node = injury.nodes[turn % len(injury.nodes)]
        cluster = stage.cluster
        if cluster.state_of(node) is ProcessState.RUNNING and not cluster.lives.is_leaving(node):
            if injury.params["how"] == LEAVE:
                stage.take_away(node)
                cluster.shutdown(node)
                cluster.lives.start_again(node)
            else:
                stage.take_away(node)
                cluster.crash(node)
                stage.restart(node)
        every = int(injury.params["every"])
        random = injury.params["gaps"] == RANDOM
        stage.wake(injury, 1 + cluster.stream(GAPS).below(2 * every) if random else every)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Nobody else goes; who is on its way out starts again as ever."""

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What the group would have of it."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        groups = ", ".join(dict.fromkeys(cluster.consumers[name].group for name in hit))
        if aim.params["how"] == LEAVE and cluster.clients.instance_of(aim.nodes[0]):
            return plain(f"{groups} does not rebalance: static members that close do not leave", hit)
        every = exact_duration(int(aim.params["every"]))
        return plain(f"{groups} rebalances every {every}, each time for all of its members", hit)


class DuplicateInstance(Behaviour):
    """A copied configuration."""

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Settle whose id it is."""
        cluster = stage.cluster
        found = stage.targets(str(aim.params["of"]))
        if len(found) != 1 or not cluster.clients.instance_of(found[0]):
            told = ", ".join(cluster.name_of(node) for node in found)
            raise FaultError(f"duplicate_instance needs one static member in of, found {told}", code="no_static_member")
        params: dict[str, Any] = dict(aim.params)
        params["of"] = f"client({cluster.name_of(found[0])})"
        return Aim(aim.nodes, params, aim.links)

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Both are static members of one group, and not one and the same."""
        cluster = stage.cluster
        (of,) = stage.targets(str(aim.params["of"]))
        for node in aim.nodes:
            name, other = cluster.name_of(node), cluster.name_of(of)
            if node == of:
                raise FaultError(f"{name} has its own group.instance.id already", code="own_instance_id")
            if cluster.consumers[name].group != cluster.consumers[other].group:
                raise FaultError(f"{name} and {other} are in different groups", code="different_groups")

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Start the target anew with the other's id."""
        (of,) = stage.targets(str(injury.params["of"]))
        injury.memo["of"] = of
        clients = stage.cluster.clients
        for node in injury.nodes:
            clients.faults.claim(node, injury.id, clients.instance_of(of))
            _start_anew(stage, node)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Start it with its own; who was fenced meanwhile is started again, too."""
        cluster = stage.cluster
        for node in injury.nodes:
            cluster.clients.faults.lift(node, injury.id)
            if cluster.is_up(node) or _fenced(cluster, node):
                _start_anew(stage, node)
            else:
                cluster.clients.renew(node)
        of = int(injury.memo["of"])
        if _fenced(cluster, of):
            back_again(stage, of)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Which of the two survives."""
        given = aim.params["of"]
        other = str(given).removeprefix("client(").removesuffix(")") if given else "the other"
        targets = [cluster.clients.names[node] for node in aim.nodes]
        hit = (*targets, other) if given else tuple(targets)
        who = each_of(cluster, aim.nodes)
        coordination = cluster.consumers[targets[0]].coordination
        if coordination is not None and coordination.settings.modern:
            return plain(f"{who} is refused while {other} lives, and ends (UNRELEASED_INSTANCE_ID)", hit)
        return plain(f"{who} takes over from {other}, which is fenced with its next heartbeat, and ends", hit)


def _start_anew(stage: FaultContext, node: int) -> None:
    """End a process in order, so that its own id is free again where that matters (KIP-848), and start the next one."""
    cluster = stage.cluster
    if cluster.state_of(node) is ProcessState.RUNNING:
        if not cluster.lives.is_leaving(node):
            stage.take_away(node)
            cluster.shutdown(node)
        cluster.lives.start_again(node)
        return
    if cluster.is_up(node):
        stage.take_away(node)
        cluster.crash(node)
    else:
        cluster.clients.renew(node)
    stage.restart(node)


def _fenced(cluster: Cluster, node: int) -> bool:
    return cluster.consumers[cluster.name_of(node)].failed in FENCED


MEMBERSHIP_FAULTS: Final = table(
    Fault(
        name="rejoin_storm",
        letter="J",
        title="rejoin storm",
        family="clients",
        summary="One after the other, the members leave their group and join it again as new ones, over and over.",
        params=(
            Param("every", "duration", "From one member's turn to the next.", default=5 * SECOND, low=100_000),
            Param(
                "how",
                "choice",
                "A member closes its consumer and makes a new one, or its process is killed and started.",
                default=LEAVE,
                choices=(LEAVE, RESTART),
            ),
            Param("gaps", "choice", "All alike, or drawn, and alike on average.", default=EVEN, choices=(EVEN, RANDOM)),
        ),
        accepts="consumers",
        lasting=True,
        heals="members stay; the group calms down",
        glyph="@",
        colour="alarm",
        cause="an autoscaler that flaps, a crash loop, a liveness probe that kills, a deployment of many small steps",
        may_break="a group that rebalances all the time: with eager protocols nobody reads meanwhile; lag, and records "
        "that are processed again",
        usual_for_us=30 * SECOND,
        example="members(billing)",
        behaviour=RejoinStorm(),
    ),
    Fault(
        name="duplicate_instance",
        letter="I",
        title="duplicate instance id",
        family="clients",
        summary="The target's process is started anew with the group.instance.id of another member: two claim one id, "
        "and one of them is fenced.",
        params=(Param("of", "target", "Whose id it takes: a static member of the same group."),),
        accepts="consumers",
        lasting=True,
        heals="the target is started with its own id, and so is who has been fenced",
        glyph="=",
        colour="alarm",
        cause="a copied configuration, a pod that is started while its predecessor still runs",
        may_break="one member, which ends with FencedInstanceIdException or, by the consumer protocol, "
        "UnreleasedInstanceIdException; the target's own partitions, which wait for its session to end",
        example="client(billing/1)",
        behaviour=DuplicateInstance(),
    ),
)
"""Faults by name."""


# Lost acknowledgements.


LOOKS_US: Final = 100 * MS
"""How often it is looked whether all of them are lost."""


class LostAck(Lifted):
    """Answers that get lost."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Somebody must wait for them."""
        partition = str(aim.params["partition"])
        if partition and partition not in stage.cluster.world.records:
            raise FaultError(f"no partition {partition}", code="no_partition")
        for node in aim.nodes:
            name = stage.cluster.name_of(node)
            if stage.cluster.producers[name].acks == 0:
                raise FaultError(f"{name} waits for no acknowledgements (acks=0)", code="no_acknowledgements")

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """The next ones, from now on."""
        for node in injury.nodes:
            stage.cluster.clients.faults.lose_acks(
                node, injury.id, int(injury.params["count"]), str(injury.params["partition"])
            )  # fmt: skip
        stage.wake(injury, LOOKS_US)

    def woken(self, stage: FaultContext, injury: Injury) -> None:
        """It is over when all are lost."""
        faults = stage.cluster.clients.faults
        if any(faults.acks_to_lose(node, injury.id) for node in injury.nodes):
            stage.wake(injury, LOOKS_US)
            return
        self.heal(stage, injury)
        stage.end(injury)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What their producers make of it."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        plainly = []
        for each in cluster.spec.producers:
            config = ProducerConfig.of(cluster.profile, each.config)
            if each.name in hit and config.retries and not config.idempotent:
                plainly.append(each.name)
        who = each_of(cluster, aim.nodes)
        if plainly:
            return plain(f"{', '.join(plainly)} sends again what is written already: it stands in the log twice", hit)
        return plain(f"{who} sends again what is written already, and is told that it is", hit)


LOST_ACK_FAULTS: Final = table(
    Fault(
        name="lost_ack",
        letter="A",
        title="lost acknowledgement",
        family="clients",
        summary="The leader carries out the target's next requests, but the connection is reset before their answers "
        "arrive; everything else under way on it is in doubt too.",
        params=(
            Param("count", "int", "How many answers get lost.", default=1, low=1, high=1_000_000),
            Param("partition", "partition", "Only answers about this one; empty: about any.", default=""),
        ),
        accepts="producers",
        lasting=True,
        heals="answers arrive; it is over by itself when all of them are lost",
        glyph="?",
        colour="warning",
        cause="a load balancer or firewall that resets a connection, a host that dies between write and answer",
        may_break="without idempotence a retry writes the records twice; without retries they are of unknown outcome",
        behaviour=LostAck(),
    ),
)
"""Faults by name."""


# Failing handlers.


_FATE: Final = {
    RETRY: "goes back to the first failed record again and again",
    SKIP: "skips them: nobody handles them",
    CRASH: "ends with the first failed record, and reads it again when it is started",
    CLOSE: "closes its consumer with the first failed record; automatic commits then cover it",
    DEAD_LETTER: "sends them to its dead-letter topic",
}


class FailingHandler(Behaviour):
    """The handler throws for some records."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """What the application is to do then must be something that it can."""
        then = str(aim.params["then"])
        for node in aim.nodes:
            name = stage.cluster.clients.names[node]
            group = _group(stage.cluster, node)
            if then == DEAD_LETTER and not group.dead_letter:
                raise FaultError(
                    f"{name} has no dead-letter topic: {group.name} has no dead_letter", code="no_dead_letter_topic"
                )
            if group.commit == "handed_off" and then not in (USUAL, SKIP):
                raise FaultError(
                    f"{name} hands records to another thread and does not wait for it: then takes {USUAL} or {SKIP}",
                    code="hands_records_off",
                )

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """It fails for records of later polls."""
        params = injury.params
        pause_us = int(params["pause"])
        trouble = HandlerFault(int(params["percent"]), bool(params["poison"]), str(params["then"]), pause_us)
        for node in injury.nodes:
            stage.cluster.clients.faults.fail(node, injury.id, trouble)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """It can process everything again; who has ended by its exception is started, or will be when it has."""
        for node in injury.nodes:
            stage.cluster.clients.faults.lift(node, injury.id)
            if stage.cluster.consumers[stage.cluster.name_of(node)].failed == THROWN:
                back_again(stage, node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What becomes of the records."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        share = percent(int(aim.params["percent"]))
        fate = _FATE.get(str(aim.params["then"])) or _usual(_group(cluster, aim.nodes[0]))
        return plain(f"{each_of(cluster, aim.nodes)} fails for {share} of the records, and {fate}", hit)


def _group(cluster: Cluster, node: int) -> GroupSpec:
    name = cluster.consumers[cluster.clients.names[node]].group
    return next(group for group in cluster.spec.groups if group.name == name)


def _usual(group: GroupSpec) -> str:
    tries = f"tries {group.retries} times more, then " if group.retries else ""
    return f"{tries}{_FATE[DEAD_LETTER] if group.dead_letter else _FATE[SKIP]}"


HANDLER_FAULTS: Final = table(
    Fault(
        name="failing_handler",
        letter="a",
        title="failing handler",
        family="clients",
        summary="The application's handler throws for some of the records that it is handed.",
        params=(
            Param("percent", "percent", "Share of the records.", default=PERCENT, low=1, high=100 * PERCENT),
            Param("poison", "bool", "The same records fail every time, whoever of the targets reads them.", False),
            Param(
                "then",
                "choice",
                "What the application does: " + "; ".join(f"{name}: {text}" for name, text in THEN.items()) + ".",
                default=USUAL,
                choices=tuple(THEN),
            ),
            Param("pause", "duration", "Before a record is polled again, with then: retry.", default=SECOND),
        ),
        accepts="consumers",
        lasting=True,
        heals="the handler can process everything; a process that its exception has ended is started again",
        glyph="!",
        colour="alarm",
        cause="a record that the code does not expect, a schema change, a service behind the handler that fails",
        may_break="records left unprocessed; a partition that a poison record blocks; a process that crashes in a loop",
        usual_for_us=30 * SECOND,
        behaviour=FailingHandler(),
    ),
)
"""Faults by name."""


# Load: more or fewer records, or most of them with one key.


class RateChange(Lifted):
    """Another pace."""

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """From now on."""
        for node in injury.nodes:
            stage.cluster.clients.faults.pace(node, injury.id, int(injury.params["rate"]))

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What the producers would send, and who reads it."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        topics = [each.topic for each in cluster.spec.producers if each.name in hit]
        readers = [
            name
            for name, consumer in cluster.consumers.items()
            if any(partition.rpartition("-")[0] in topics for partition in consumer.assignment)
        ]
        rate = int(aim.params["rate"])
        who = each_of(cluster, aim.nodes)
        if not rate:
            return plain(f"{who} makes no records", (*hit, *readers))
        loops = any(each.loop is not None for each in cluster.spec.producers if each.name in hit)
        what = "records, or of those in flight in a closed loop," if loops else "records"
        sentence = f"{who} makes {percent(rate)} of its usual {what} for {len(readers)} readers"
        return plain(sentence, (*hit, *readers))


class HotKeyFault(Lifted):
    """One key that most records have."""

    def aim(self, stage: FaultContext, aim: Aim) -> Aim:
        """Draw the key, if none is given: one for all targets, from the stream that targets are drawn from."""
        if not aim.nodes or aim.params["key"] >= 0:
            return aim
        fewest = min(_keys(stage.cluster, node) for node in aim.nodes)
        if not fewest:
            return aim
        params: dict[str, Any] = dict(aim.params)
        params["key"] = stage.cluster.stream(TARGETS).below(fewest)
        return Aim(aim.nodes, params, aim.links)

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """There must be keys, and they must decide where records go."""
        for node in aim.nodes:
            name, keys = stage.cluster.name_of(node), _keys(stage.cluster, node)
            if not keys:
                raise FaultError(f"the records of {name} have no keys", code="no_keys")
            if not stage.cluster.producers[name].keyed:
                raise FaultError(
                    f"the records of {name} do not go by their keys: its partitioner decides otherwise",
                    code="not_partitioned_by_key",
                )
            if aim.params["key"] >= keys:
                raise FaultError(
                    f"{name} has key-0 to key-{keys - 1}, found key {aim.params['key']}", code="no_such_key"
                )

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """From the next record on."""
        for node in injury.nodes:
            stage.cluster.clients.faults.heat(
                node, injury.id, int(injury.params["key"]), int(injury.params["share"])
            )  # fmt: skip

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Where they would go."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        key, share = int(aim.params["key"]), percent(int(aim.params["share"]))
        topics = dict.fromkeys(each.topic for each in cluster.spec.producers if each.name in hit)
        if not all(_keys(cluster, node) for node in aim.nodes):
            return plain(f"nothing: the records of {names(cluster, aim.nodes)} have no keys")
        if key < 0:
            return plain(f"{share} of the records go to one partition of {', '.join(topics)}", hit)
        homes = []
        for topic in topics:
            total = sum(name.rpartition("-")[0] == topic for name in cluster.world.records)
            if total:
                homes.append(f"{topic}-{partition_for_key(b'key-%d' % key, total)}")
        return plain(f"{share} of the records have key-{key} and go to {', '.join(homes)}", hit)


def _keys(cluster: Cluster, node: int) -> int:
    """How many keys a producer's records have."""
    name = cluster.name_of(node)
    return next(each.keys for each in cluster.spec.producers if each.name == name)


def _rate(default: int) -> Param:
    return Param("rate", "percent", "Of the usual; 0% stops.", default=default * PERCENT, high=100_000 * PERCENT)


LOAD_FAULTS: Final = table(
    Fault(
        name="rate_change",
        letter="v",
        title="rate change",
        family="clients",
        summary="The application makes more or fewer records than usual; in a closed loop, so many times more or "
        "fewer are in flight.",
        params=(_rate(300),),
        accepts="producers",
        lasting=True,
        heals="records are made at the usual rate",
        glyph="%",
        colour="warning",
        cause="more users, a batch job, a feature that is switched on, an upstream that has stopped",
        may_break="consumers that keep up only with the usual load; buffer.memory and the latency of acks=all",
        usual_for_us=60 * SECOND,
        behaviour=RateChange(),
    ),
    Fault(
        name="traffic_spike",
        letter="T",
        title="traffic spike",
        family="clients",
        summary="For a while the application makes many times its usual records: a rate change that is short and "
        "sharp.",
        params=(_rate(1_000),),
        accepts="producers",
        lasting=True,
        heals="records are made at the usual rate; what has piled up is worked off",
        glyph="^",
        colour="alarm",
        cause="a sale, a retry storm upstream, a backlog that is let go at once",
        may_break="lag of groups with little to spare; retention by size; quotas and buffers",
        usual_for_us=15 * SECOND,
        behaviour=RateChange(),
    ),
    Fault(
        name="hot_key",
        letter="1",
        title="hot key",
        family="clients",
        summary="Most of the new records have one and the same key, so most go to one partition (murmur2 of the key).",
        params=(
            Param("share", "percent", "Of the records.", default=80 * PERCENT, low=1, high=100 * PERCENT),
            Param("key", "int", "N of key-N; -1: drawn by the session's seed.", default=-1, low=-1, high=1 << 31),
        ),
        accepts="producers",
        lasting=True,
        heals="keys come as often as ever",
        glyph="*",
        colour="warning",
        cause="one customer, device or product that everything is about; a default value used as a key",
        may_break="one partition's lag, whose only reader cannot keep up, while averages look fine; more consumers or "
        "partitions do not help",
        usual_for_us=60 * SECOND,
        behaviour=HotKeyFault(),
    ),
)
"""Faults by name."""


# Slow processing: applications that read too slowly or not at all, and lag.


class SlowProcessing(Lifted):
    """More time for every record."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """It must be slower than usual in one way or the other."""
        if not aim.params["extra"] and aim.params["factor"] <= 100 * PERCENT:
            raise FaultError(
                "slow_processing needs extra time or a factor above 100%, found neither", code="no_slowdown"
            )

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Records of later polls take longer."""
        for node in injury.nodes:
            stage.cluster.clients.faults.slow(
                node, injury.id, int(injury.params["extra"]), int(injury.params["factor"])
            )  # fmt: skip

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """How many records a second are left to it."""
        hit = _names(cluster, aim)
        usual = max(cluster.consumers[name].handling.record_us for name in hit)
        slow = usual * int(aim.params["factor"]) // WHOLE + int(aim.params["extra"])
        who = each_of(cluster, aim.nodes)
        if not slow:
            return plain(f"{who} spends no time on records: a factor of that changes nothing", hit)
        return plain(f"{who} processes at most {SECOND // slow} records a second; lag grows if more come", hit)


class PausedMember(Behaviour):
    """``Consumer.pause``."""

    holds_process = True

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """Only what lives can call its client."""
        refuse_down(stage.cluster, aim.nodes)

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Pause what each is assigned now."""
        for node in injury.nodes:
            stage.cluster.clients.faults.pause(node, injury.id)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Resume what is still paused of that."""
        for node in injury.nodes:
            stage.cluster.clients.faults.resume(node, injury.id)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """What nobody reads meanwhile."""
        hit = _names(cluster, aim)
        owned = sum(len(cluster.consumers[name].assignment) for name in hit)
        what = "1 partition" if owned == 1 else f"{owned} partitions"
        return plain(f"{each_of(cluster, aim.nodes)} stays in its group and fetches nothing of its {what}", hit)


def _names(cluster: Cluster, aim: Aim) -> tuple[str, ...]:
    return tuple([cluster.clients.names[node] for node in aim.nodes])


PROCESSING_FAULTS: Final = table(
    Fault(
        name="slow_processing",
        letter="j",
        title="slow processing",
        family="clients",
        summary="The application takes longer for every record: what comes faster than that waits in the log.",
        params=(
            Param("extra", "duration", "Added to the time for each record.", default=10 * MS),
            Param(
                "factor",
                "percent",
                "The time for each record, of the usual.",
                default=100 * PERCENT,
                low=PERCENT,
                high=100_000 * PERCENT,
            ),
        ),
        accepts="consumers",
        lasting=True,
        heals="records of later polls take their usual time, and the lag is worked off",
        glyph="~",
        colour="warning",
        cause="a slow database or service behind the handler, a noisy neighbour, a new version that does more",
        may_break="lag; max.poll.interval.ms where a poll's records take longer than that: then the member leaves",
        usual_for_us=60 * SECOND,
        behaviour=SlowProcessing(),
    ),
    Fault(
        name="paused_member",
        letter="q",
        title="paused member",
        family="clients",
        summary="The application has paused its partitions (Consumer.pause): it polls and stays in its group, but "
        "fetches nothing; a partition that is taken away and given back is not paused any more.",
        params=(),
        accepts="consumers",
        lasting=True,
        heals="it resumes what it has had ever since",
        glyph="‖",
        colour="warning",
        cause="back-pressure that was never released, a circuit breaker that stays open, an operator's command",
        may_break="lag, without a rebalance or an error; records that retention deletes before anybody reads them",
        usual_for_us=30 * SECOND,
        aliases=(Alias("pause_consumer"),),
        behaviour=PausedMember(),
    ),
)
"""Faults by name."""


# Poll stalls: applications that are slow to call their client.


class PollStall(Lifted):
    """Time on top of every poll's records."""

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Later polls come so much later."""
        for node in injury.nodes:
            stage.cluster.clients.faults.stall(node, injury.id, int(injury.params["extra"]))

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Whether its group throws it out."""
        return slowness(cluster, "poll_stall", aim.nodes)


POLL_STALL_FAULTS: Final = table(
    Fault(
        name="poll_stall",
        letter="s",
        title="poll stall",
        family="clients",
        summary="The application takes longer for the records of every poll, and calls the next one so much later.",
        params=(
            Param("extra", "duration", "Added to the processing of each poll's records.", default=10 * SECOND, low=1),
        ),
        accepts="consumers",
        lasting=True,
        heals="records of later polls take their usual time",
        glyph="…",
        colour="warning",
        cause="a slow database behind the handler, a lock, retries without end",
        may_break="max.poll.interval.ms: its member leaves the group, and its records are read again by another",
        behaviour=PollStall(),
    ),
)
"""Faults by name."""


# Zombie producers: two processes with one transactional id.


class ZombieProducer(Behaviour):
    """A second process is started while the first one goes on."""

    def check(self, stage: FaultContext, aim: Aim) -> None:
        """It must write in transactions, and be alone."""
        for node in aim.nodes:
            name = stage.cluster.name_of(node)
            if not isinstance(stage.cluster.producers[name], TransactionalProducer):
                raise FaultError(
                    f"{name} has no transactional.id: brokers cannot recognise a second process of it",
                    code="no_transactional_id",
                )
            if stage.cluster.clients.rivals.is_there(node):
                raise FaultError(f"{name} has a second process already", code="second_process_already")

    def apply(self, stage: FaultContext, injury: Injury) -> None:
        """Start it."""
        for node in injury.nodes:
            stage.cluster.clients.rivals.start(node)

    def heal(self, stage: FaultContext, injury: Injury) -> None:
        """Kill it, and start the first one anew: what the second left open is aborted by that."""
        for node in injury.nodes:
            stage.cluster.clients.rivals.end(node)
            if stage.cluster.is_up(node):
                stage.take_away(node)
                stage.cluster.crash(node)
                stage.restart(node)

    def expect(self, cluster: Cluster, aim: Aim) -> ExpectedImpact:
        """Who is fenced, and with what."""
        hit = tuple([cluster.clients.names[node] for node in aim.nodes])
        who = each_of(cluster, aim.nodes)
        if not all(isinstance(cluster.producers[name], TransactionalProducer) for name in hit):
            return plain("nothing: there is no transactional.id")
        return plain(f"{who} loses its transaction to a second process, and is fenced at its next request", hit)


ZOMBIE_FAULTS: Final = table(
    Fault(
        name="zombie_producer",
        letter="Z",
        title="zombie producer",
        family="clients",
        summary="A second process of a transactional producer starts and takes its role over, while the first one "
        "goes on: it is a zombie now, and its next transactional request is refused.",
        params=(),
        accepts="producers",
        lasting=True,
        heals="the second process is killed, the first one started anew: it aborts what was left open",
        glyph="z",
        colour="warning",
        cause="a deployment that overlaps, an orchestrator that takes a slow process for a dead one",
        may_break="the open transaction of the first process, which ends with PRODUCER_FENCED or "
        "INVALID_PRODUCER_EPOCH; readers of committed data see nothing of it",
        usual_for_us=20 * SECOND,
        behaviour=ZombieProducer(),
    ),
)
"""Faults by name."""
