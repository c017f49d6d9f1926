"""One replica's steps: each puts the model's own replicas into a state, lets them act, and says how they stand then.

None stands for a step that cannot be taken: the replica is not in that role, or the other side refuses.
"""

from typing import Final

from cluster_model.broker.partition.partition import Replica
from cluster_model.model_checker.actors import Actors, append, book, fetch, leading, question, settle
from cluster_model.model_checker.shape import NOBODY, Decision, Local

_NOW: Final = 0
REFUSED: Final = -1
"""No fetch that the leader would count."""


class Steps:
    """The steps of one version."""

    def __init__(self, actors: Actors, *, strict_join: bool) -> None:
        """``strict_join``: a newcomer to the ISR also waits for the leader's HW to have reached its epoch.

        That is how the KIP-320 module has it; ``Partition.isFollowerInSync`` asks that of the newcomer's log only.
        """
        self._actors = actors
        self._profile = actors.profile
        self._strict_join = strict_join

    def write(self, broker: int, local: Local, number: int) -> Local:
        """A record is written; who leads alone moves its HW as a step of its own."""
        replica = self._actors.put(broker, local)
        append(replica, number)
        return local._replace(log=(*local.log, (replica.leader_epoch, number)))

    def lead(self, broker: int, local: Local, decision: Decision, epoch: int) -> Local:
        """It takes up the leadership."""
        replica = self._actors.put(broker, local)
        replica.apply(self._actors.state(decision, epoch), _NOW)
        leadership = leading(replica)
        return Local(local.log, local.hw, replica.leader_epoch, broker, leadership.isr, leadership.epoch_start)

    def follow(self, broker: int, local: Local, leader: int, epoch: int, other: Local | None) -> Local | None:
        """It begins to follow ``other``, truncation included, or is told that nobody leads."""
        replica = self._actors.put(broker, local)
        if not replica.apply(self._actors.state(Decision(leader, ()), epoch), _NOW):
            return None
        if other is not None and not settle(replica, self._actors.put(leader, other)):
            return None
        return _stands(replica, local)

    def restart(self, broker: int, local: Local, hw: int, newest: int) -> Local:
        """Its process dies and comes back with the HW it had written down; it hears of no decision but the newest."""
        replica = self._actors.put(broker, local)
        replica.checkpointed_hw = hw
        replica.stopped()
        replica.recovered()
        return Local(local.log[: replica.log.leo], replica.hw, newest - 1, NOBODY, ())

    def fetch(self, broker: int, local: Local, leader: Local) -> Local | None:
        """It fetches one record from the leader it believes in, or finds that leader's log to be shorter."""
        replica = self._actors.put(broker, local)
        if not fetch(replica, self._actors.put(local.leader, leader, replica.log.lineages)):
            return None
        end = replica.log.leo
        if end > len(local.log):
            return local._replace(log=(*local.log, leader.log[end - 1]), hw=replica.hw)
        return _stands(replica, local) if end < len(local.log) else None

    def counted(self, broker: int, local: Local, follower: int, other: Local) -> int:
        """Up to where the leader has heard of a follower, as far as it takes the HW one further."""
        return self._heard(self._actors.put(broker, local), local, follower, other, local.hw + 1)

    def _heard(self, replica: Replica, local: Local, follower: int, other: Local, most: int) -> int:
        if other.leader != replica.broker:
            return REFUSED
        offset = min(len(other.log), most)
        if not book(replica, follower, question(self._profile, other, offset)):
            return REFUSED
        replica.hw = local.hw
        return offset

    def advance(self, broker: int, local: Local, counted: tuple[int, ...]) -> Local | None:
        """The HW moves by one, if all that must have the record have asked for the next; ``counted`` by broker."""
        replica = self._actors.put(broker, local)
        leadership = leading(replica)
        for follower, offset in enumerate(counted):
            if offset != REFUSED:
                leadership.remotes[follower].fetched(self._profile, offset, replica.log.leo, _NOW)
        leadership.maybe_advance_hw(_NOW)
        return local._replace(hw=local.hw + 1) if replica.hw > local.hw else None

    def shrink(self, broker: int, local: Local, follower: int, other: Local) -> Local | None:
        """It takes a member out of the ISR that has been silent for too long, if that makes it out of sync."""
        replica = self._actors.put(broker, local)
        leadership = leading(replica)
        self._heard(replica, local, follower, other, len(other.log))
        leadership.write_off((follower,))
        leadership.shrink(_NOW)
        return None if leadership.pending is None else local._replace(isr=leadership.pending)

    def expand(self, broker: int, local: Local, follower: int, other: Local) -> Local | None:
        """It takes a newcomer into the ISR, by the rule of its version."""
        replica = self._actors.put(broker, local)
        leadership = leading(replica)
        if self._heard(replica, local, follower, other, len(other.log)) == REFUSED:
            return None
        if self._strict_join and local.hw < local.start:
            return None
        if not leadership.may_join(follower, leadership.remotes[follower]):
            return None
        return local._replace(isr=tuple(sorted((*local.isr, follower))))


def _stands(replica: Replica, before: Local) -> Local:
    """A follower after a step that brought no record."""
    leader = replica.leader
    return Local(before.log[: replica.log.leo], replica.hw, replica.leader_epoch, leader, ())


def decided(decisions: tuple[Decision, ...], isr: tuple[int, ...]) -> list[tuple[tuple[str, int], Decision]]:
    """What the controller may decide next, as its own step; ``isr`` is the present one.

    It elects any member, and gives up any; a leader that it gives up leaves nobody in its place, and the last member
    stays one.
    """
    leader = decisions[-1].leader if decisions else NOBODY
    found = [(("elect", member), Decision(member, isr)) for member in isr if member != leader]
    for member in isr:
        rest = tuple(broker for broker in isr if broker != member)
        if member != leader:
            found.append((("drop", member), Decision(leader, rest)))
        else:
            found.append((("drop", member), Decision(NOBODY, rest or isr)))
    return found
