"""``kafka-consumer-groups.sh``: describe a group, list groups, delete what one has committed."""

from typing import Any

from cluster_model.clients.admin_routing import AtBroker
from cluster_model.coordinators.group.consumer_groups_tool import (
    list_table,
    member_table,
    offset_table,
    partitions_of,
    state_table,
    warning,
)
from cluster_model.coordinators.group.group_metadata import State
from cluster_model.protocol.group_messages import (
    DescribedGroup,
    FindCoordinatorRequest,
    ListedGroup,
    ListGroupsRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from cluster_model.protocol.messages import LATEST, NOBODY
from faults.operations.job import Hands, Job
from faults.operations.looking import Looking, committed_in, counted, the_group
from faults.operations.planning import PlanError
from faults.operations.scopes import partitions_in, topics_asked

ALL_OFFSETS = (0, 10, 2)
"""Since then a group's offsets can be asked for without naming partitions (KIP-88) ..."""
TABLES = (1, 1, 0)
"""... since then there are tables of members and of the state (KIP-175) ..."""
STATES = (2, 6, 0)
"""... and groups can be listed by their state (KIP-518)."""
ANY = "any"


class Describing(Looking):
    """``--describe``. Stages: state, then coordinator, or metadata, committed and ends."""

    def begin(self, hands: Hands, job: Job) -> None:
        """Ask its coordinator."""
        show = job.params["show"]
        if show != "offsets" and hands.cluster.profile.number < TABLES:
            hands.end(job, "UNSUPPORTED_VERSION", f"a table of {show} came with Kafka 1.1")
            return
        self.ask_group(hands, job)

    def _state(self, hands: Hands, job: Job, answer: Any) -> None:
        group = the_group(answer)
        told = warning(group)
        if group.state == State.DEAD:
            hands.end(job, "GROUP_ID_NOT_FOUND", told)
            return
        job.memo["group"] = group
        if told:
            hands.progress(job, told)
        if job.params["show"] == "members":
            table = member_table(group, hands.cluster.name_of, verbose=job.params["verbose"])
            self.tell(hands, job, table if group.members else [])
            hands.end(job, "", summary(group))
        elif job.params["show"] == "state":
            job.stage = "coordinator"
            hands.ask(job, FindCoordinatorRequest(0, group.group_id))
        else:
            self.ask_metadata(hands, job)

    def _coordinator(self, hands: Hands, job: Job, answer: Any) -> None:
        group = job.memo["group"]
        self.tell(hands, job, state_table(group, answer.node_id, hands.cluster.name_of))
        hands.end(job, "", summary(group))

    def _metadata(self, hands: Hands, job: Job, answer: Any) -> None:
        """Where nobody leads, nobody is asked for the end."""
        if not answer.brokers:
            hands.end(job, "REQUEST_TIMED_OUT", "no broker told its metadata in time")
            return
        job.memo["led"] = tuple(state.partition for state in answer.partitions if state.leader != NOBODY)
        job.stage = "committed"
        wanted = None if hands.cluster.profile.number >= ALL_OFFSETS else tuple(partitions_of(job.memo["group"], ()))
        hands.ask(job, OffsetFetchRequest(0, job.params["group"], wanted))

    def _committed(self, hands: Hands, job: Job, answer: Any) -> None:
        committed = job.memo["committed"] = committed_in(answer)
        led = dict.fromkeys(job.memo["led"])
        asked = [each for each in partitions_of(job.memo["group"], dict(committed)) if each in led]
        if not self.ask_offsets(hands, job, "ends", asked, LATEST):
            self._done(hands, job)

    def _ends(self, hands: Hands, job: Job, answer: Any) -> None:
        if self.gathered(job, answer):
            self._done(hands, job)

    def _done(self, hands: Hands, job: Job) -> None:
        group, memo = job.memo["group"], job.memo
        table = offset_table(group, dict(memo["committed"]), dict(memo["ends"]), hands.cluster.name_of)
        rows = table[1:]
        self.tell(hands, job, table if rows else [])
        lags = [int(row[5]) for row in rows if row[5] != "-"]
        lag = f", lag {sum(lags)}" if lags else ""
        hands.end(job, "", f"{summary(group)}, {counted(len(rows), 'partition')}{lag}")


def summary(group: DescribedGroup) -> str:
    """A group in a few words."""
    return f"{group.state}, {counted(len(group.members), 'member')}"


class Listing(Looking):
    """``--list``. Stages: metadata, then groups of every broker."""

    def begin(self, hands: Hands, job: Job) -> None:
        """Ask which brokers there are."""
        if job.params["state"] != ANY and hands.cluster.profile.number < STATES:
            hands.end(job, "UNSUPPORTED_VERSION", "groups by their state came with Kafka 2.6")
            return
        self.ask_metadata(hands, job)

    def _metadata(self, hands: Hands, job: Job, answer: Any) -> None:
        if not answer.brokers:
            hands.end(job, "REQUEST_TIMED_OUT", "no broker told its metadata in time")
            return
        job.stage, job.memo["left"], job.memo["found"] = "groups", len(answer.brokers), ()
        states = () if job.params["state"] == ANY else (job.params["state"],)
        for broker in sorted(answer.brokers):
            hands.ask(job, AtBroker(0, broker, ListGroupsRequest(0, states)))

    def _groups(self, hands: Hands, job: Job, answer: Any) -> None:
        job.memo["left"] -= 1
        job.memo["found"] += answer.groups
        if job.memo["left"]:
            return
        found: dict[str, ListedGroup] = {each.group_id: each for each in job.memo["found"]}
        self.tell(hands, job, list_table(found.values()) if found else [])
        hands.end(job, "", counted(len(found), "group"))


class DeletingOffsets(Looking):
    """``--delete-offsets`` (KIP-496). Stages: metadata where whole topics are meant, then removed."""

    def begin(self, hands: Hands, job: Job) -> None:
        """Look a topic's partitions up, or go ahead."""
        if topics_asked(job.params["topics"]):
            self.ask_metadata(hands, job)
        else:
            self._remove(hands, job, partitions_in(job.params["topics"]))

    def _metadata(self, hands: Hands, job: Job, answer: Any) -> None:
        try:
            self._remove(hands, job, partitions_in(job.params["topics"], answer))
        except PlanError as wrong:
            hands.end(job, wrong.error, str(wrong))

    def _remove(self, hands: Hands, job: Job, partitions: tuple[str, ...]) -> None:
        job.stage = "removed"
        hands.ask(job, OffsetDeleteRequest(0, job.params["group"], partitions))

    def _removed(self, hands: Hands, job: Job, answer: Any) -> None:
        hands.end(job, "", f"{counted(len(answer.partitions), 'partition')} deleted")
