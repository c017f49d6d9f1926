"""The functions of the condition language: one table for the checker, the evaluator and the documentation."""

from dataclasses import dataclass
from typing import Final, Literal

from playbooks.conditions.types import ANYTHING, NUMBER, TEXT, TIME, Type, list_of

Argument = Literal["partition", "broker", "group", "producer", "invariant", "property", "cause", "anomaly", "fault"]


@dataclass(frozen=True, slots=True)
class Function:
    """A question to the cluster. All but the first ``required`` arguments may be left out."""

    name: str
    arguments: tuple[Argument, ...]
    required: int
    result: Type
    doc: str

    @property
    def signature(self) -> str:
        """How it is called: ``leo(partition, [broker])``."""
        words = [word if i < self.required else f"[{word}]" for i, word in enumerate(self.arguments)]
        return f"{self.name}({', '.join(words)})"


def _partition(name: str, result: Type, doc: str) -> Function:
    return Function(name, ("partition",), 1, result, doc)


def _replica(name: str, doc: str) -> Function:
    return Function(name, ("partition", "broker"), 1, NUMBER, doc)


def _count(name: str, doc: str) -> Function:
    return Function(name, (), 0, NUMBER, doc)


def _ledger(name: str, doc: str) -> Function:
    return Function(name, ("producer",), 0, NUMBER, doc)


FUNCTIONS: Final[dict[str, Function]] = {
    function.name: function
    for function in (
        _partition("leader", NUMBER, "Id of the leader by the controller's state; -1 when nobody leads."),
        _partition("isr", list_of(NUMBER), "In-sync replicas by the controller's state, in ascending order."),
        _partition("replicas", list_of(NUMBER), "Assigned replicas, the preferred leader first."),
        _replica("leo", "Log end offset (the next to be written) of the true leader, or of the broker's replica."),
        _replica("hw", "High watermark (exclusive): the partition's true one, or what the broker's replica knows."),
        _replica("lso", "Last stable offset (exclusive): below it every transaction has ended, as that replica knows."),
        _replica("epoch", "Leader epoch by the controller's state, or the one the broker acts in."),
        _replica("log_start", "First offset still held, of the true leader or of the broker's replica."),
        _partition("diverged", NUMBER, "Offsets at which the logs of live replicas hold different records."),
        Function("log", ("partition", "broker"), 2, list_of(list_of(ANYTHING)),
                 "The replica's records as [epoch, record]; a record is its name where a step gave it one."),
        Function("up", ("broker",), 1, Type("boolean"), "Whether the broker's process runs (a paused one does)."),
        Function("lag", ("group", "partition"), 1, NUMBER,
                 "Records between what the group has committed, else read, and the HW; negative if that is gone."),
        Function("members", ("group",), 1, NUMBER, "Members of the group, by its coordinator if it has one."),
        Function("committed", ("group", "partition"), 2, NUMBER,
                 "Offset that the group has committed for the partition, the next to be read; -1 for none."),
        Function("group_state", ("group",), 1, TEXT,
                 'The group\'s state by its coordinator: "Stable", "Empty" ..., "Dead" where it is not known; '
                 "also state(group)."),
        Function("generation", ("group",), 1, NUMBER,
                 "Generation of the group by its coordinator; -1 while nobody knows."),
        Function("owned", ("group",), 1, NUMBER, "Partitions that one of the group's consumers takes for its own."),
        Function("read", ("group",), 1, NUMBER, "Records handed to the group's applications, each time counted."),
        Function("reread", ("group",), 1, NUMBER, "Records handed to one of them that had been handed to one before."),
        Function("passed_over", ("group",), 1, NUMBER,
                 "Offsets that no application of the group was handed, between others that were."),
        Function("abandoned", ("group",), 1, NUMBER,
                 "Records an application of the group had in hand when it ended, and nobody was handed since."),
        _ledger("sent", "Records handed to the producer, or to all producers."),
        _ledger("acked", "Records whose success callback came."),
        _ledger("failed", "Records that an error proves were not written."),
        _ledger("unknown", "Records that may or may not be in the log: a timeout, a lost connection."),
        _ledger("unknown_written", "Unknown records that the leader's log holds after all."),
        _ledger("aborted", "Records that went with an aborted transaction: neither acked nor lost."),
        _ledger("undone", "Acked records whose transaction stands aborted in the leader's log."),
        _ledger("leaked", "Aborted records whose transaction stands committed in the leader's log."),
        _ledger("missing", "Acked records that the current leader's log does not hold right now."),
        _ledger("acked_lost", "Acked records that no replica's log holds; at the end of a run, all missing ones."),
        _ledger("committed_lost", "The same among records below the HW: a consumer could have read them."),
        _ledger("duplicates", "Records that stand in a log more than once."),
        _ledger("reordered", "Records that stand in a log before one that was sent earlier."),
        _count("offline_partitions", "Partitions without a leader."),
        _count("under_replicated", "Partitions with fewer in-sync replicas than assigned ones."),
        _count("under_min_isr", "Partitions with fewer in-sync replicas than min.insync.replicas."),
        _count("at_min_isr", "Partitions with just as many in-sync replicas as min.insync.replicas."),
        _partition("leaders", list_of(NUMBER),
                   "Every running broker that takes itself to lead, in ascending order: two at once are a split view."),
        _partition("elr", list_of(NUMBER), "Eligible leader replicas (KIP-966), in ascending order."),
        _partition("partition_epoch", NUMBER,
                   "Partition epoch by the controller's state; in ZooKeeper mode the version of the state node."),
        Function("believed_leader", ("partition", "broker"), 2, NUMBER,
                 "Whom the broker's metadata names as leader; -1 for nobody, and while the broker is down."),
        Function("stale", ("broker",), 1, NUMBER,
                 "Partitions of which the broker's metadata is older than what is decided; 0 while it is down."),
        Function("fenced", ("broker",), 0, NUMBER,
                 "Brokers that the controller does not count on; of one broker 1 if it is so, else 0."),
        _count("controller", "Id of the active controller's node; -1 while there is none."),
        _count("controller_epoch", "Epoch of the newest controller."),
        _count("controllers",
               "Running nodes that are or may become the controller: of the KRaft quorum, in ZooKeeper mode brokers."),
        _count("operations", "Operations of the administrator that have not come to their end."),
        Function("faults", ("fault",), 0, NUMBER,
                 "Faults that are active, all or of one name; a bounce is until the process has been started again."),
        Function("violations", ("invariant",), 0, NUMBER, "Broken properties of the protocol, all or of one name."),
        Function("unexpected_violations", ("invariant",), 0, NUMBER,
                 "The same without those that the version is known for: what must not happen under it."),
        Function("anomalies", ("anomaly",), 0, NUMBER,
                 "What clients could see and must not have, by their settings; of one name all, legal or not."),
        Function("overdue", ("property",), 0, NUMBER,
                 "Promises of liveness found overdue, all or of one name (docs/liveness.md)."),
        Function("unexpected_overdue", ("property",), 0, NUMBER,
                 "The same without those that the version is known not to keep."),
        Function("findings", ("cause",), 0, NUMBER,
                 "What went wrong with records, once for each cause, all or of one cause: findings(unclean-election)."),
        Function("now", (), 0, TIME, "Virtual time since the start."),
    )
}  # fmt: skip
"""Name → function, in the order of the documentation. Each is a method of the model's query object."""

LEN: Final = Function("len", (), 1, NUMBER, "How many elements a list has: len(isr(orders-0)) >= 2.")
"""The one function that asks the cluster nothing; its argument is any list."""

ALL: Final[dict[str, Function]] = FUNCTIONS | {LEN.name: LEN}

ALSO: Final = {"state": "group_state"}
"""Other name of a function → its own."""
