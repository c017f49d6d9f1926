"""How a consumer comes to be a member of a group: what it subscribes to, and by which protocol."""

import re
from collections.abc import Callable
from functools import partial

from cluster_model.clients.consumer.assigning import topic_of
from cluster_model.clients.consumer.config import GroupSettings
from cluster_model.clients.consumer.coordination import ModernCoordination
from cluster_model.clients.consumer.coordinator import Coordination
from cluster_model.clients.consumer.subscription_state import Positions
from cluster_model.clients.metadata import Metadata
from cluster_model.kernel.node_context import Port
from cluster_model.kernel.rng import Stream
from cluster_model.kernel.uuids import uuid
from cluster_model.protocol.events import Event
from cluster_model.protocol.versions import Profile
from cluster_model.spec.internal_topics import INTERNAL


def coordination_of(
    port: Port,
    named: tuple[str, str],
    profile: Profile,
    settings: GroupSettings,
    metadata: Metadata,
    positions: Positions,
    wanted: tuple[tuple[str, ...], str],
    stream: Stream | None,
    rack: str,
    emit: Callable[[Event], None],
) -> Coordination | ModernCoordination:
    """A member's side of its group; ``wanted``: topics, or a pattern for them.

    A member that makes its own id (KIP-848) draws it from ``stream``.
    """
    topics, pattern = wanted

    def subscription() -> tuple[str, ...]:
        if not pattern:
            return topics
        known = dict.fromkeys(topic_of(name) for name in metadata.states)
        # Internal topics are left out of patterns (``exclude.internal.topics``).
        return tuple(sorted(name for name in known if name not in INTERNAL and re.fullmatch(pattern, name)))

    if settings.modern:
        by_server = profile.server_patterns
        return ModernCoordination(
            port, named, profile, settings, metadata, positions, subscription, pattern if by_server else "",
            partial(uuid, stream) if stream is not None and by_server else None, emit,
        )  # fmt: skip
    return Coordination(port, named, profile, settings, metadata, positions, subscription, rack, emit)
