"""What the operations on groups have in common: ask for many offsets at once, and tell a table line by line."""

from collections.abc import Iterable
from typing import Any

from cluster_model.clients.admin_routing import Answer, Describe
from cluster_model.coordinators.group.consumer_groups_tool import Table, aligned
from cluster_model.protocol.group_messages import DescribedGroup, DescribeGroupsRequest, OffsetFetchResponse
from cluster_model.protocol.messages import ListOffsetsRequest, ListOffsetsResponse
from faults.operations.job import Hands, Job, Procedure, verdict

ANY_EPOCH = -1


class Looking(Procedure):
    """Goes from stage to stage; each stage's name is that of the method that takes its answers, behind ``_``."""

    def answered(self, hands: Hands, job: Job, answer: Answer) -> None:
        """A refusal is the end; anything else is for the stage."""
        error, detail = verdict(answer)
        if error:
            hands.end(job, error, detail or f"asked for {job.stage}")
        else:
            getattr(self, f"_{job.stage}")(hands, job, answer)

    def ask_group(self, hands: Hands, job: Job) -> None:
        """Have the group described; stage ``state``."""
        job.stage = "state"
        hands.ask(job, DescribeGroupsRequest(0, (job.params["group"],)))

    def ask_metadata(self, hands: Hands, job: Job) -> None:
        """Have the cluster described; stage ``metadata``."""
        job.stage = "metadata"
        hands.ask(job, Describe(0))

    def ask_offsets(self, hands: Hands, job: Job, stage: str, partitions: Iterable[str], timestamp_us: int) -> bool:
        """Ask each partition's leader; False if there is nothing to ask. ``job.memo[stage]`` gathers the answers."""
        asked = tuple(partitions)
        job.stage, job.memo[stage], job.memo["asked"] = stage, (), len(asked)
        for partition in asked:
            hands.ask(job, ListOffsetsRequest(0, partition, timestamp_us, ANY_EPOCH))
        return bool(asked)

    def gathered(self, job: Job, answer: ListOffsetsResponse) -> bool:
        """Take one answer; True when all are there."""
        found = (*job.memo[job.stage], (answer.partition, answer.log_offset))
        job.memo[job.stage] = found
        asked: int = job.memo["asked"]
        return len(found) == asked

    def tell(self, hands: Hands, job: Job, table: Table) -> None:
        """Tell a table, its headings too."""
        for line in aligned(table):
            hands.progress(job, line)


def committed_in(answer: OffsetFetchResponse) -> tuple[tuple[str, int], ...]:
    """What a group has committed, as plain pairs."""
    return tuple((each.partition, each.offset) for each in answer.partitions if each.offset >= 0)


def counted(number: int, thing: str) -> str:
    """``1 partition``, ``3 partitions``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def the_group(answer: Any) -> DescribedGroup:
    """The one group that was asked about."""
    group: DescribedGroup = answer.groups[0]
    return group
