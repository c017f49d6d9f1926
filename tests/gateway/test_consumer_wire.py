"""Groups by the consumer protocol on the wire (KIP-848): what the coordinator knows is what members are told."""

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cluster_model.protocol.errors import KafkaError as E
from cluster_model.protocol.releases import Version
from gateway.protocol import api_versions
from gateway.protocol.context import topic_uuid
from playbooks.engine.replay import replay
from playbooks.parser.steps.timed_steps import facts_in
from playbooks.recording.reader import read_session
from tests.gateway.hosting import playbook
from tests.gateway.wire import Wire
from tui.session.typed_commands import ActionCommand, CommandContext, TypedError, facts_now, read_line

BEAT, DESCRIBE = api_versions.CONSUMER_GROUP_HEARTBEAT, api_versions.CONSUMER_GROUP_DESCRIBE
ASKED = ', group.coordinator.rebalance.protocols: "classic,consumer"'
"""What a release before 4.0 has to be asked for."""
Has = dict[str, list[int]]


class Group:
    """Group ``g`` at its coordinator."""

    def __init__(
        self, kafka: str = "4.1", config: str = "", parent: Path | None = None, version: int = 1, clients: str = ""
    ) -> None:
        self.wire = Wire(playbook(kafka, config=config, clients=clients), parent)
        self.version = version
        self.at = self.place("g")

    def place(self, group: str) -> int:
        """A group's coordinator."""
        found = -1
        while found < 0:
            self.wire.run(0.2)
            found = self.wire.ask(1, api_versions.FIND_COORDINATOR, 2, key=group, key_type=0).node_id
        return found

    def id_of(self, topic: str) -> UUID:
        return topic_uuid(topic, self.wire.context.states(self.at)[f"{topic}-0"].topic_id)

    def beat(self, member: str, epoch: int, **said: Any) -> Any:
        told = {"group_id": "g", "member_id": member, "member_epoch": epoch, "rebalance_timeout": -1, **said}
        if "owned" in told:
            owned = told.pop("owned")
            told["topic_partitions"] = [{"topic_id": self.id_of("orders"), "partitions": owned}] if owned else []
        return self.wire.ask(self.at, BEAT, self.version, member or "nameless", **told)

    def join(self, member: str, **said: Any) -> Any:
        asked = {"rebalance_timeout": 60_000, "subscribed_topic_names": ["orders"], "topic_partitions": [], **said}
        return self.beat(member, 0, **asked)

    def has(self, answer: Any) -> Has:
        """Topic → partitions of an answer's assignment."""
        names = {self.id_of(topic): topic for topic in ("orders",)}
        return {names[each.topic_id]: list(each.partitions) for each in answer.assignment.topic_partitions}

    def commit(self, member: str, epoch: int, offset: int, version: int = 9, group: str = "g") -> int:
        topics = [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": offset}]}]
        answer = self.wire.ask(self.place(group), api_versions.OFFSET_COMMIT, version, member, group_id=group,
                               member_id=member, generation_id_or_member_epoch=epoch, topics=topics)  # fmt: skip
        return int(answer.topics[0].partitions[0].error_code)

    def committed(self, member: str | None, epoch: int) -> tuple[int, int]:
        asked = {"group_id": "g", "member_id": member, "member_epoch": epoch,
                 "topics": [{"name": "orders", "partition_indexes": [0]}]}  # fmt: skip
        (group,) = self.wire.ask(self.at, api_versions.OFFSET_FETCH, 9, groups=[asked]).groups
        offset = group.topics[0].partitions[0].committed_offset if group.topics else -2
        return int(group.error_code), int(offset)

    def described(self, group: str = "g") -> Any:
        (found,) = self.wire.ask(self.place(group), DESCRIBE, self.version, group_ids=[group]).groups
        return found

    def listed(self, version: int, **said: Any) -> list[Any]:
        return list(self.wire.ask(self.at, api_versions.LIST_GROUPS, version, **said).groups)


def errors(*answers: Any) -> list[int]:
    return [int(each.error_code) for each in answers]


# -- members -----------------------------------------------------------------------------------------------------------


def test_a_client_that_comes_gets_what_the_other_has_given_up() -> None:
    group = Group()
    one = group.join("a")
    assert (one.error_code, one.member_id, one.member_epoch, group.has(one)) == (0, "a", 1, {"orders": [0, 1, 2]})
    assert one.heartbeat_interval.total_seconds() == 5
    two = group.join("b")
    assert (two.member_epoch, two.assignment.topic_partitions) == (2, ())
    asked = group.beat("a", 1)
    assert (asked.member_epoch, group.has(asked)) == (1, {"orders": [0, 1]})
    assert group.beat("b", 2).assignment is None
    assert group.beat("a", 1, owned=[0, 1]).member_epoch == 2
    assert group.has(group.beat("b", 2)) == {"orders": [2]}
    assert group.beat("b", -1).member_epoch == -1
    assert group.has(group.beat("a", 2)) == {"orders": [0, 1, 2]}


def test_an_epoch_of_before_is_fenced_unless_an_answer_was_lost() -> None:
    group = Group()
    group.join("a")
    group.join("b")
    group.beat("a", 1)
    group.beat("a", 1, owned=[0, 1])
    assert group.beat("a", 1, owned=[0, 1]).member_epoch == 2
    unknown = {"topic_partitions": [{"topic_id": UUID(int=9), "partitions": [0]}]}
    assert errors(group.beat("a", 1, **unknown), group.beat("a", 7), group.beat("x", 2)) == [
        E.FENCED_MEMBER_EPOCH, E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID,
    ]  # fmt: skip


def test_a_static_member_that_left_for_now_gets_back_what_it_had() -> None:
    group = Group()
    group.join("a", instance_id="i")
    assert errors(group.join("b", instance_id="i")) == [E.UNRELEASED_INSTANCE_ID]
    assert group.beat("a", -2, instance_id="i").member_epoch == -2
    back = group.join("b", instance_id="i")
    assert (back.error_code, back.member_id, group.has(back)) == (0, "b", {"orders": [0, 1, 2]})
    assert errors(group.beat("a", 1, instance_id="i")) == [E.FENCED_INSTANCE_ID]


@pytest.mark.slow
def test_a_member_of_the_playbook_shares_with_one_on_the_wire() -> None:
    own = "{name: g, topics: [orders], members: 1, config: {group.protocol: consumer}}"
    group = Group(clients=f"clients: {{groups: [{own}]}}")
    group.wire.run(8)
    one = group.join("z")
    assert one.member_epoch == 2
    group.wire.run(8)
    given = group.has(group.beat("z", one.member_epoch))["orders"]
    mine, yours = sorted(group.described().members, key=lambda each: each.member_id == "z")
    assert len(given) + sum(len(each.partitions) for each in mine.assignment.topic_partitions) == 3
    assert yours.member_epoch == mine.member_epoch == 2
    assert group.commit("z", 2, 0) == E.NONE


def test_an_assignor_is_the_coordinators() -> None:
    group = Group()
    assert errors(group.join("a", server_assignor="mine")) == [E.UNSUPPORTED_ASSIGNOR]
    assert errors(group.join("a", server_assignor="range")) == [E.NONE]
    assert group.described().assignor_name == "range"


def test_a_regular_expression_subscribes_and_a_wrong_one_is_refused() -> None:
    group = Group()
    by = {"subscribed_topic_names": None}
    assert errors(group.join("a", subscribed_topic_regex="o[", **by)) == [E.INVALID_REGULAR_EXPRESSION]
    assert errors(group.join("a", subscribed_topic_regex="(?=o).*", **by)) == [E.INVALID_REGULAR_EXPRESSION]
    assert group.has(group.join("a", subscribed_topic_regex="o.*s", **by)) == {"orders": [0, 1, 2]}
    (member,) = group.described().members
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == ((), "o.*s")


@pytest.mark.parametrize(
    "said",
    [
        {"group_id": ""}, {"member_id": ""}, {"rebalance_timeout": -1}, {"subscribed_topic_names": None},
        {"topic_partitions": None}, {"member_epoch": -3}, {"instance_id": ""}, {"rack_id": ""},
        {"member_epoch": -2},
    ],
)  # fmt: skip
def test_invalid_join_requests_are_rejected(said: dict[str, Any], group: Group) -> None:
    assert errors(group.join("m", **said)) == [E.INVALID_REQUEST]


@pytest.fixture(scope="module")
def group() -> Group:
    return Group()


def test_other_brokers_answer_not_coordinator(group: Group) -> None:
    other = group.at % 3 + 1
    said: dict[str, Any] = {
        "group_id": "g",
        "rebalance_timeout": 9,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    assert errors(group.wire.ask(other, BEAT, 1, member_id="m", **said)) == [E.NOT_COORDINATOR]
    (told,) = group.wire.ask(other, DESCRIBE, 1, group_ids=["g"]).groups
    assert told.error_code == E.NOT_COORDINATOR


# -- the operator ------------------------------------------------------------------------------------------------------


def test_a_line_can_speak_of_the_coordinator_of_a_group_that_is_only_on_the_wire(group: Group) -> None:
    group.join("typed")
    cluster = group.wire.session.cluster
    place = CommandContext(facts_now(facts_in(cluster), cluster.view()))
    typed = read_line("crash coordinator(g) 3s", place)
    assert isinstance(typed, ActionCommand)
    assert group.wire.session.board.targets(typed.actions[0].target) == (group.at,)
    for line in ("crash coordinator(other) 3s", "restart_consumer members(g)", "crash transaction_coordinator(typed)"):
        with pytest.raises(TypedError, match="found"):
            read_line(line, place)


# -- releases ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kafka", ["3.7", "3.9"])
def test_before_4_0_the_coordinator_gives_the_member_its_id(kafka: str) -> None:
    group = Group(kafka, ASKED, version=0)
    one = group.join("")
    assert (one.error_code, one.member_id != "", one.member_epoch) == (0, True, 1)
    assert group.has(one) == {"orders": [0, 1, 2]}
    assert group.commit(one.member_id, 1, 5) == E.NONE
    assert group.beat(one.member_id, 1).error_code == E.NONE


def test_the_consumer_protocol_is_unsupported_unless_enabled() -> None:
    group = Group("3.9", version=0)
    assert errors(group.join(""), group.described()) == [E.UNSUPPORTED_VERSION, E.UNSUPPORTED_VERSION]


@pytest.mark.parametrize(
    ("release", "beat", "describe", "offsets", "groups"),
    [
        ((3, 6, 0), None, None, 8, 4), ((3, 7, 0), (0, 0), None, 9, 4), ((3, 8, 0), (0, 0), (0, 0), 9, 5),
        ((4, 0, 0), (0, 1), (0, 1), 9, 5), ((4, 1, 0), (0, 1), (0, 1), 9, 5),
    ],
)  # fmt: skip
def test_a_release_offers_what_it_had(release: Version, beat: Any, describe: Any, offsets: int, groups: int) -> None:
    offered = api_versions.offered(release)
    assert (offered.get(BEAT), offered.get(DESCRIBE)) == (beat, describe)
    assert (offered[api_versions.OFFSET_COMMIT][1], offered[api_versions.OFFSET_FETCH][1]) == (offsets, offsets)
    assert offered[api_versions.LIST_GROUPS][1] == groups


# -- offsets -----------------------------------------------------------------------------------------------------------


def test_a_commit_is_in_a_members_epoch_or_it_is_refused() -> None:
    group = Group()
    group.join("a")
    assert group.commit("a", 1, 7) == E.NONE
    assert group.commit("a", 1, 8, version=8) == E.UNSUPPORTED_VERSION
    assert [group.commit(*who, 8) for who in (("a", 2), ("b", 1), ("", -1))] == [
        E.STALE_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID, E.UNKNOWN_MEMBER_ID,
    ]  # fmt: skip
    assert group.committed("a", 1) == group.committed(None, -1) == (E.NONE, 7)
    assert group.committed("a", 0) == (E.STALE_MEMBER_EPOCH, -2)
    assert group.committed("b", 1) == (E.UNKNOWN_MEMBER_ID, -2)
    group.beat("a", -1)
    assert group.commit("", -1, 9) == E.NONE


def test_a_member_of_no_group_is_reported_so_in_the_versions_that_have_a_word_for_it() -> None:
    group = Group()
    assert group.commit("a", 1, 7, version=8, group="x") == E.ILLEGAL_GENERATION
    assert group.commit("a", 1, 7, version=9, group="x") == E.GROUP_ID_NOT_FOUND
    old = Group("3.9")
    assert old.commit("a", 1, 7, version=9, group="x") == E.ILLEGAL_GENERATION


# -- administration ----------------------------------------------------------------------------------------------------


def test_a_group_is_described_with_every_epoch_and_target() -> None:
    group = Group()
    group.join("a", instance_id="i", rack_id="east")
    group.join("b")
    group.beat("a", 1)
    found = group.described()
    assert (found.group_state, found.group_epoch, found.assignment_epoch, found.assignor_name) == (
        "Reconciling", 2, 2, "uniform",
    )  # fmt: skip
    one, two = found.members
    assert (one.member_id, one.instance_id, one.client_id, one.member_epoch) == ("a", "i", "a", 1)
    assert (two.instance_id, two.subscribed_topic_names, two.member_type) == (None, ("orders",), 1)
    told = [(each.topic_name, each.topic_id, each.partitions) for each in one.assignment.topic_partitions]
    assert told == [("orders", group.id_of("orders"), (0, 1))]
    assert two.assignment.topic_partitions == ()
    assert [each.partitions for each in two.target_assignment.topic_partitions] == [(2,)]
    assert group.described("none").error_code == E.GROUP_ID_NOT_FOUND


def test_groups_of_both_protocols_are_distinguished() -> None:
    group = Group()
    group.join("a")
    group.commit("", -1, 3, group="b")
    assert [(each.group_id, each.group_type) for each in group.listed(5, types_filter=["Consumer"])] == [
        ("g", "consumer")
    ]
    assert group.listed(5, types_filter=["share"]) == []
    assert [(each.group_id, each.group_type) for each in group.listed(5)] == [("b", "classic"), ("g", "consumer")]
    assert [(each.protocol_type, each.group_state) for each in group.listed(4)] == [
        ("", "Empty"),
        ("consumer", "Stable"),
    ]
    (told,) = group.wire.ask(group.at, api_versions.DESCRIBE_GROUPS, 5, groups=["g"]).groups
    assert (told.error_code, told.group_state, told.members) == (E.NONE, "Dead", ())


# -- the record --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_recorded_group_sessions_have_equal_digests(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        group = Group(parent=tmp_path / name)
        group.join("a")
        group.commit("a", 1, 5)
        group.join("b", subscribed_topic_names=None, subscribed_topic_regex="o.*")
        group.beat("a", 1)
        group.beat("a", 1, owned=[0, 1])
        group.beat("b", 2)
        group.commit("b", 2, 6)
        group.described()
        group.beat("a", -1)
        group.beat("b", 2, owned=[2])
        result = group.wire.close()
        assert result.violations == ()
        recorder = group.wire.session.recorder
        assert recorder is not None
        assert replay(read_session(recorder.path)).digest == result.digest
        digests.append(result.digest)
    assert digests[0] == digests[1]
