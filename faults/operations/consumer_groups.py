"""``kafka-consumer-groups.sh --reset-offsets`` (KIP-122): look, work out, tell, and with ``execute`` commit.

The tool looks first and commits later, without being a member: whoever joins in between makes the coordinator refuse
the commit by UNKNOWN_MEMBER_ID. A group that has members when it looks is left alone; Kafka has no error for that, and
here it is NON_EMPTY_GROUP, with the tool's words.
"""

from typing import Any, Final

from cluster_model.clients.admin_routing import Answer
from cluster_model.coordinators.group.consumer_groups_tool import reset_table
from cluster_model.coordinators.group.resetting import Known, ResetError, Strategy, new_offset, refusal
from cluster_model.protocol.group_messages import (
    NO_GENERATION,
    CommittedOffset,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from cluster_model.protocol.messages import EARLIEST, LATEST
from faults.declarations.fault import FaultError
from faults.operations.job import Hands, Job, verdict
from faults.operations.looking import Looking, committed_in, counted, the_group
from faults.operations.planning import PlanError
from faults.operations.scopes import offsets_in, partitions_in, topics_asked

_SCOPES: Final = ("topics", "all_topics")


class Resetting(Looking):
    """Stages: state; metadata, committed or both, as the partitions and the strategy want it; the logs; commit."""

    def check(self, hands: Hands, job: Job) -> None:
        """Either topics, or all, or a file."""
        del hands
        given = [name for name in _SCOPES if job.params[name]]
        if strategy_of(job) is Strategy.FROM_FILE and given:
            raise FaultError(f"reset_offsets: from_file names its partitions itself, found {given[0]} too")
        if strategy_of(job) is not Strategy.FROM_FILE and len(given) != 1:
            raise FaultError(f"reset_offsets needs topics or all_topics, found {' and '.join(given) or 'neither'}")

    def begin(self, hands: Hands, job: Job) -> None:
        """Ask for its state."""
        job.memo |= {"committed": (), "starts": (), "ends": (), "times": (), "partitions": None}
        self.ask_group(hands, job)

    def _state(self, hands: Hands, job: Job, answer: Any) -> None:
        refused = refusal(job.params["group"], str(the_group(answer).state))
        if refused:
            hands.end(job, "NON_EMPTY_GROUP", refused)
        elif strategy_of(job) is Strategy.FROM_FILE:
            self._about(hands, job, tuple(offsets_in(job.params["from_file"])))
        elif job.params["all_topics"]:
            self._ask_committed(hands, job)
        elif topics_asked(job.params["topics"]):
            self.ask_metadata(hands, job)
        else:
            self._about(hands, job, partitions_in(job.params["topics"]))

    def _metadata(self, hands: Hands, job: Job, answer: Any) -> None:
        if not answer.brokers:
            hands.end(job, "REQUEST_TIMED_OUT", "no broker told its metadata in time")
            return
        try:
            self._about(hands, job, partitions_in(job.params["topics"], answer))
        except PlanError as wrong:
            hands.end(job, wrong.error, str(wrong))

    def _about(self, hands: Hands, job: Job, partitions: tuple[str, ...]) -> None:
        """These it is about: what is committed for them, or on to their logs."""
        job.memo["partitions"] = partitions
        if strategy_of(job).needs_committed:
            self._ask_committed(hands, job)
        else:
            self._look(hands, job)

    def _ask_committed(self, hands: Hands, job: Job) -> None:
        job.stage = "committed"
        hands.ask(job, OffsetFetchRequest(0, job.params["group"], job.memo["partitions"]))

    def _committed(self, hands: Hands, job: Job, answer: Any) -> None:
        job.memo["committed"] = committed_in(answer)
        if job.memo["partitions"] is None:
            job.memo["partitions"] = tuple(partition for partition, _offset in job.memo["committed"])
        self._look(hands, job)

    # -- the logs ---------------------------------------------------------------------------------------------------

    def _look(self, hands: Hands, job: Job) -> None:
        """Begin with what the strategy goes by."""
        strategy, partitions = strategy_of(job), job.memo["partitions"]
        if strategy.by_time:
            since = job.params["to_datetime"]
            wanted = since if strategy is Strategy.TO_DATETIME else hands.cluster.now_us - job.params["by_duration"]
            asked = self.ask_offsets(hands, job, "times", partitions, max(0, wanted))
        elif strategy.needs_start:
            asked = self.ask_offsets(hands, job, "starts", partitions, EARLIEST)
        else:
            asked = False
        if not asked:
            self._ask_ends(hands, job)

    def _times(self, hands: Hands, job: Job, answer: Any) -> None:
        if self.gathered(job, answer):
            self._ask_ends(hands, job)

    _starts = _times

    def _ask_ends(self, hands: Hands, job: Job) -> None:
        """The ends of those logs whose end matters."""
        strategy, partitions = strategy_of(job), job.memo["partitions"]
        if strategy is Strategy.TO_EARLIEST:
            partitions = ()
        elif strategy.by_time or strategy is Strategy.TO_CURRENT:
            found = dict(job.memo["times" if strategy.by_time else "committed"])
            partitions = tuple(each for each in partitions if found.get(each, -1) < 0)
        if not self.ask_offsets(hands, job, "ends", partitions, LATEST):
            self._decide(hands, job)

    def _ends(self, hands: Hands, job: Job, answer: Any) -> None:
        if self.gathered(job, answer):
            self._decide(hands, job)

    # -- what comes of it -------------------------------------------------------------------------------------------

    def _decide(self, hands: Hands, job: Job) -> None:
        try:
            offsets, warnings = worked_out(job)
        except ResetError as wrong:
            hands.end(job, "INVALID_REQUEST", str(wrong))
            return
        for warning in warnings:
            hands.progress(job, warning)
        if not offsets:
            hands.end(job, "", "there is nothing to reset")
            return
        self.tell(hands, job, reset_table(job.params["group"], offsets))
        job.memo["new"] = len(offsets)
        if not job.params["execute"]:
            hands.end(job, "", f"a dry run: nothing is committed, {counted(len(offsets), 'partition')} would be reset")
            return
        job.stage = "commit"
        commits = tuple(CommittedOffset(partition, offset) for partition, offset in offsets.items())
        hands.ask(job, OffsetCommitRequest(0, job.params["group"], NO_GENERATION, "", commits))

    def answered(self, hands: Hands, job: Job, answer: Answer) -> None:
        """The commit's answer is the end."""
        if job.stage != "commit":
            super().answered(hands, job, answer)
            return
        error, detail = verdict(answer)
        hands.end(job, error, detail or ("" if error else f"{counted(job.memo['new'], 'partition')} reset"))


def strategy_of(job: Job) -> Strategy:
    """The one that was asked for."""
    operation, params = job.operation, job.params
    given = (each for each in operation.params if each.name in operation.one_of and params[each.name] != each.default)
    return Strategy(next(given).name)


def worked_out(job: Job) -> tuple[dict[str, int], list[str]]:
    """The new offsets by partition, and what the tool warns of.

    Raises:
        ResetError: the whole command fails.
    """
    strategy, memo = strategy_of(job), job.memo
    committed, starts, ends, times = (dict(memo[name]) for name in ("committed", "starts", "ends", "times"))
    lines = offsets_in(job.params["from_file"])
    numbers = {Strategy.TO_OFFSET: job.params["to_offset"], Strategy.SHIFT_BY: job.params["shift_by"]}
    offsets: dict[str, int] = {}
    warnings: list[str] = []
    for each in memo["partitions"]:
        known = Known(committed.get(each, -1), starts.get(each, -1), ends.get(each, -1), times.get(each, -1))
        reset = new_offset(strategy, each, numbers.get(strategy, lines.get(each, -1)), known)
        offsets[each] = reset.offset
        warnings += [reset.warning] if reset.warning else []
    return offsets, warnings
