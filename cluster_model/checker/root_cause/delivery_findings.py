"""Records that stand in a log twice, or behind later ones, explained by what their producer was told."""

from collections.abc import Iterator
from itertools import pairwise

from cluster_model.checker.history.fault_history import about, deed_words
from cluster_model.checker.history.partition_history import History
from cluster_model.checker.ledger.attempts import Again, Attempts
from cluster_model.checker.ledger.duplicates import Repeats
from cluster_model.checker.ledger.in_flight import outran
from cluster_model.checker.root_cause import cause_codes as codes
from cluster_model.checker.root_cause.findings import DUPLICATE, REORDERED, Link, Place
from cluster_model.checker.root_cause.telling import THEM, Told, at, offsets
from cluster_model.log.batch_store import Lineage
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.batch import Batch
from cluster_model.protocol.events import Appended, NodeDown, ProduceRefused


class RepeatFindings:
    """What :class:`Repeats` counts, told with what the producers tried."""

    def __init__(self, world: World, history: History, repeats: Repeats, attempts: Attempts) -> None:
        self._world = world
        self._history = history
        self._repeats = repeats
        self._attempts = attempts

    def told(self) -> Iterator[Told]:
        """All of them, cut where what is known changes."""
        for client, partition, sequence, first, again, count in self._repeats.copies():
            for low, high in self._parts(client, partition, sequence, count):
                by = low - sequence
                yield self._duplicate(
                    client, partition, low, high - low, (first[0], first[1] + by), (again[0], again[1] + by)
                )
        for client, partition, sequence, where, count in self._repeats.late():
            for low, high in self._parts(client, partition, sequence, count):
                yield self._reordered(client, partition, low, high - low, (where[0], where[1] + low - sequence))

    def _parts(self, client: str, partition: str, sequence: int, count: int) -> Iterator[tuple[int, int]]:
        bounds = {sequence, sequence + count, *self._attempts.bounds(client, partition)}
        yield from pairwise(sorted(bound for bound in bounds if sequence <= bound <= sequence + count))

    def _lineage(self, partition: str, stint: int) -> Lineage:
        return self._world.lineages[partition].by_id[stint]

    def _place(self, client: str, partition: str, sequence: int, count: int, where: tuple[int, int]) -> Place:
        lineage = self._lineage(partition, where[0])
        batch = lineage.batch_at(where[1])
        return Place(partition, client, sequence, count, where[1], lineage.epoch, batch.acks, committed=False)

    def _duplicate(
        self, client: str, partition: str, sequence: int, count: int, first: tuple[int, int], again: tuple[int, int]
    ) -> Told:
        one, other = self._lineage(partition, first[0]), self._lineage(partition, again[0])
        tried = self._attempts.of(client, partition, sequence, other.appended_at(again[1]))
        before, after = one.batch_at(first[1]), other.batch_at(again[1])
        who = client or "a client"
        restart = self._restart(client, one.appended_at(first[1]), other.appended_at(again[1]))
        if before.producer_id < 0 or after.producer_id < 0:
            plain = codes.PRODUCER_RESTART if restart else codes.UNEXPLAINED
            cause = codes.NO_IDEMPOTENCE if tried is not None and tried.error else plain
        elif (before.producer_id, before.producer_epoch) == (after.producer_id, after.producer_epoch):
            cause = codes.FORGOTTEN_STATE
        else:
            cause = codes.PRODUCER_RESTART if restart else self._refused(partition, before, after, again[1])
        links = [
            self._wrote(one, partition, first[1], count, "wrote"),
            *self._trouble(who, tried),
            self._wrote(other, partition, again[1], count, "wrote", "again"),
        ]
        if restart is not None:
            links.insert(1, restart)
        links.sort(key=lambda link: link.at_us)
        clauses = (
            f"broker {one.broker} had written {THEM} before",
            *self._clauses(who, tried, restart),
            f"{who} sent {THEM} again, and broker {other.broker}{_unknown_to(cause)} wrote {THEM} again",
        )
        place = self._place(client, partition, sequence, count, again)
        return Told(DUPLICATE, cause, _key(tried, restart), place, None, clauses, tuple(links))

    def _refused(self, partition: str, before: Batch, after: Batch, offset: int) -> str:
        """Why a producer wrote again under another epoch."""
        leader = self._world.true_leader(partition)
        if leader is None or before.producer_id != after.producer_id:
            return codes.FORGOTTEN_STATE
        many = outran(leader.log, before.producer_epoch, after, offset)
        return codes.TOO_MANY_IN_FLIGHT if many else codes.FORGOTTEN_STATE

    def _reordered(self, client: str, partition: str, sequence: int, count: int, where: tuple[int, int]) -> Told:
        lineage = self._lineage(partition, where[0])
        tried = self._attempts.of(client, partition, sequence, lineage.appended_at(where[1]))
        cause = codes.RETRY_IN_FLIGHT if tried is not None and tried.error else codes.UNEXPLAINED
        who = client or "a client"
        links = [
            *self._trouble(who, tried),
            self._wrote(lineage, partition, where[1], count, "wrote", "behind later ones"),
        ]
        links.sort(key=lambda link: link.at_us)
        clauses = (
            *self._clauses(who, tried, None),
            f"later ones were written meanwhile, and broker {lineage.broker} wrote {THEM} behind those",
        )
        place = self._place(client, partition, sequence, count, where)
        return Told(REORDERED, cause, _key(tried, None), place, None, clauses, tuple(links))

    def _wrote(self, lineage: Lineage, partition: str, offset: int, count: int, verb: str, how: str = "") -> Link:
        words = f"broker {lineage.broker}, leader in epoch {lineage.epoch}, {verb} {THEM}{' ' * bool(how)}{how}"
        words += f" at {offsets(offset, offset + count)} of {partition}"
        return Link(lineage.appended_at(offset), Appended.kind, partition, lineage.broker, words)

    def _trouble(self, who: str, tried: Again | None) -> list[Link]:
        links: list[Link] = []
        if tried is None or not tried.error:
            return links
        deed = tried.deed
        if deed is not None:
            node = who if who in deed.node.split(", ") else f"broker {tried.refused_by}"
            broker = -1 if node == who else tried.refused_by
            links.append(Link(deed.at_us, deed.event_kind, "", broker, self._deed(tried, who)))
        words = f"{who} got {tried.error} from broker {tried.refused_by}"
        links.append(Link(tried.refused_us, ProduceRefused.kind, "", -1, words))
        return links

    def _deed(self, tried: Again, who: str) -> str:
        deed = tried.deed
        if deed is None:
            return ""
        node = who if who in deed.node.split(", ") else f"broker {tried.refused_by}"
        return deed_words(deed, node, self._history.deeds.step_of(deed.moment, deed.at_us))

    def _clauses(self, who: str, tried: Again | None, restart: Link | None) -> list[str]:
        found = [] if restart is None else [restart.words]
        if tried is not None and tried.error:
            found += [self._deed(tried, who)] if tried.deed is not None else []
            found.append(f"{who} got {tried.error} from broker {tried.refused_by}{at(tried.refused_us)}")
        return found

    def _restart(self, client: str, since_us: int, until_us: int) -> Link | None:
        """The producer's process ended between two writes."""
        for deed in about(self._history.deeds.standing(), client, since_us):
            if deed.event_kind == NodeDown.kind and since_us <= deed.at_us <= until_us:
                who = self._history.deeds.step_of(deed.moment, deed.at_us)
                return Link(deed.at_us, deed.event_kind, "", -1, deed_words(deed, client, who))
        return None


def _unknown_to(cause: str) -> str:
    if cause == codes.TOO_MANY_IN_FLIGHT:
        return ", which knows a producer's last five batches again,"
    return f", which did not know {THEM} by number," if cause == codes.NO_IDEMPOTENCE else ""


def _key(tried: Again | None, restart: Link | None) -> tuple[object, ...]:
    if restart is not None:
        return ("restart", restart.at_us)
    if tried is None:
        return ("unknown",)
    return tried.deed.key if tried.deed is not None else ("refused",)
