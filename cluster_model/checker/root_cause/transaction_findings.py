"""Transactions whose log says otherwise than their producer was told, explained."""

from collections.abc import Iterator

from cluster_model.checker.history.fault_history import Deed, about, deed_words
from cluster_model.checker.history.partition_history import History
from cluster_model.checker.ledger.attempts import Attempts
from cluster_model.checker.ledger.transaction_outcomes import Transacted
from cluster_model.checker.root_cause.cause_codes import HANGING, LATE_MARKER, UNEXPLAINED
from cluster_model.checker.root_cause.findings import LEAKED, UNDONE, Link, Place
from cluster_model.checker.root_cause.telling import SETTLED, THEM, Told, offsets
from cluster_model.log.batch_store import Lineage
from cluster_model.observation.cluster_state import World
from cluster_model.protocol.batch import Batch
from cluster_model.protocol.events import Appended

BEFORE_US = 60_000_000
"""How long before the write what made an end late may have been over: a transaction's default timeout."""


class TransactionFindings:
    """What :class:`Transacted` counts, told with what stood against the producers."""

    def __init__(self, world: World, history: History, transacted: Transacted, attempts: Attempts) -> None:
        self._world = world
        self._history = history
        self._transacted = transacted
        self._attempts = attempts

    def told(self, now_us: int) -> Iterator[Told]:
        """All of them."""
        for partition, stint, batch, start, end, committed in self._transacted.contradicted():
            lineage = self._world.lineages[partition].by_id[stint]
            yield self._explain(partition, lineage, batch, start, end, now_us, committed=committed)

    def _explain(
        self, partition: str, lineage: Lineage, batch: Batch, start: int, end: int, now_us: int, *, committed: bool
    ) -> Told:
        sequence = batch.sequence + start - batch.base
        written = lineage.appended_at(start)
        who = batch.client
        told, stands = ("aborted", "committed") if committed else ("committed", "aborted")
        cause = LATE_MARKER if self._attempts.of(who, partition, sequence, written) is None else HANGING
        if self._world.profile.transactions_v2:
            cause = UNEXPLAINED
        deed = self._against(who, written)
        words = (
            f"broker {lineage.broker} wrote {THEM} at {offsets(start, end)} of {partition} in a transaction of {who}"
        )
        links = [Link(written, Appended.kind, partition, lineage.broker, words)]
        happened = ""
        if deed is not None:
            happened = deed_words(deed, who, self._history.deeds.step_of(deed.moment, deed.at_us))
            links.append(Link(deed.at_us, deed.event_kind, "", -1, happened))
        links.sort(key=lambda link: link.at_us)
        end_words = f"{who} was told {told}, and the leader's log says {stands}"
        links.append(Link(now_us, SETTLED, partition, -1, end_words))
        late = "an end asked for earlier came late, and ended this transaction in the place of the one that it was for"
        late = late if cause == LATE_MARKER else ""
        clauses = [happened, late, end_words]
        place = Place(partition, who, sequence, end - start, start, lineage.epoch, batch.acks, committed=committed)
        key = deed.key if deed is not None else ("producer", who)
        kind = LEAKED if committed else UNDONE
        return Told(kind, cause, key, place, None, tuple(each for each in clauses if each), tuple(links))

    def _against(self, who: str, written_us: int) -> Deed | None:
        standing = about(self._history.deeds.standing(), who, written_us - BEFORE_US)
        before = [deed for deed in standing if deed.at_us <= written_us]
        return before[-1] if before else None
