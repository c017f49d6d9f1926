"""What a consumer's configuration says of its group (``ConsumerConfig``), with the defaults of its version."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import MS
from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.versions import Profile

_CLASSIC_ONLY: Final = ("session.timeout.ms", "heartbeat.interval.ms", "partition.assignment.strategy")
"""What a consumer with ``group.protocol: consumer`` refuses: the broker's settings and assignors count."""

STRATEGIES: Final = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
}
"""Class name of an assignor → its name in the protocol."""
_SINCE: Final = {
    "range": (0, 9, 0),
    "roundrobin": (0, 9, 0),
    "sticky": (0, 11, 0),
    "cooperative-sticky": (2, 4, 0),
}
_PACKAGE: Final = "org.apache.kafka.clients.consumer."


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Times in µs. ``version`` is that of the JoinGroup request."""

    session_us: int
    heartbeat_us: int
    max_poll_us: int
    """-1 before 0.10.1 (KIP-62): there the session is all that bounds the time between two polls."""
    rebalance_us: int
    request_timeout_us: int
    backoff_us: int
    api_timeout_us: int
    auto_commit: bool
    auto_commit_us: int
    assignors: tuple[str, ...]
    """By their names in the protocol, the preferred one first."""
    cooperative: bool
    """Whether all of them are: what is owned is kept during a rebalance (KIP-429)."""
    tells_lost: bool
    """Whether the listener is told of lost partitions apart from revoked ones (KIP-429, 2.4)."""
    own_thread: bool
    """Whether heartbeats have a thread of their own (KIP-62, 0.10.1)."""
    version: int
    instance: str = ""
    """``group.instance.id``."""
    modern: bool = False
    """``group.protocol`` is consumer (KIP-848): session, heartbeats and assignors are the coordinator's."""
    racks: bool = False
    """Whether members tell their racks, and leaders look at them (KIP-881, 3.5)."""
    remote_assignor: str = ""
    """``group.remote.assignor``, empty for whatever the coordinator takes."""

    @staticmethod
    def of(profile: Profile, config: Mapping[str, ConfigValue], instance: str = "") -> "GroupSettings":
        """Settings for a client of the cluster's own version; ``instance`` makes the member a static one.

        Raises:
            ModelError: what the version lacks, or a heartbeat interval that is not below the session timeout.
        """

        def time(name: str, default: int) -> int:
            return int(config.get(name, default)) * MS

        number = profile.number
        usual = 45_000 if number >= (3, 0, 0) else 10_000 if number >= (0, 10, 1) else 30_000
        session = time("session.timeout.ms", usual)
        heartbeat = time("heartbeat.interval.ms", 3_000)
        modern = protocol(profile, config)
        if heartbeat >= session:
            raise ModelError(
                "heartbeat.interval.ms must be below session.timeout.ms", code="heartbeat_not_below_session"
            )
        if instance and not profile.static_members:
            raise ModelError(
                f"group.instance.id exists since Kafka 2.3, this is {profile.version}", code="not_in_version"
            )
        max_poll = time("max.poll.interval.ms", 300_000) if profile.rebalance_timeout else -1
        assignors = _assignors(profile, config)
        return GroupSettings(
            session_us=session,
            heartbeat_us=heartbeat,
            max_poll_us=max_poll,
            rebalance_us=max_poll if max_poll >= 0 else session,
            request_timeout_us=time("request.timeout.ms", 30_000),
            backoff_us=time("retry.backoff.ms", 100),
            api_timeout_us=time("default.api.timeout.ms", 60_000),
            auto_commit=bool(config.get("enable.auto.commit", True)),
            auto_commit_us=time("auto.commit.interval.ms", 5_000),
            assignors=assignors,
            cooperative=all(name == "cooperative-sticky" for name in assignors),
            tells_lost=number >= (2, 4, 0),
            own_thread=profile.rebalance_timeout,
            version=int(profile.server_patterns) if modern else _join_version(profile),
            instance=instance,
            modern=modern,
            racks=number >= (3, 5, 0),
            remote_assignor=str(config.get("group.remote.assignor", "")),
        )


def protocol(profile: Profile, config: Mapping[str, ConfigValue]) -> bool:
    """Whether ``group.protocol`` is consumer.

    Raises:
        ModelError: the version does not have it, or a setting is the other protocol's.
    """
    modern = config.get("group.protocol", "classic") == "consumer"
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


def _assignors(profile: Profile, config: Mapping[str, ConfigValue]) -> tuple[str, ...]:
    default = "RangeAssignor,CooperativeStickyAssignor" if profile.number >= (3, 0, 0) else "RangeAssignor"
    names: list[str] = []
    for given in str(config.get("partition.assignment.strategy", default)).split(","):
        name = given.strip().removeprefix(_PACKAGE)
        names.append(STRATEGIES.get(name, name))
    for name in names:
        if profile.number < _SINCE[name]:
            raise ModelError(
                f"partition.assignment.strategy {name} is not in Kafka {profile.version}", code="not_in_version"
            )
    return tuple(dict.fromkeys(names))
