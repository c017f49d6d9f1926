"""The operations of ``kafka-consumer-groups.sh``: describe, list, delete offsets, reset offsets (KIP-122).

The tool queries the group first and commits later, without being a member: if a member joins in between, the
coordinator rejects the commit with UNKNOWN_MEMBER_ID. A group that has members at the first query is not changed; Kafka
has no error code for that, so the error is NON_EMPTY_GROUP with the tool's message.
"""

from collections.abc import Iterable
from typing import Any, Final

from cluster_model.clients import Answer, BrokerCall, DescribeMetadata
from cluster_model.coordinators.group import (
    GroupState,
    PartitionOffsets,
    ResetError,
    Strategy,
    Table,
    aligned,
    list_table,
    member_table,
    new_offset,
    offset_table,
    partitions_of,
    refusal,
    reset_table,
    state_table,
    warning,
)
from cluster_model.protocol.group_messages import (
    NO_GENERATION,
    CommittedOffset,
    DescribedGroup,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    ListedGroup,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from cluster_model.protocol.messages import (
    EARLIEST,
    LATEST,
    NO_LEADER,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataResponse,
)
from faults.declarations.fault import FaultError
from faults.operations.base import OperationBehaviour, OperationContext, OperationJob, count_text, error_and_detail
from faults.operations.reassignment import ReassignmentError, states_of

# Common to operations on groups: many offsets in one request, and tables printed line by line.


ANY_EPOCH = -1


class StagedOperation(OperationBehaviour):
    """Operation of several stages; the method that handles a stage's responses is its name after ``_``."""

    def on_response(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """End on an error, else pass the response to the current stage."""
        error, detail = error_and_detail(answer)
        if error:
            context.end(job, error, detail or f"requested: {job.stage}")
        else:
            getattr(self, f"_{job.stage}")(context, job, answer)

    def ask_group(self, context: OperationContext, job: OperationJob) -> None:
        """Request the group's description; stage ``state``."""
        job.stage = "state"
        context.send(job, DescribeGroupsRequest(0, (job.params["group"],)))

    def ask_metadata(self, context: OperationContext, job: OperationJob) -> None:
        """Request the cluster's metadata; stage ``metadata``."""
        job.stage = "metadata"
        context.send(job, DescribeMetadata(0))

    def ask_offsets(
        self, context: OperationContext, job: OperationJob, stage: str, partitions: Iterable[str], timestamp_us: int
    ) -> bool:
        """Query each partition's leader; return False if there are no partitions.

        ``job.memo[stage]`` collects the responses.
        """
        wanted = tuple(partitions)
        job.stage, job.memo[stage], job.memo["requested"] = stage, (), len(wanted)
        for partition in wanted:
            context.send(job, ListOffsetsRequest(0, partition, timestamp_us, ANY_EPOCH))
        return bool(wanted)

    def collect(self, job: OperationJob, answer: ListOffsetsResponse) -> bool:
        """Store one response; return True when all have been received."""
        found = (*job.memo[job.stage], (answer.partition, answer.log_offset))
        job.memo[job.stage] = found
        expected: int = job.memo["requested"]
        return len(found) == expected

    def report_table(self, context: OperationContext, job: OperationJob, table: Table) -> None:
        """Report a table line by line, including its headings."""
        for line in aligned(table):
            context.progress(job, line)


def committed_in(answer: OffsetFetchResponse) -> tuple[tuple[str, int], ...]:
    """Return a group's committed offsets as (partition, offset) pairs."""
    return tuple((each.partition, each.offset) for each in answer.partitions if each.offset >= 0)


def described_group(answer: Any) -> DescribedGroup:
    """Return the group that was described."""
    group: DescribedGroup = answer.groups[0]
    return group


# Partitions of an operation on a group, in the syntax of ``kafka-consumer-groups.sh``: ``t`` or ``t:0,2``.


def whole_topics(scopes: Iterable[str]) -> tuple[str, ...]:
    """Return the topics of which all partitions are meant: they must be looked up."""
    return tuple(scope for scope in scopes if ":" not in scope)


def partitions_in(scopes: Iterable[str], metadata: MetadataResponse | None = None) -> tuple[str, ...]:
    """Return every partition in the scopes, each once; ``metadata`` is needed for whole topics.

    Raises:
        ReassignmentError: The topic does not exist.
    """
    partitions: dict[str, None] = {}
    for scope in scopes:
        topic, colon, numbers = scope.partition(":")
        if colon:
            partitions.update(dict.fromkeys(f"{topic}-{int(number)}" for number in numbers.split(",")))
            continue
        states = states_of(metadata or MetadataResponse(0, (), ()), topic)
        partitions.update(dict.fromkeys(state.partition for state in states))
    return tuple(partitions)


def offsets_in(lines: Iterable[str]) -> dict[str, int]:
    """Return partition → offset of the lines ``topic,partition,offset``; the last line of a partition wins."""
    found: dict[str, int] = {}
    for line in lines:
        topic, number, offset = line.split(",")
        found[f"{topic}-{int(number)}"] = int(offset)
    return found


_SCOPES: Final = ("topics", "all_topics")


class OffsetReset(StagedOperation):
    """The ``--reset-offsets`` command: new offsets by a strategy, committed if executed (KIP-122).

    Stages: state; metadata, committed or both, as the partitions and the strategy require; offsets of the logs; commit.
    """

    def check(self, context: OperationContext, job: OperationJob) -> None:
        """Require either topics, all topics, or a file."""
        del context
        given = [name for name in _SCOPES if job.params[name]]
        if strategy_of(job) is Strategy.FROM_FILE and given:
            raise FaultError(
                f"reset_offsets: from_file contains its partitions, found {given[0]} too", code="topics_beside_file"
            )
        if strategy_of(job) is not Strategy.FROM_FILE and len(given) != 1:
            raise FaultError(
                f"reset_offsets needs topics or all_topics, found {' and '.join(given) or 'neither'}", code="choose_one"
            )

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Request the state of the group."""
        job.memo |= {"committed": (), "starts": (), "ends": (), "times": (), "partitions": None}
        self.ask_group(context, job)

    def _state(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        refused = refusal(job.params["group"], str(described_group(answer).state))
        if refused:
            context.end(job, "NON_EMPTY_GROUP", refused)
        elif strategy_of(job) is Strategy.FROM_FILE:
            self._about(context, job, tuple(offsets_in(job.params["from_file"])))
        elif job.params["all_topics"]:
            self._ask_committed(context, job)
        elif whole_topics(job.params["topics"]):
            self.ask_metadata(context, job)
        else:
            self._about(context, job, partitions_in(job.params["topics"]))

    def _metadata(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        if not answer.brokers:
            context.end(job, "REQUEST_TIMED_OUT", "no broker returned its metadata in time")
            return
        try:
            self._about(context, job, partitions_in(job.params["topics"], answer))
        except ReassignmentError as wrong:
            context.end(job, wrong.error, str(wrong))

    def _about(self, context: OperationContext, job: OperationJob, partitions: tuple[str, ...]) -> None:
        """Continue with these partitions: request their committed offsets, or query their logs."""
        job.memo["partitions"] = partitions
        if strategy_of(job).needs_committed:
            self._ask_committed(context, job)
        else:
            self._request_offsets(context, job)

    def _ask_committed(self, context: OperationContext, job: OperationJob) -> None:
        job.stage = "committed"
        context.send(job, OffsetFetchRequest(0, job.params["group"], job.memo["partitions"]))

    def _committed(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        job.memo["committed"] = committed_in(answer)
        if job.memo["partitions"] is None:
            job.memo["partitions"] = tuple(partition for partition, _offset in job.memo["committed"])
        self._request_offsets(context, job)

    # -- log offsets ------------------------------------------------------------------------------------------------

    def _request_offsets(self, context: OperationContext, job: OperationJob) -> None:
        """Request the offsets that the strategy uses."""
        strategy, partitions = strategy_of(job), job.memo["partitions"]
        if strategy.by_time:
            since = job.params["to_datetime"]
            wanted = since if strategy is Strategy.TO_DATETIME else context.cluster.now_us - job.params["by_duration"]
            requested = self.ask_offsets(context, job, "times", partitions, max(0, wanted))
        elif strategy.needs_start:
            requested = self.ask_offsets(context, job, "starts", partitions, EARLIEST)
        else:
            requested = False
        if not requested:
            self._ask_ends(context, job)

    def _times(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        if self.collect(job, answer):
            self._ask_ends(context, job)

    _starts = _times

    def _ask_ends(self, context: OperationContext, job: OperationJob) -> None:
        """Request the log end offsets that the strategy uses."""
        strategy, partitions = strategy_of(job), job.memo["partitions"]
        if strategy is Strategy.TO_EARLIEST:
            partitions = ()
        elif strategy.by_time or strategy is Strategy.TO_CURRENT:
            found = dict(job.memo["times" if strategy.by_time else "committed"])
            partitions = tuple(each for each in partitions if found.get(each, -1) < 0)
        if not self.ask_offsets(context, job, "ends", partitions, LATEST):
            self._decide(context, job)

    def _ends(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        if self.collect(job, answer):
            self._decide(context, job)

    # -- result -----------------------------------------------------------------------------------------------------

    def _decide(self, context: OperationContext, job: OperationJob) -> None:
        try:
            offsets, warnings = new_offsets(job)
        except ResetError as wrong:
            context.end(job, "INVALID_REQUEST", str(wrong))
            return
        for text in warnings:
            context.progress(job, text)
        if not offsets:
            context.end(job, "", "no offsets to reset")
            return
        self.report_table(context, job, reset_table(job.params["group"], offsets))
        job.memo["new"] = len(offsets)
        if not job.params["execute"]:
            context.end(
                job,
                "",
                f"dry run: {count_text(len(offsets), 'partition')} would be reset, nothing is committed",
            )
            return
        job.stage = "commit"
        commits = tuple(CommittedOffset(partition, offset) for partition, offset in offsets.items())
        context.send(job, OffsetCommitRequest(0, job.params["group"], NO_GENERATION, "", commits))

    def on_response(self, context: OperationContext, job: OperationJob, answer: Answer) -> None:
        """End with the response to the commit."""
        if job.stage != "commit":
            super().on_response(context, job, answer)
            return
        error, detail = error_and_detail(answer)
        context.end(job, error, detail or ("" if error else f"{count_text(job.memo['new'], 'partition')} reset"))


def strategy_of(job: OperationJob) -> Strategy:
    """Return the requested strategy."""
    operation, params = job.operation, job.params
    given = (each for each in operation.params if each.name in operation.one_of and params[each.name] != each.default)
    return Strategy(next(given).name)


def new_offsets(job: OperationJob) -> tuple[dict[str, int], list[str]]:
    """Return the new offset of each partition, and the tool's warnings.

    Raises:
        ResetError: The whole command fails.
    """
    strategy, memo = strategy_of(job), job.memo
    committed, starts, ends, times = (dict(memo[name]) for name in ("committed", "starts", "ends", "times"))
    lines = offsets_in(job.params["from_file"])
    numbers = {Strategy.TO_OFFSET: job.params["to_offset"], Strategy.SHIFT_BY: job.params["shift_by"]}
    offsets: dict[str, int] = {}
    warnings: list[str] = []
    for each in memo["partitions"]:
        known = PartitionOffsets(committed.get(each, -1), starts.get(each, -1), ends.get(each, -1), times.get(each, -1))
        reset = new_offset(strategy, each, numbers.get(strategy, lines.get(each, -1)), known)
        offsets[each] = reset.offset
        warnings += [reset.warning] if reset.warning else []
    return offsets, warnings


# ``kafka-consumer-groups.sh``: describe a group, list groups, delete a group's committed offsets.


ANY = "any"


class GroupDescription(StagedOperation):
    """The ``--describe`` command. Stages: state, then coordinator, or metadata, committed and ends."""

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Query the coordinator of the group."""
        show = job.params["show"]
        if show != "offsets" and not context.cluster.profile.client.group_tables:
            context.end(job, "UNSUPPORTED_VERSION", f"the {show} table requires Kafka 1.1")
            return
        self.ask_group(context, job)

    def _state(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        group = described_group(answer)
        message = warning(group)
        if group.state == GroupState.DEAD:
            context.end(job, "GROUP_ID_NOT_FOUND", message)
            return
        job.memo["group"] = group
        if message:
            context.progress(job, message)
        if job.params["show"] == "members":
            table = member_table(group, context.cluster.name_of, verbose=job.params["verbose"])
            self.report_table(context, job, table if group.members else [])
            context.end(job, "", summary(group))
        elif job.params["show"] == "state":
            job.stage = "coordinator"
            context.send(job, FindCoordinatorRequest(0, group.group_id))
        else:
            self.ask_metadata(context, job)

    def _coordinator(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        group = job.memo["group"]
        self.report_table(context, job, state_table(group, answer.node_id, context.cluster.name_of))
        context.end(job, "", summary(group))

    def _metadata(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        """Request committed offsets; partitions without a leader are not queried for their end."""
        if not answer.brokers:
            context.end(job, "REQUEST_TIMED_OUT", "no broker returned its metadata in time")
            return
        job.memo["led"] = tuple(state.partition for state in answer.partitions if state.leader != NO_LEADER)
        job.stage = "committed"
        wanted = None if context.cluster.profile.fetch_all_offsets else tuple(partitions_of(job.memo["group"], ()))
        context.send(job, OffsetFetchRequest(0, job.params["group"], wanted))

    def _committed(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        committed = job.memo["committed"] = committed_in(answer)
        led = dict.fromkeys(job.memo["led"])
        wanted = [each for each in partitions_of(job.memo["group"], dict(committed)) if each in led]
        if not self.ask_offsets(context, job, "ends", wanted, LATEST):
            self._end_described(context, job)

    def _ends(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        if self.collect(job, answer):
            self._end_described(context, job)

    def _end_described(self, context: OperationContext, job: OperationJob) -> None:
        group, memo = job.memo["group"], job.memo
        table = offset_table(group, dict(memo["committed"]), dict(memo["ends"]), context.cluster.name_of)
        rows = table[1:]
        self.report_table(context, job, table if rows else [])
        lags = [int(row[5]) for row in rows if row[5] != "-"]
        lag = f", lag {sum(lags)}" if lags else ""
        context.end(job, "", f"{summary(group)}, {count_text(len(rows), 'partition')}{lag}")


def summary(group: DescribedGroup) -> str:
    """Return a group's state and size as text."""
    return f"{group.state}, {count_text(len(group.members), 'member')}"


class GroupListing(StagedOperation):
    """The ``--list`` command. Stages: metadata, then groups for every broker."""

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Request the list of brokers."""
        if job.params["state"] != ANY and not context.cluster.profile.list_groups_by_state:
            context.end(job, "UNSUPPORTED_VERSION", "listing groups by state requires Kafka 2.6")
            return
        self.ask_metadata(context, job)

    def _metadata(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        if not answer.brokers:
            context.end(job, "REQUEST_TIMED_OUT", "no broker returned its metadata in time")
            return
        job.stage, job.memo["left"], job.memo["found"] = "groups", len(answer.brokers), ()
        states = () if job.params["state"] == ANY else (job.params["state"],)
        for broker in sorted(answer.brokers):
            context.send(job, BrokerCall(0, broker, ListGroupsRequest(0, states)))

    def _groups(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        job.memo["left"] -= 1
        job.memo["found"] += answer.groups
        if job.memo["left"]:
            return
        found: dict[str, ListedGroup] = {each.group_id: each for each in job.memo["found"]}
        self.report_table(context, job, list_table(found.values()) if found else [])
        context.end(job, "", count_text(len(found), "group"))


class OffsetDeletion(StagedOperation):
    """The ``--delete-offsets`` command (KIP-496). Stages: metadata for whole topics, then removed."""

    def begin(self, context: OperationContext, job: OperationJob) -> None:
        """Look up a topic's partitions, or request the deletion."""
        if whole_topics(job.params["topics"]):
            self.ask_metadata(context, job)
        else:
            self._remove(context, job, partitions_in(job.params["topics"]))

    def _metadata(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        try:
            self._remove(context, job, partitions_in(job.params["topics"], answer))
        except ReassignmentError as wrong:
            context.end(job, wrong.error, str(wrong))

    def _remove(self, context: OperationContext, job: OperationJob, partitions: tuple[str, ...]) -> None:
        job.stage = "removed"
        context.send(job, OffsetDeleteRequest(0, job.params["group"], partitions))

    def _removed(self, context: OperationContext, job: OperationJob, answer: Any) -> None:
        context.end(job, "", f"{count_text(len(answer.partitions), 'partition')} deleted")
