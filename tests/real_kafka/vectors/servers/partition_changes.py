"""Changes of partitions by a KRaft controller (``PartitionChangeBuilder``).

A case is a partition's state, the active brokers, the election, ``min.insync.replicas``, and the targets of one event.
Two thirds of them are events in the life of a partition, the others are states drawn at random.
"""

import random
from collections.abc import Iterator
from typing import Any, Final

from cluster_model.controller.rules.admin_rules import original
from cluster_model.controller.rules.kraft_partition_changes import build_change
from cluster_model.controller.rules.partition_change import ElectionMode
from cluster_model.protocol.configs import TopicConfig
from cluster_model.protocol.messages import NO_LEADER, PartitionState
from cluster_model.protocol.releases import parse_version
from cluster_model.protocol.versions import Profile
from tests.real_kafka.kafka_jars import SERVER
from tests.real_kafka.vectors.servers.case_text import (
    Fields,
    case_text,
    fields_text,
    join_numbers,
    parse_fields,
    split_numbers,
)
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject, releases_since

UNCHANGED: Final = "unchanged"
_ELR_SINCE: Final = (4, 0, 0)
_BROKERS: Final = (1, 2, 3, 4, 5)
_WALKS: Final = 56
_STEPS: Final = 12
_RANDOM: Final = 300
_EVENTS: Final = (*("fence",) * 3, *("unfence",) * 2, *("propose",) * 2, "short", "move", "elect")


def cases(release: str) -> list[str]:
    """Return the cases of a release; those with eligible leader replicas for 4.0 and later, as the model has them."""
    source = random.Random(33)
    drawn = [case for number in range(_WALKS) for case in _walk(source, number)]
    drawn += [_random_case(source, number) for number in range(_RANDOM)]
    has_elr = parse_version(release) >= _ELR_SINCE
    return [case for case in dict.fromkeys(drawn) if has_elr or "kip_966=off" in case]


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return the model's state after each of Kafka's cases."""
    major, minor, _patch = parse_version(release)
    return {case: _changed(case, f"{major}.{minor}") for case in kafka}


def _changed(case: str, version: str) -> str:
    fields = parse_fields(case)
    profile = Profile.of(version, "kraft")
    active = split_numbers(fields["active"])
    targets: dict[str, Any] = {name: split_numbers(fields[name]) for name in _TARGETS if name in fields}
    if "target_recovering" in fields:
        targets["target_recovering"] = fields["target_recovering"] == "yes"
    change = build_change(
        _state(fields),
        active=active.__contains__,
        profile=profile,
        topic=TopicConfig.of(profile, {}, {"min.insync.replicas": int(fields["min_isr"])}),
        by="",
        election=ElectionMode[fields["election"]],
        elr=fields["kip_966"] == "on",
        **targets,
    )
    return UNCHANGED if change is None else fields_text(_fields(change.state))


_TARGETS: Final = ("target_isr", "target_replicas", "target_adding", "target_removing", "unclean_shutdown")


def _fields(state: PartitionState) -> Fields:
    """Return a state as fields, its eligible leader replicas ascending, as Kafka's hash table of small numbers is."""
    return {
        "leader": str(state.leader),
        "leader_epoch": str(state.leader_epoch),
        "partition_epoch": str(state.partition_epoch),
        "isr": join_numbers(state.isr),
        "replicas": join_numbers(state.replicas),
        "adding": join_numbers(state.adding),
        "removing": join_numbers(state.removing),
        "elr": join_numbers(sorted(state.elr)),
        "last_known": "" if state.last_known == NO_LEADER else str(state.last_known),
        "recovering": "yes" if state.recovering else "no",
    }


def _state(fields: Fields) -> PartitionState:
    replicas = split_numbers(fields["replicas"])
    return PartitionState(
        "t-0",
        int(fields["leader"]),
        int(fields["leader_epoch"]),
        split_numbers(fields["isr"]),
        int(fields["partition_epoch"]),
        replicas,
        split_numbers(fields["adding"]),
        split_numbers(fields["removing"]),
        tuple(sorted(split_numbers(fields["elr"]), key=replicas.index)),
        int(fields["last_known"] or NO_LEADER),
        fields["recovering"] == "yes",
    )


def _walk(source: random.Random, number: int) -> Iterator[str]:
    """Yield the cases of one partition's life; the model gives the state after each of them."""
    elr = number % 3 > 0
    active = set(_BROKERS)
    replicas = tuple(source.sample(_BROKERS, source.choice((2, 3, 3, 3, 4))))
    state = PartitionState("t-0", replicas[0], 0, replicas, 0, replicas)
    minimum, unclean = source.choice((1, 2, 2, 3, 4)), source.random() < 0.3
    for _ in range(_STEPS):
        kind, targets, election = _event(source, state, active, elr=elr)
        if election == "ONLINE" and unclean:
            election = "UNCLEAN"
        case = _case(f"{kind}/{number}", state, active, election, minimum, elr=elr, targets=targets)
        yield case
        after = _changed(case, "4.1" if elr else "3.9")
        state = state if after == UNCHANGED else _state(parse_fields(after))


def _case(
    name: str,
    state: PartitionState,
    active: set[int],
    election: str,
    minimum: int,
    *,
    elr: bool,
    targets: dict[str, list[int]],
) -> str:
    recovers = "target_isr" in targets and name.startswith("propose")
    return case_text(
        name,
        {
            **_fields(state),
            "active": join_numbers(sorted(active)),
            "election": election,
            "min_isr": str(minimum),
            "kip_966": "on" if elr else "off",
            **{target: join_numbers(value) for target, value in targets.items()},
            **({"target_recovering": "no"} if recovers else {}),
        },
    )


def _event(
    source: random.Random, state: PartitionState, active: set[int], *, elr: bool
) -> tuple[str, dict[str, list[int]], str]:
    """Return the name, the targets and the election of a random event, which may change the active brokers."""
    broker = source.choice(state.replicas)
    isr = [member for member in state.isr if member != broker]
    kind = source.choice(_EVENTS)
    if kind == "fence" and broker in active:
        active.discard(broker)
        return kind, {"target_isr": isr}, "ONLINE"
    if kind == "unfence":
        active.add(broker)
        return kind, {}, "ONLINE"
    if kind == "short" and elr and broker not in active:
        return kind, {"target_isr": isr, "unclean_shutdown": [broker]}, "ONLINE"
    if kind == "propose" and state.leader != NO_LEADER:
        able = [member for member in state.replicas if member in active and member != state.leader]
        proposed = [state.leader, *source.sample(able, source.randint(len(able) // 2, len(able)))]
        source.shuffle(proposed)
        return kind, {"target_isr": proposed}, "ONLINE"
    if kind == "move":
        return kind, _move(source, state), "ONLINE"
    return "elect", {}, source.choice(("PREFERRED", "UNCLEAN"))


def _move(source: random.Random, state: PartitionState) -> dict[str, list[int]]:
    """Return the targets of a new reassignment, or of the end of the one in progress."""
    before = original(state)
    if state.adding and source.random() < 0.3:
        isr = [member for member in state.isr if member not in state.adding]
        return {
            "target_isr": isr or list(before[:1]), "target_replicas": list(before), "target_adding": [],
            "target_removing": [],
        }  # fmt: skip
    new = source.sample(_BROKERS, len(before))
    rest = sorted(member for member in state.replicas if member not in new)
    return {
        "target_replicas": new + rest, "target_adding": sorted(set(new) - set(before)), "target_removing": rest,
    }  # fmt: skip


def _random_case(source: random.Random, number: int) -> str:
    """Return a case whose state is valid, but need not be reachable."""
    elr = source.random() < 0.7
    replicas = tuple(source.sample(_BROKERS, source.choice((1, 2, 3, 4))))
    isr = tuple(source.sample(replicas, source.randint(0 if elr else 1, len(replicas))))
    outside = [member for member in replicas if member not in isr]
    eligible = tuple(source.sample(outside, source.randint(0, len(outside)))) if elr else ()
    active = set(source.sample(_BROKERS, source.randint(0, len(_BROKERS))))
    leader = source.choice((*isr, NO_LEADER)) if isr else NO_LEADER
    last = source.choice(replicas) if elr and leader == NO_LEADER and source.random() < 0.7 else NO_LEADER
    recovering = source.random() < 0.2
    state = PartitionState("t-0", leader, 5, isr, 9, replicas, (), (), eligible, last, recovering)
    targets: dict[str, list[int]] = {}
    if source.random() < 0.6:
        targets["target_isr"] = source.sample(replicas, source.randint(1, len(replicas)))
    if elr and source.random() < 0.2:
        targets["unclean_shutdown"] = source.sample(replicas, 1)
    election = source.choice(("ONLINE", "PREFERRED", "UNCLEAN"))
    name = "leaderless" if leader == NO_LEADER else "random"
    return _case(f"{name}/{number}", state, active, election, source.randint(1, 3), elr=elr, targets=targets)


PARTITION_CHANGES: Final = Subject(
    "partition_changes",
    "PartitionChanges",
    "PartitionChangeBuilder: ISR, ELR, leader and epochs after an event, KRaft",
    model_answers,
    SERVER,
    releases_since(3, 3, 0),
    questions=cases,
    stated=(
        Exemption(
            "random/* kip_966=on*",
            "4.0 remembers the last leader only as the ISR becomes empty; with KIP-966 no leader is lost before that",
            since="4.0.2",
            until="4.0.2",
        ),
    ),
    fixed=(
        Exemption(
            "*/* adding=[0-9]*",
            "a reassignment completes once all added replicas are in sync (KAFKA-15665)",
            since="3.3.2",
            until="3.7.2",
        ),
        Exemption(
            "* elr=*[0-9]* kip_966=on*",
            "the last known leader is forgotten as soon as there is a leader (KIP-966)",
            since="4.0.2",
        ),
        Exemption(
            "leaderless/* kip_966=on*", "a fenced last known leader is elected (KAFKA-19522)", "4.0.2", "4.0.2"
        ),
        Exemption(
            "leaderless/*", "a shrink of the ISR to nothing raises the leader epoch (KAFKA-15021)", "3.3.2", "3.5.2"
        ),
    ),
)  # fmt: skip
