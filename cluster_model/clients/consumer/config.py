"""Typed group settings of a consumer by release (``ConsumerConfig``)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from cluster_model.assignors.base import NEWEST_RULES, AssignorRules
from cluster_model.protocol.config_defaults import EffectiveConfig, check_release
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import ClientProfile, Profile

UNBOUNDED_US: Final = 1 << 62
"""``api_timeout_us`` of a consumer without such a timeout (before KIP-266, 2.0)."""

_CLASSIC_ONLY: Final = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
"""Configurations that are an error with ``group.protocol=consumer``: the broker's settings and assignors apply."""

STRATEGIES: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
"""Class name of an assignor → its name in the protocol."""
_HAS_ASSIGNOR: Final[Mapping[str, Callable[[Profile], bool]]] = {
    "range": lambda profile: profile.group_membership,
    "roundrobin": lambda profile: profile.group_membership,
    "sticky": lambda profile: profile.client.sticky_assignor,
    "cooperative-sticky": lambda profile: profile.client.cooperative_assignor,
}
"""Assignor → predicate of whether a release has it."""
_PACKAGE: Final = "org.apache.kafka.clients.consumer."


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Group settings of a consumer, with times in µs; ``version`` is that of the JoinGroup or heartbeat request."""

    session_us: int
    heartbeat_us: int
    max_poll_us: int
    """-1 before 0.10.1 (KIP-62): there only the session timeout limits the time between two polls."""
    rebalance_us: int
    request_timeout_us: int
    backoff_us: int
    api_timeout_us: int
    auto_commit: bool
    auto_commit_us: int
    assignors: tuple[str, ...]
    """Assignors by their names in the protocol, the preferred one first."""
    cooperative: bool
    """Whether all assignors are cooperative: owned partitions are kept during a rebalance (KIP-429)."""
    reports_lost: bool
    """Whether the listener has ``onPartitionsLost`` apart from ``onPartitionsRevoked`` (KIP-429, 2.4)."""
    own_thread: bool
    """Whether heartbeats have their own thread (KIP-62, 0.10.1)."""
    version: int
    instance: str = ""
    """``group.instance.id``."""
    consumer_protocol: bool = False
    """``group.protocol`` is consumer (KIP-848): the coordinator sets session, heartbeats and assignors."""
    racks: bool = False
    """Whether members send their racks, and leaders use them (KIP-881, 3.5)."""
    assignor_rules: AssignorRules = NEWEST_RULES
    """Rules of the assignors of this release, used by leaders."""
    prepares_once: bool = False
    """Whether it keeps its partitions when it loses its generation while it joins (until KAFKA-12983)."""
    commits_without_end: bool = False
    """Whether a cooperative member repeats its commit instead of joining again (until KAFKA-14024)."""
    reads_while_preparing: bool = False
    """Whether an eager member reads on while its commit before a revocation is in flight (until KAFKA-14196)."""
    loses_generation_in_sync: bool = False
    """Whether REBALANCE_IN_PROGRESS in the response to a sync makes it lose its generation (KAFKA-14016)."""
    validates_cooperative: bool = False
    """Whether a leader fails if a partition moves at once that a member still claims (until KAFKA-13406)."""
    reports_joined_generation: bool = True
    """Whether it reports the generation that it joined last, not that of its last assignment (KIP-792, 3.4)."""
    commits_polled: bool = False
    """Whether automatic commits include the records that the same poll returns (until KAFKA-2942, KAFKA-18641)."""
    starves_heartbeats: bool = False
    """Whether a poll that finds fetched records sends no heartbeat and no automatic commit (until KAFKA-3627)."""
    polls_in_rebalance: bool = True
    """Whether polls return records during a rebalance and without a coordinator (KAFKA-8421, 2.5)."""
    forgets_id_after_errors: bool = False
    """Whether it loses its member id after a retriable error of a join or sync (until KAFKA-13214)."""
    forgets_id_of_generation: bool = False
    """Whether it loses its member id after ILLEGAL_GENERATION (until KAFKA-13419)."""
    keeps_lost_coordinator: bool = False
    """Whether a heartbeat that fails by a broken connection leaves the coordinator as it is (until KAFKA-17293)."""
    remote_assignor: str = ""
    """``group.remote.assignor``, empty for the coordinator's default."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue], instance: str = "") -> "GroupSettings":
        """Make the settings of a client of the cluster's own version, or of its ``client.version``.

        ``instance`` makes the member static.

        Raises:
            ModelError: a setting that the version lacks, or a heartbeat interval not below the session timeout.
        """
        profile = profile.for_client(str(config.get("client.version", "")))
        number = profile.client.number
        for name in config:
            check_release("consumer", name, number)
        if instance:
            check_release("consumer", "group.instance.id", number)
        own = EffectiveConfig("consumer", number, config)
        session, heartbeat = own.us("session.timeout.ms"), own.us("heartbeat.interval.ms")
        modern = protocol(profile, config)
        if heartbeat >= session:
            raise ModelError(
                f"heartbeat.interval.ms must be below session.timeout.ms, {session // 1_000},"
                f" found {heartbeat // 1_000}",
                code="heartbeat_not_below_session",
            )
        max_poll = own.us("max.poll.interval.ms") if own.exists("max.poll.interval.ms") else -1
        assignors = _assignors(profile, own.text("partition.assignment.strategy"))
        return GroupSettings(
            session_us=session,
            heartbeat_us=heartbeat,
            max_poll_us=max_poll,
            rebalance_us=max_poll if max_poll >= 0 else session,
            request_timeout_us=own.us("request.timeout.ms"),
            backoff_us=own.us("retry.backoff.ms"),
            api_timeout_us=own.us("default.api.timeout.ms") if own.exists("default.api.timeout.ms") else UNBOUNDED_US,
            auto_commit=own.boolean("enable.auto.commit"),
            auto_commit_us=own.us("auto.commit.interval.ms"),
            assignors=assignors,
            cooperative=all(name == "cooperative-sticky" for name in assignors),
            reports_lost=profile.client.on_partitions_lost,
            own_thread=profile.rebalance_timeout,
            version=int(profile.server_patterns) if modern else _join_version(profile),
            instance=instance,
            consumer_protocol=modern,
            racks=profile.client.member_racks,
            assignor_rules=rules_of(profile.client),
            prepares_once=profile.client.prepares_once,
            commits_without_end=profile.client.commits_without_end,
            reads_while_preparing=profile.client.reads_while_preparing,
            loses_generation_in_sync=profile.client.loses_generation_in_sync,
            validates_cooperative=profile.client.validates_cooperative,
            reports_joined_generation=profile.client.reports_joined_generation,
            commits_polled=profile.client.commits_in_background if modern else profile.client.commits_polled,
            starves_heartbeats=profile.client.starves_heartbeats,
            polls_in_rebalance=profile.client.polls_in_rebalance,
            forgets_id_after_errors=profile.client.forgets_id_after_errors,
            forgets_id_of_generation=profile.client.forgets_id_of_generation,
            keeps_lost_coordinator=modern and profile.client.keeps_lost_coordinator,
            remote_assignor=own.text("group.remote.assignor"),
        )


@cache
def rules_of(client: ClientProfile) -> AssignorRules:
    """Return the rules of the assignors of a client release."""
    return AssignorRules(*(getattr(client, name) for name in AssignorRules._fields))


def protocol(profile: Profile, config: Mapping[str, ConfigValue]) -> bool:
    """Return whether ``group.protocol`` is consumer.

    Raises:
        ModelError: the version does not have it, or a setting belongs to the other protocol.
    """
    profile = profile.for_client(str(config.get("client.version", "")))
    modern = EffectiveConfig("consumer", profile.client.number, config).text("group.protocol") == "consumer"
    if modern and not (profile.consumer_protocol and profile.kraft):
        raise ModelError(
            f"group.protocol consumer exists since Kafka 3.7 in KRaft mode, this is {profile.name}",
            code="not_in_version",
        )
    others = [name for name in (_CLASSIC_ONLY if modern else ("group.remote.assignor",)) if name in config]
    if others:
        raise ModelError(
            f"{others[0]} cannot be set with group.protocol {'consumer' if modern else 'classic'}",
            code="other_protocol",
        )
    return modern


def _join_version(profile: Profile) -> int:
    if profile.skip_assignment:
        return 9
    if profile.static_members:
        return 5
    return 4 if profile.member_id_required else 1 if profile.rebalance_timeout else 0


def _assignors(profile: Profile, listed: str) -> tuple[str, ...]:
    names: list[str] = []
    for given in listed.split(","):
        name = given.strip().removeprefix(_PACKAGE)
        names.append(STRATEGIES.get(name, name))
    for name in names:
        if not _HAS_ASSIGNOR[name](profile):
            raise ModelError(
                f"partition.assignment.strategy {name} is not in Kafka {profile.client.version}", code="not_in_version"
            )
    return tuple(dict.fromkeys(names))
