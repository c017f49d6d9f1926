"""What a session came to for each of its clients: in the result, its document and on the screen.

Numbers are of the client history. Three are of other sources, because no event has them: what a producer still queues
and has under way is of its own books at that moment, and a group's generation and lag are what an administrator's
``describe`` finds then.
"""

from dataclasses import dataclass
from typing import Any

from cluster_model.observation.views import ClusterView, GroupView, ProducerView
from playbooks.errors import counted
from playbooks.results.client_books import ClientBooks, GroupBook, MemberBook, ProducerBook

Counts = tuple[tuple[str, int], ...]
"""Error names with a number, by name."""


@dataclass(frozen=True, slots=True)
class ProducerSummary:
    """A producer: records by their outcome, attempts, and what is not settled."""

    name: str
    sent: int
    acked: int
    failed: int
    unknown: int
    unanswered: int
    """Records whose callback had not come."""
    queued: int
    """Records that waited in the accumulator."""
    in_flight: int
    """Batches under way."""
    retries: int
    """Attempts beyond the first."""
    refused: Counts
    """Attempts that ended in an error."""
    errors: Counts
    """Records failed or unknown, by the error that their callback got."""
    aborted: int = 0
    """Records that went with an aborted transaction."""
    transactions: int = 0
    """Transactions begun."""
    transactions_committed: int = 0
    transactions_aborted: int = 0
    transactions_unknown: int = 0
    """Transactions of which the producer cannot tell whether they are committed."""
    interceptor_failures: int = 0
    """Records at which an interceptor threw."""
    killed: int = 0
    """How often its process was killed ..."""
    closed: int = 0
    """... or closed in order."""
    failure: str = ""
    """The fatal error that ended it, empty for none."""

    @property
    def transactions_open(self) -> int:
        """Transactions whose end the producer was not told: it had not come, or came after the producer's own."""
        ended = self.transactions_committed + self.transactions_aborted + self.transactions_unknown
        return self.transactions - ended

    def to_json(self) -> dict[str, Any]:
        """As in the published document."""
        return {
            "sent": self.sent,
            "acked": self.acked,
            "failed": self.failed,
            "unknown": self.unknown,
            "aborted": self.aborted,
            "unanswered": self.unanswered,
            "queued": self.queued,
            "in_flight": self.in_flight,
            "retries": self.retries,
            "refused": dict(self.refused),
            "errors": dict(self.errors),
            "transactions": self.transactions,
            "transactions_committed": self.transactions_committed,
            "transactions_aborted": self.transactions_aborted,
            "transactions_unknown": self.transactions_unknown,
            "interceptor_failures": self.interceptor_failures,
            "killed": self.killed,
            "closed": self.closed,
            "failure": self.failure,
        }


@dataclass(frozen=True, slots=True)
class MemberSummary:
    """A consumer."""

    name: str
    read: int
    reread: int
    skipped: int
    commits: int
    failed_commits: int
    lost: int
    """Partitions that it found to be its own no more."""
    failure: str
    """The exception that ended it, empty for none."""
    abandoned: int = 0
    """Records that it was handed and that its application never came to process."""
    killed: int = 0
    """How often its process was killed ..."""
    closed: int = 0
    """... or closed in order."""

    def to_json(self) -> dict[str, Any]:
        """As in the published document."""
        return {
            "read": self.read,
            "reread": self.reread,
            "skipped": self.skipped,
            "commits": self.commits,
            "failed_commits": self.failed_commits,
            "lost": self.lost,
            "abandoned": self.abandoned,
            "killed": self.killed,
            "closed": self.closed,
            "failure": self.failure,
        }


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group and its consumers."""

    name: str
    read: int
    reread: int
    """Records handed out to the group that it had been handed before."""
    lag: int
    """Of what is committed, else of the positions, to the end; may be negative."""
    generation: int
    """-1 for none."""
    rebalances: int
    idle_us: int
    """Time that partitions had no owner in rebalances, summed over them."""
    commits: int
    commit_errors: Counts
    skipped: int
    truncations: int
    resets: int
    members: tuple[MemberSummary, ...]

    @property
    def failed_commits(self) -> int:
        """Commits that came to nothing, or whose outcome nobody knows."""
        return sum(each.failed_commits for each in self.members)

    @property
    def abandoned(self) -> int:
        """Records handed out that nobody's application came to process."""
        return sum(each.abandoned for each in self.members)

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """Consumers that an exception ended, with its name."""
        return tuple([(each.name, each.failure) for each in self.members if each.failure])

    def to_json(self) -> dict[str, Any]:
        """As in the published document."""
        return {
            "read": self.read,
            "reread": self.reread,
            "lag": self.lag,
            "generation": self.generation,
            "rebalances": self.rebalances,
            "idle_us": self.idle_us,
            "commits": self.commits,
            "failed_commits": self.failed_commits,
            "commit_errors": dict(self.commit_errors),
            "skipped": self.skipped,
            "abandoned": self.abandoned,
            "truncations": self.truncations,
            "resets": self.resets,
            "members": {each.name: each.to_json() for each in self.members},
        }


@dataclass(frozen=True, slots=True)
class Clients:
    """All clients, by name."""

    producers: tuple[ProducerSummary, ...] = ()
    groups: tuple[GroupSummary, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As in the published document."""
        return {
            "producers": {each.name: each.to_json() for each in self.producers},
            "groups": {each.name: each.to_json() for each in self.groups},
        }


def summed_up(books: ClientBooks, view: ClusterView) -> Clients:
    """The books of now; clients that have done nothing yet have noughts."""
    producers = {each.name: each for each in view.producers}
    groups = {each.name: each for each in view.groups}
    return Clients(
        tuple([_producer(name, books, producers.get(name)) for name in sorted({*books.producers, *producers})]),
        tuple([_group(name, books, groups.get(name)) for name in sorted({*books.groups, *groups})]),
    )


def transaction_words(one: ProducerSummary) -> str:
    """``12 transactions, 9 committed, 2 aborted, 1 without an end``; only the ends that there were."""
    ends = {
        "committed": one.transactions_committed,
        "aborted": one.transactions_aborted,
        "unknown": one.transactions_unknown,
        "without an end": one.transactions_open,
    }
    told = [f"{times} {how}" if times < one.transactions else f"all {how}" for how, times in ends.items() if times]
    return ", ".join([counted(one.transactions, "transaction"), *told])


def _producer(name: str, books: ClientBooks, view: ProducerView | None) -> ProducerSummary:
    book = books.producers.get(name) or ProducerBook()
    return ProducerSummary(
        name=name,
        sent=book.sent,
        acked=book.acked,
        failed=book.failed,
        unknown=book.unknown,
        aborted=book.aborted,
        unanswered=book.unanswered,
        queued=0 if view is None else view.queued,
        in_flight=0 if view is None else view.in_flight,
        retries=book.retries,
        refused=tuple(sorted(book.refused.items())),
        errors=tuple(sorted(book.errors.items())),
        transactions=book.transactions,
        transactions_committed=book.transactions_committed,
        transactions_aborted=book.transactions_aborted,
        transactions_unknown=book.transactions_unknown,
        interceptor_failures=book.interceptor_failures,
        killed=books.killed.get(name, 0),
        closed=books.closed.get(name, 0),
        failure=book.failure,
    )


def _group(name: str, books: ClientBooks, view: GroupView | None) -> GroupSummary:
    book = books.groups.get(name) or GroupBook()
    assigned = () if view is None else [member for member, _partitions in view.assignment]
    return GroupSummary(
        name=name,
        read=book.total("read"),
        reread=book.total("reread"),
        lag=0 if view is None else view.lag,
        generation=-1 if view is None else view.generation,
        rebalances=book.rebalances,
        idle_us=book.idle_us,
        commits=book.total("commits"),
        commit_errors=tuple(sorted(book.commit_errors.items())),
        skipped=book.total("skipped"),
        truncations=book.truncations,
        resets=book.resets,
        members=tuple([_member(each, books, book.members.get(each)) for each in sorted({*book.members, *assigned})]),
    )


def _member(name: str, books: ClientBooks, kept: MemberBook | None) -> MemberSummary:
    book = kept or MemberBook()
    return MemberSummary(
        name=name,
        read=book.read,
        reread=book.reread,
        skipped=book.skipped,
        commits=book.commits,
        failed_commits=book.failed_commits,
        lost=book.lost,
        failure=book.failure,
        abandoned=book.abandoned,
        killed=books.killed.get(name, 0),
        closed=books.closed.get(name, 0),
    )
