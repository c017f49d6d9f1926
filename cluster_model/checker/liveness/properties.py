"""A follower whose fetcher has given a partition up takes it up with newer metadata, and only then."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from cluster_model.broker.partition.partition import Replica
from cluster_model.checker.liveness.owed import Owed, Property
from cluster_model.checker.liveness.partition_state import Scene, Sight
from cluster_model.protocol.messages import NOBODY

PROPERTY: Final = Property(
    "fetcher-resumes",
    "A partition that a follower's fetcher gave up (FENCED_LEADER_EPOCH) is fetched again when the follower hears of a "
    "newer leader epoch, never by itself.",
    "until metadata is there; that it resumed by itself is told at once.",
    "follower, the active controller and its majority",
)


class _Failure(NamedTuple):
    """A partition that a fetcher has given up."""

    first: int
    """Epoch it was first seen in."""
    last: int
    """Epoch it was last seen in ..."""
    last_us: int
    """... when it was first seen in that."""
    life: int
    """In which process."""
    stood: bool = False
    """Whether it was seen in that epoch at two times: within an instant an epoch is new before it is acted on."""


class FailedFetchers:
    """Followers that were seen to have given a partition up: since which epoch, and in which process."""

    __slots__ = ("_failed",)

    def __init__(self) -> None:
        self._failed: dict[tuple[str, int], _Failure] = {}
        """By partition and broker."""

    def owed(self, sight: Sight, scene: Scene) -> Iterator[Owed]:
        """An obligation for each follower that failed in an older epoch than the committed one, or went on unasked."""
        if not sight.world.profile.kip_320:
            return
        for broker, replica in scene.followers():
            following, key = replica.following, (scene.name, broker)
            if following is not None and following.failed:
                life = sight.weather.life_of(broker)
                epoch = replica.leader_epoch
                failure = self._failed.get(key)
                if failure is None or failure.life != life:
                    failure = _Failure(epoch, epoch, sight.now, life)
                elif failure.last != epoch:
                    failure = failure._replace(last=epoch, last_us=sight.now, stood=False)
                elif sight.now > failure.last_us:
                    failure = failure._replace(stood=True)
                self._failed[key] = failure
                yield from self._late(sight, scene, replica, failure.first)
            elif key in self._failed:
                yield from self._unasked(sight, scene, replica, self._failed[key])
                del self._failed[key]

    def _late(self, sight: Sight, scene: Scene, replica: Replica, since: int) -> Iterator[Owed]:
        state, leader, broker = scene.state, scene.leader, replica.broker
        if leader is None or since >= state.leader_epoch or sight.controller == NOBODY or not sight.serves(broker):
            return
        if leader.log.log_start > replica.hw:
            return  # It failed by what it may not delete, and will again.
        yield Owed(
            scene.name, broker, (since, state.leader_epoch), sight.with_plane(broker), sight.bounds.told_us,
            sight.bounds.silence_us, "broker {} fetches no more since epoch {}, and leader {} has epoch {}",
            (broker, since, state.leader, state.leader_epoch),
        )  # fmt: skip

    def _unasked(self, sight: Sight, scene: Scene, replica: Replica, failure: _Failure) -> Iterator[Owed]:
        last, life = failure.last, sight.weather.life_of(replica.broker)
        if replica.following is None or (last, failure.life) != (replica.leader_epoch, life) or not failure.stood:
            return
        yield Owed(
            scene.name, replica.broker, ("by itself", last), (), 0, 0,
            "broker {} had given it up in epoch {}, and fetches again without a newer one", (replica.broker, last),
        )  # fmt: skip

    def __bool__(self) -> bool:
        """Whether any follower had given anything up when last looked at."""
        return bool(self._failed)

    def watches(self, partition: str) -> bool:
        """Whether any follower of it had given it up when last looked at."""
        return any(key[0] == partition for key in self._failed)

    def forget(self, partition: str) -> None:
        """It is deleted."""
        self._failed = {key: value for key, value in self._failed.items() if key[0] != partition}

    def save(self) -> tuple[Any, ...]:
        """All state."""
        return tuple((key, tuple(failure)) for key, failure in self._failed.items())

    def load(self, saved: tuple[Any, ...]) -> None:
        """Undo of :meth:`save`."""
        self._failed = {key: _Failure(*failure) for key, failure in saved}
