"""There is an active controller, as long as a majority of those who elect it hear each other."""

from collections.abc import Iterator
from typing import Final

from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Sight
from cluster_model.protocol.messages import NOBODY

PROPERTY: Final = Property(
    "active-controller",
    "Somebody acts as the controller.",
    "KRaft: fetch timeout, a request's timeout and five elections. ZooKeeper: a new leader of the ensemble, two "
    "sessions and a reload.",
    "whatever touches the majority of voters, or of the ensemble and the broker that may take office; without a "
    "majority nothing is owed",
)


def owed(sight: Sight) -> Iterator[Owed]:
    """One obligation, while a majority is there and nobody it knows of acts."""
    majorities = sight.majorities
    if sight.world.profile.kraft:
        if not majorities or any(sight.active in some for some in majorities):
            return
        scope, who = majorities[0], f"voters {_listed(majorities[0])} hear each other"
    else:
        if not majorities or sight.active != NOBODY:
            return
        servers = majorities[0]
        brokers = [broker for broker in sight.world.brokers if sight.weather.is_sound((broker, *servers), sight.now)]
        if not brokers:
            return
        scope = (*servers, brokers[0])
        who = f"ZooKeeper servers {_listed(servers)} and broker {brokers[0]} hear each other"
    epoch = sight.plane.controller_epoch()
    bounds = sight.bounds
    yield Owed(
        "",
        NOBODY,
        epoch,
        scope,
        bounds.controller_us,
        bounds.silence_us,
        "nobody acts as controller, though {}",
        (who,),
    )


def _listed(nodes: tuple[int, ...]) -> str:
    return ", ".join(map(str, nodes))
