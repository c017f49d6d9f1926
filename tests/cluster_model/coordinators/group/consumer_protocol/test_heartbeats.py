"""Effects of a heartbeat on a group, and its response (``consumerGroupHeartbeat``, KIP-848)."""

from collections.abc import Callable
from typing import Any

import pytest

from cluster_model.coordinators.group.consumer_protocol.consumer_group import (
    CURRENT,
    EPOCH,
    MEMBER,
    STABLE,
    TARGET,
    TOPICS,
    UNRELEASED,
    UNREVOKED,
    ConsumerGroup,
    ConsumerGroupRecord,
)
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.group_messages import LEAVE, LEAVE_FOR_NOW, ConsumerGroupHeartbeatRequest
from tests.cluster_model.coordinators.group.consumer_protocol.consumer_group_driver import (
    REBALANCE,
    SECOND,
    ConsumerGroupDriver,
)

E = KafkaError
ALL = ("t-0", "t-1", "t-2", "t-3")


def state(driver: ConsumerGroupDriver) -> str:
    return driver.group.state


# -- joining -----------------------------------------------------------------------------------------------------------


def test_the_first_member_gets_everything_at_once() -> None:
    driver = ConsumerGroupDriver()
    assert state(driver) == "Empty"
    response = driver.join("a")
    assert (response.error, response.member_epoch, response.assignment) == (E.NONE, 1, ALL)
    assert response.heartbeat_us == 5 * SECOND
    assert (driver.group.epoch, driver.group.target_epoch, state(driver)) == (1, 1, "Stable")


def test_the_second_waits_for_what_the_first_gives_up() -> None:
    driver = ConsumerGroupDriver()
    driver.join("a")
    second = driver.join("b")
    assert (second.member_epoch, second.assignment) == (2, ())
    assert driver.group.current["b"].state == UNRELEASED
    assert state(driver) == "Reconciling"
    told = driver.heartbeat("a")
    assert (told.member_epoch, told.assignment) == (1, ("t-0", "t-1"))
    assert driver.group.current["a"].state == UNREVOKED
    assert driver.heartbeat("b").assignment is None
    freed = driver.report_owned("a", "t-0", "t-1")
    assert (freed.member_epoch, freed.assignment) == (2, None)
    got = driver.heartbeat("b")
    assert (got.member_epoch, got.assignment) == (2, ("t-2", "t-3"))
    assert state(driver) == "Stable"


def test_members_that_keep_what_they_have_learn_nothing() -> None:
    driver = ConsumerGroupDriver({"t": 4})
    for name in ("a", "b", "c", "d"):
        driver.join(name)
        driver.settle()
    driver.leave("d")
    assert state(driver) == "Assigning"
    answers = {name: driver.report_owned(name, *driver.owned[name]) for name in ("a", "b", "c")}
    assert [name for name, answer in answers.items() if answer.assignment is not None] == ["c"]
    assert {answer.member_epoch for answer in answers.values()} == {5}


def test_a_member_without_an_id_gets_one_only_before_version_1() -> None:
    request = ConsumerGroupHeartbeatRequest(0, "g", "", 0, "c", "", REBALANCE, ("t",), owned=(), version=0)
    assert ConsumerGroupDriver().send(request).member_id == "drawn-1"
    assert ConsumerGroupDriver().send(request._replace(version=1)).error == E.INVALID_REQUEST


def test_a_member_gets_an_error_where_the_assignor_fails_before_4_0() -> None:
    driver = ConsumerGroupDriver({"t1": 3, "t2": 3}, kafka="3.9")
    for name, *topics in (("A", "t1"), ("C", "t1", "t2"), ("D", "t1", "t2")):
        driver.join(name, *topics)
    driver.group.target.update(A=(), C=("t2-1",), D=("t1-0", "t1-1", "t1-2", "t2-0", "t2-2"))
    assert driver.join("B", "t1").error == E.UNKNOWN_SERVER_ERROR
    assert (driver.records, driver.group.epoch, set(driver.group.members)) == ([], 3, {"A", "C", "D"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"member_epoch": -3},
        {"owned": None},
        {"owned": ("t-0",)},
        {"rebalance_timeout_us": -1},
        {"topics": None},
        {"topics": None, "pattern": "t", "version": 0},
        {"member_epoch": LEAVE_FOR_NOW},
        {"member_epoch": 4, "member_id": "", "version": 0},
    ],
    ids=str,
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    request = ConsumerGroupHeartbeatRequest(0, "g", "m", 0, "c", "", REBALANCE, ("t",), owned=())
    assert ConsumerGroupDriver().send(request).error == E.NONE
    assert ConsumerGroupDriver().send(request._replace(**wrong)).error == E.INVALID_REQUEST


def test_assignors_are_those_that_the_broker_has() -> None:
    driver = ConsumerGroupDriver({"s": 3, "t": 3}, group_consumer_assignors="range")
    assert driver.join("a", assignor="uniform").error == E.UNSUPPORTED_ASSIGNOR
    assert driver.group.members == {}
    for name in ("a", "b"):
        driver.join(name, "s", "t")
    driver.settle()
    assert driver.owned == {"a": ("s-0", "s-1", "t-0", "t-1"), "b": ("s-2", "t-2")}


@pytest.mark.parametrize(
    ("votes", "by_range"),
    [(("", "", ""), False), (("range", "", ""), True), (("uniform", "range", "range"), True),
     (("uniform", "range", ""), False)],
)  # fmt: skip
def test_the_assignor_that_most_members_name_is_taken_and_uniform_unless_any_does(
    votes: tuple[str, ...], by_range: bool
) -> None:
    driver = ConsumerGroupDriver({"s": 2, "t": 2})
    for name, vote in zip(("a", "b", "c"), votes, strict=True):
        driver.join(name, "s", "t", assignor=vote or None)
    driver.settle()
    assert [len(driver.owned[name]) for name in ("a", "b", "c")] == ([2, 2, 0] if by_range else [2, 1, 1])


def test_subscription_and_assignor_persist_until_a_member_changes_them() -> None:
    driver = ConsumerGroupDriver({"s": 2, "t": 2})
    driver.join("a", "s", "t", assignor="range")
    driver.heartbeat("a")
    for name in ("b", "c"):
        driver.join(name, "s", "t")
    driver.settle()
    assert [len(driver.owned[name]) for name in ("a", "b", "c")] == [2, 2, 0]


def test_there_is_no_room_beyond_the_largest_size() -> None:
    driver = ConsumerGroupDriver(group_consumer_max_size=1)
    driver.join("a")
    assert driver.join("b").error == E.GROUP_MAX_SIZE_REACHED
    assert driver.heartbeat("a").error == E.NONE


# -- epochs ------------------------------------------------------------------------------------------------------------


def test_an_unknown_member_is_reported() -> None:
    driver = ConsumerGroupDriver()
    driver.join("a")
    assert driver.heartbeat("x", epoch=1).error == E.UNKNOWN_MEMBER_ID
    assert driver.leave("x") is E.UNKNOWN_MEMBER_ID


def test_an_epoch_that_never_was_is_fenced() -> None:
    driver = ConsumerGroupDriver()
    driver.join("a")
    assert driver.heartbeat("a", epoch=2).error == E.FENCED_MEMBER_EPOCH
    assert driver.records == []


def test_the_epoch_before_will_do_if_the_answer_may_have_been_lost() -> None:
    driver = ConsumerGroupDriver()
    driver.join("a")
    driver.join("b")
    driver.heartbeat("a")
    driver.report_owned("a", "t-0", "t-1")
    assert driver.epochs["a"] == 2
    # It has revoked its partitions, but does not know its new epoch.
    assert driver.report_owned("a", "t-0", "t-1", epoch=1).member_epoch == 2
    assert driver.report_owned("a", "t-0", "t-3", epoch=1).error == E.FENCED_MEMBER_EPOCH
    assert driver.heartbeat("a", epoch=1).error == E.FENCED_MEMBER_EPOCH


def test_two_epochs_behind_is_fenced_whatever_it_owns() -> None:
    driver = ConsumerGroupDriver({"s": 1, "t": 4})
    driver.join("a")
    driver.resize_topics(s=1, t=5)
    driver.heartbeat("a")
    driver.resize_topics(s=1, t=6)
    driver.heartbeat("a")
    assert driver.group.current["a"].epoch == 3
    assert driver.report_owned("a", epoch=1).error == E.FENCED_MEMBER_EPOCH
    assert driver.report_owned("a", epoch=2).error == E.NONE


def test_a_member_that_was_fenced_joins_again_under_its_id_and_gets_its_share_at_once() -> None:
    driver = ConsumerGroupDriver(kafka="4.2")
    for name in ("a", "b"):
        driver.join(name)
    driver.settle()
    epoch = driver.group.epoch
    again = driver.join("a")
    assert (again.member_epoch, again.assignment) == (epoch, ("t-0", "t-1"))
    assert (driver.group.epoch, driver.wrote(EPOCH), driver.wrote(MEMBER)) == (epoch, False, False)


def test_a_member_that_joins_again_in_the_middle_of_giving_something_up_has_given_it_up() -> None:
    driver = ConsumerGroupDriver(kafka="4.2")
    driver.join("a")
    driver.join("b")
    driver.heartbeat("a")
    driver.join("a")
    assert driver.group.current["a"].state == STABLE
    assert driver.heartbeat("b").assignment == ("t-2", "t-3")


# -- what is answered --------------------------------------------------------------------------------------------------


def test_a_full_request_gets_everything_and_another_only_changes() -> None:
    driver = ConsumerGroupDriver()
    driver.join("a")
    assert driver.heartbeat("a").assignment is None
    assert driver.report_owned("a", *ALL).assignment is None
    assert driver.report_owned("a", *ALL, topics=("t",), rebalance_timeout_us=REBALANCE).assignment == ALL


def test_a_heartbeat_that_changes_nothing_writes_nothing() -> None:
    driver = ConsumerGroupDriver()
    driver.join("a")
    driver.heartbeat("a")
    assert driver.records == []


# -- subscriptions and topics ------------------------------------------------------------------------------------------


def test_another_subscription_is_another_epoch_and_another_assignment() -> None:
    driver = ConsumerGroupDriver({"s": 2, "t": 2})
    driver.join("a", "t")
    assert driver.heartbeat("a", topics=("s",)).assignment == ()
    assert (driver.group.epoch, driver.group.current["a"].state) == (2, UNREVOKED)
    assert driver.report_owned("a").assignment == ("s-0", "s-1")
    assert driver.wrote(CURRENT)
    driver.heartbeat("a", topics=("s",))
    assert driver.group.epoch == 2


def test_a_topic_that_comes_grows_or_goes_is_noticed_at_the_next_heartbeat() -> None:
    driver = ConsumerGroupDriver({"s": 1})
    assert driver.join("a").assignment == ()
    driver.resize_topics(s=1, t=2)
    assert driver.heartbeat("a").assignment == ("t-0", "t-1")
    assert driver.wrote(TOPICS)
    driver.resize_topics(s=1, t=3)
    assert driver.heartbeat("a").assignment == ("t-0", "t-1", "t-2")
    driver.resize_topics(s=1)
    assert driver.heartbeat("a").assignment == ()
    assert driver.group.epoch == 4


def test_the_member_that_detects_new_partitions_keeps_its_own() -> None:
    for noticed in ("a", "b"):
        driver = ConsumerGroupDriver()
        for name in ("a", "b"):
            driver.join(name)
        driver.settle()
        driver.resize_topics(t=6)
        driver.heartbeat(noticed)
        driver.settle()
        assert driver.owned == {"a": ("t-0", "t-1", "t-4"), "b": ("t-2", "t-3", "t-5")}


def test_a_topic_that_nobody_reads_changes_nothing() -> None:
    driver = ConsumerGroupDriver({"s": 1, "t": 4})
    driver.join("a")
    driver.resize_topics(s=9, t=4)
    driver.heartbeat("a")
    assert (driver.records, driver.group.epoch) == ([], 1)


def test_a_pattern_is_the_coordinators_to_match() -> None:
    driver = ConsumerGroupDriver({"orders.a": 1, "orders.b": 1, "other": 1, "__consumer_offsets": 3})
    joined = driver.join("a", topics=None, pattern=r"orders\..*|__.*")
    assert joined.assignment == ("orders.a-0", "orders.b-0")
    driver.resize_topics(**{"orders.a": 1, "orders.b": 1, "orders.c": 1, "my.orders.d": 1})
    assert driver.heartbeat("a").assignment == ("orders.a-0", "orders.b-0", "orders.c-0")


def test_a_pattern_that_does_not_compile_is_refused() -> None:
    assert ConsumerGroupDriver().join("a", topics=None, pattern="orders(").error == E.INVALID_REGULAR_EXPRESSION


def test_members_that_read_different_topics_get_what_they_read() -> None:
    driver = ConsumerGroupDriver({"s": 2, "t": 2})
    driver.join("a", "s")
    driver.join("b", "s", "t")
    driver.settle()
    assert {name: sorted(owned) for name, owned in driver.owned.items()} == {"a": ["s-0", "s-1"], "b": ["t-0", "t-1"]}


# -- leaving -----------------------------------------------------------------------------------------------------------


def test_a_member_that_leaves_frees_everything_and_the_next_heartbeat_hands_it_out() -> None:
    driver = ConsumerGroupDriver()
    for name in ("a", "b"):
        driver.join(name)
    driver.settle()
    assert driver.leave("b") is E.NONE
    assert (driver.group.epoch, state(driver)) == (3, "Assigning")
    assert driver.heartbeat("a").assignment == ALL
    assert driver.leave("a") is E.NONE
    assert (state(driver), driver.group.owners, driver.group.topics) == ("Empty", {}, ())


def test_a_member_that_is_dropped_has_no_part_any_more() -> None:
    driver = ConsumerGroupDriver()
    driver.join("a")
    driver.join("b")
    for record in driver.rules.remove_member(driver.group, "a", driver.topics_image):
        driver.group.replay(record)
    assert driver.heartbeat("a").error == E.UNKNOWN_MEMBER_ID
    assert driver.heartbeat("b").assignment == ALL


# -- static members ----------------------------------------------------------------------------------------------------


def static() -> ConsumerGroupDriver:
    driver = ConsumerGroupDriver()
    for name in ("a", "b"):
        driver.join(name, group_instance_id=f"pod-{name}")
    for _ in range(3):
        for name in ("a", "b"):
            driver.report_owned(name, *driver.owned[name], group_instance_id=f"pod-{name}")
    assert driver.owned == {"a": ("t-0", "t-1"), "b": ("t-2", "t-3")}
    return driver


def test_an_instance_id_in_use_is_nobody_elses() -> None:
    driver = static()
    assert driver.join("c", group_instance_id="pod-a").error == E.UNRELEASED_INSTANCE_ID
    assert driver.heartbeat("c", epoch=2, group_instance_id="pod-a").error == E.FENCED_INSTANCE_ID
    assert driver.heartbeat("c", epoch=2, group_instance_id="pod-x").error == E.UNKNOWN_MEMBER_ID
    assert driver.leave("c", instance="pod-a") is E.FENCED_INSTANCE_ID
    assert driver.heartbeat("a", group_instance_id="pod-a").error == E.NONE


def test_a_member_that_leaves_for_now_keeps_its_partitions_and_the_next_of_its_name_gets_them() -> None:
    driver = static()
    epoch = driver.group.epoch
    assert driver.leave("a", LEAVE_FOR_NOW, "pod-a") is E.NONE
    assert (driver.group.epoch, driver.group.owners["t-0"], driver.group.current["a"].epoch) == (epoch, "a", -2)
    assert driver.report_owned("b", "t-2", "t-3", group_instance_id="pod-b").assignment is None
    back = driver.join("a2", group_instance_id="pod-a")
    assert (back.member_epoch, back.assignment) == (epoch, ("t-0", "t-1"))
    assert (driver.group.epoch, list(driver.group.members)) == (epoch, ["b", "a2"])
    assert driver.heartbeat("a", group_instance_id="pod-a").error == E.FENCED_INSTANCE_ID
    assert state(driver) == "Stable"


def test_a_member_that_leaves_for_now_has_given_up_what_it_was_to_give_up() -> None:
    driver = ConsumerGroupDriver()
    driver.join("a", group_instance_id="pod-a")
    driver.join("b")
    driver.heartbeat("a", group_instance_id="pod-a")
    assert driver.leave("a", LEAVE_FOR_NOW, "pod-a") is E.NONE
    assert driver.heartbeat("b").assignment == ("t-2", "t-3")


def test_a_static_member_that_leaves_for_good_is_gone() -> None:
    driver = static()
    assert driver.leave("a", LEAVE, "pod-a") is E.NONE
    assert driver.heartbeat("b", group_instance_id="pod-b").assignment == ALL
    assert driver.join("a2", group_instance_id="pod-a").error == E.NONE


# -- the log -----------------------------------------------------------------------------------------------------------


def test_replayed_records_restore_the_group_even_after_compaction() -> None:
    driver = ConsumerGroupDriver({"s": 3, "t": 4})
    told: list[ConsumerGroupRecord] = []
    story: list[Callable[[], Any]] = [
        lambda: driver.join("a", "s", "t"), lambda: driver.join("b", "t"), lambda: driver.heartbeat("a"),
        lambda: driver.report_owned("a", *driver.owned["a"]), lambda: driver.heartbeat("b"),
        lambda: driver.join("c", "s", group_instance_id="x"), lambda: driver.heartbeat("a"), lambda: driver.leave("b"),
        lambda: driver.heartbeat("a"), lambda: driver.leave("c", LEAVE_FOR_NOW, "x"),
        lambda: driver.join("d", "s", group_instance_id="x"),
    ]  # fmt: skip
    for act in story:
        driver.records = []
        act()
        told += driver.records
        last = {(each.kind, each.member_id): each for each in told}
        compacted = [each for each in told if last[each.kind, each.member_id] is each]
        for records in (told, compacted, [each for each in compacted if each.value is not None]):
            read = ConsumerGroup("g", 1)
            for record in records:
                read.replay(record)
            assert same(read) == same(driver.group)
    assert any(each.kind == TARGET for each in told)


def same(group: ConsumerGroup) -> list[Any]:
    """Return a group's state independently of its order."""
    books: list[dict[str, Any]] = [group.members, group.target, group.current, group.owners, group.instances]
    return [group.epoch, group.target_epoch, group.topics, *[sorted(book.items()) for book in books]]


# -- target assignments since 4.2 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kafka", "first"), [("4.2", 1), ("4.3", 2), ("4.4", 2)])
def test_since_4_3_the_first_assignment_has_epoch_2(kafka: str, first: int) -> None:
    """KAFKA-20268."""
    driver = ConsumerGroupDriver(kafka=kafka)
    response = driver.join("a")
    assert (response.member_epoch, response.assignment) == (first, ALL)
    assert (driver.group.epoch, driver.group.target_epoch) == (first, first)


@pytest.mark.parametrize(("kafka", "config", "waits"), [
    ("4.2", {}, False), ("4.3", {}, True), ("4.3", {"group_consumer_assignment_interval_ms": 0}, False)
])  # fmt: skip
def test_since_4_3_members_that_join_within_a_second_get_one_assignment(
    kafka: str, config: dict[str, ConfigValue], *, waits: bool
) -> None:
    """KIP-1263: until then heartbeats are answered by the former target."""
    driver = ConsumerGroupDriver(kafka=kafka, **config)
    first = driver.join("a").member_epoch
    driver.now += SECOND - 1
    for number, member in enumerate(("b", "c"), 1):
        response = driver.join(member)
        assert (response.member_epoch, response.assignment) == (first if waits else first + number, ())
    assert state(driver) == ("Assigning" if waits else "Reconciling")
    assert driver.heartbeat("a").assignment == (None if waits else ("t-0", "t-1"))
    driver.now += 1
    assert driver.heartbeat("b").member_epoch == first + 2
    assert (driver.group.epoch, driver.group.target_epoch, driver.group.assigned_at) == (
        first + 2, first + 2, driver.now if waits else driver.group.assigned_at,
    )  # fmt: skip
    driver.settle()
    assert sorted(map(len, driver.owned.values())) == [1, 1, 2]


def test_while_an_assignment_waits_a_member_revokes_topics_that_it_left() -> None:
    """KAFKA-19431: it stays in its epoch, and nobody else gets these partitions before the next target."""
    driver = ConsumerGroupDriver({"t": 2, "u": 2}, kafka="4.3")
    driver.join("a", "t", "u")
    told = driver.heartbeat("a", topics=("u",), owned=("t-0", "t-1", "u-0", "u-1"))
    assert (told.member_epoch, told.assignment) == (2, ("u-0", "u-1"))
    assert driver.group.current["a"].state == UNREVOKED
    assert driver.group.current["a"].assignment_epochs == (("u-0", 2), ("u-1", 2), ("t-0", 2), ("t-1", 2))
    assert driver.report_owned("a", "u-0", "u-1").member_epoch == 2
    assert (driver.group.current["a"].state, driver.group.current["a"].assigned) == (STABLE, ("u-0", "u-1"))
    assert (driver.group.epoch, driver.group.target_epoch) == (3, 2)
    driver.now += SECOND
    assert (driver.heartbeat("a").member_epoch, driver.group.target_epoch) == (3, 3)


@pytest.mark.parametrize(("kafka", "epoch"), [("4.3", 2), ("4.4", 3)])
def test_since_4_4_another_preferred_assignor_leads_to_another_assignment(kafka: str, epoch: int) -> None:
    """KAFKA-20434."""
    driver = ConsumerGroupDriver(kafka=kafka)
    driver.join("a", assignor="uniform")
    driver.now += SECOND
    assert driver.heartbeat("a", assignor="range").member_epoch == epoch
    driver.now += SECOND
    assert driver.heartbeat("a", assignor="range").member_epoch == epoch


@pytest.mark.parametrize(("kafka", "target", "assigned"), [("4.3", 2, ()), ("4.4", 3, ALL)])
def test_since_4_4_an_empty_group_does_not_make_its_next_member_wait(
    kafka: str, target: int, assigned: tuple[str, ...]
) -> None:
    """KAFKA-20442."""
    driver = ConsumerGroupDriver(kafka=kafka)
    driver.join("a")
    driver.leave("a")
    assert (state(driver), driver.group.epoch, driver.group.target_epoch) == ("Empty", 3, target)
    assert driver.join("b").assignment == assigned
    driver.now += SECOND
    driver.heartbeat("b")
    assert (driver.owned["b"], driver.group.target_epoch) == (ALL, 4)


# -- members that join again -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kafka", "error"),
    [(kafka, E.FENCED_MEMBER_EPOCH) for kafka in ("3.7", "3.8", "3.9", "4.0", "4.1")]
    + [("4.2", E.NONE), ("4.4", E.NONE)],
)
def test_up_to_4_1_a_known_member_cannot_join_again(kafka: str, error: KafkaError) -> None:
    """KAFKA-19233: but one whose first response was lost can, as its previous epoch is 0."""
    driver = ConsumerGroupDriver(kafka=kafka)
    first = driver.join("a").member_epoch
    again = driver.join("a")
    assert (again.error, again.member_epoch, again.assignment) == (E.NONE, first, ALL)
    driver.now += SECOND
    driver.join("b")
    driver.report_owned("a", *ALL)
    assert driver.report_owned("a", "t-0", "t-1").member_epoch == first + 1
    assert driver.join("a").error == error
    assert driver.report_owned("a", "t-0", "t-1").error == E.NONE


@pytest.mark.parametrize("kafka", ["3.7", "4.1", "4.2", "4.4"])
def test_a_static_member_cannot_join_again_before_it_has_left(kafka: str) -> None:
    """Not even under its own id (``throwIfInstanceIdIsUnreleased``); a lost first response is no exception."""
    driver = ConsumerGroupDriver(kafka=kafka)
    assert driver.join("a", group_instance_id="pod-a").error == E.NONE
    assert driver.join("a", group_instance_id="pod-a").error == E.UNRELEASED_INSTANCE_ID
    assert driver.leave("a", LEAVE_FOR_NOW, "pod-a") is E.NONE
    back = driver.join("a", group_instance_id="pod-a")
    assert (back.error, back.assignment) == (E.NONE, ALL)
