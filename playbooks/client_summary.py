"""What a session came to for each of its clients: in the result, its document and on the screen.

Numbers are of the client history. Three are of other sources, because no event has them: what a producer still queues
and has under way is of its own books at that moment, and a group's generation and lag are what an administrator's
``describe`` finds then.
"""

from dataclasses import dataclass
from typing import Any

from cluster_model.views import ClusterView, GroupView, ProducerView
from playbooks.client_books import ClientBooks, GroupBook, MemberBook, ProducerBook

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

    def to_json(self) -> dict[str, Any]:
        """As in the published document."""
        return {
            "sent": self.sent,
            "acked": self.acked,
            "failed": self.failed,
            "unknown": self.unknown,
            "unanswered": self.unanswered,
            "queued": self.queued,
            "in_flight": self.in_flight,
            "retries": self.retries,
            "refused": dict(self.refused),
            "errors": dict(self.errors),
            **({"aborted": self.aborted} if self.aborted else {}),
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

    def to_json(self) -> dict[str, Any]:
        """As in the published document."""
        return {
            "read": self.read,
            "reread": self.reread,
            "skipped": self.skipped,
            "commits": self.commits,
            "failed_commits": self.failed_commits,
            "lost": self.lost,
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
        tuple(
            [
                _producer(name, books.producers.get(name) or ProducerBook(), producers.get(name))
                for name in sorted({*books.producers, *producers})
            ]
        ),
        tuple(
            [
                _group(name, books.groups.get(name) or GroupBook(), groups.get(name))
                for name in sorted({*books.groups, *groups})
            ]
        ),
    )


def _producer(name: str, book: ProducerBook, view: ProducerView | None) -> ProducerSummary:
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
    )


def _group(name: str, book: GroupBook, view: GroupView | None) -> GroupSummary:
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
        members=tuple(
            [_member(each, book.members.get(each) or MemberBook()) for each in sorted({*book.members, *assigned})]
        ),
    )


def _member(name: str, book: MemberBook) -> MemberSummary:
    return MemberSummary(
        name=name,
        read=book.read,
        reread=book.reread,
        skipped=book.skipped,
        commits=book.commits,
        failed_commits=book.failed_commits,
        lost=book.lost,
        failure=book.failure,
    )
