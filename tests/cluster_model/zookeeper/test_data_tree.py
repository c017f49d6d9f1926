"""Valid and invalid operations of the tree, by ZooKeeper's names; watch events and their order."""

from typing import Any

import pytest

from cluster_model.zookeeper.data_tree import ClientWatches, DataTree, WatchTable
from cluster_model.zookeeper.messages import (
    Check,
    CloseSession,
    Create,
    CreateSession,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    SetData,
    SetWatches,
    WatchKind,
    Write,
    ZkError,
)

MINE, OTHER = 1, 2
CREATED, DELETED = WatchKind.NODE_CREATED, WatchKind.NODE_DELETED
CHANGED, CHILDREN = WatchKind.NODE_DATA_CHANGED, WatchKind.NODE_CHILDREN_CHANGED


def tree() -> DataTree:
    """Sessions 1 and 2; /a (version 2) with child /a/b, /e ephemeral of session 1, /q that has counted two children."""
    made = DataTree()
    made.judge(CreateSession(10, 7), 0, MINE)
    made.judge(CreateSession(20, 8), 0, OTHER)
    operations: tuple[Write, ...] = (
        Create("/a", ("old",)),
        Create("/a/b", (1, 2)),
        SetData("/a", ("newer",)),
        SetData("/a", ("newest",)),
        Create("/e", (), ephemeral=True),
        Create("/q"),
        Create("/q/n-", (), sequential=True),
        Create("/q/n-", (), ephemeral=True, sequential=True),
        Delete("/q/n-0000000000"),
    )
    for zxid, operation in enumerate(operations, 3):
        assert made.judge(operation, MINE, zxid)[1].error is ZkError.OK
    return made


@pytest.mark.parametrize(
    ("operation", "error"),
    [
        (Create("/new"), ZkError.OK),
        (Create("/a"), ZkError.NODE_EXISTS),
        (Create("/x/y"), ZkError.NO_NODE),
        (Create("/e/child"), ZkError.NO_CHILDREN_FOR_EPHEMERALS),
        (Create("/e/child", sequential=True), ZkError.NO_CHILDREN_FOR_EPHEMERALS),
        (Create("no-slash"), ZkError.BAD_ARGUMENTS),
        (Create("/a/"), ZkError.BAD_ARGUMENTS),
        (Create("/"), ZkError.BAD_ARGUMENTS),
        (Delete("/a"), ZkError.NOT_EMPTY),
        (Delete("/a", 1), ZkError.BAD_VERSION),
        (Delete("/x"), ZkError.NO_NODE),
        (Delete("/a/b", 0), ZkError.OK),
        (Delete("/"), ZkError.BAD_ARGUMENTS),
        (SetData("/a", (), 2), ZkError.OK),
        (SetData("/a", ()), ZkError.OK),
        (SetData("/a", (), 1), ZkError.BAD_VERSION),
        (SetData("/a", (), 3), ZkError.BAD_VERSION),
        (SetData("/x", ()), ZkError.NO_NODE),
    ],
)
def test_writes(operation: Any, error: ZkError) -> None:
    made = tree()
    before = made.save()[1:]
    changes, result = made.judge(operation, OTHER, 99)
    assert result.error is error
    assert bool(changes) is (error is ZkError.OK)
    assert (made.save()[1:] == before) is (error is not ZkError.OK)


def test_stat_counts_what_became_of_a_node() -> None:
    made = tree()
    stat = made.stat("/a")
    assert (stat.czxid, stat.mzxid, stat.pzxid, stat.version, stat.children) == (3, 6, 4, 2, 1)
    assert (made.stat("/e").owner, stat.owner) == (MINE, 0)
    queue = made.stat("/q")
    assert (queue.pzxid, queue.cversion, queue.children) == (11, 3, 1)


def test_reads() -> None:
    made = tree()
    assert made.read(GetData("/a")).data == ("newest",)
    assert made.read(GetChildren("/")).children == ("a", "e", "q")
    assert made.read(Exists("/a/b")).error is ZkError.OK
    for read in (GetData("/x"), GetChildren("/x"), Exists("/x")):
        assert made.read(read).error is ZkError.NO_NODE
    assert made.read(GetData("x")).error is ZkError.BAD_ARGUMENTS


def test_sequential_names_count_every_child_that_ever_was() -> None:
    made = tree()
    assert made.children("/q") == ("n-0000000001",)
    assert made.judge(Create("/q/n-", (), sequential=True), OTHER, 20)[1].path == "/q/n-0000000002"


def test_the_end_of_a_session_takes_its_ephemeral_nodes_and_no_others() -> None:
    made = tree()
    made.judge(Create("/other", (), ephemeral=True), OTHER, 20)
    made.judge(CloseSession(), MINE, 21)
    assert sorted(made.nodes) == ["/", "/a", "/a/b", "/other", "/q"]
    assert list(made.sessions) == [OTHER]
    assert made.ephemerals(MINE) == ()
    assert made.ephemerals(OTHER) == ("/other",)


def test_a_multi_is_done_whole() -> None:
    made = tree()
    multi = Multi((Check("/a", 2), Create("/new"), Create("/new/child"), SetData("/a", ("m",), 2), Delete("/a/b")))
    changes, result = made.judge(multi, MINE, 50)
    assert result.error is ZkError.OK
    assert [change.kind for change in changes] == ["create", "create", "set", "delete"]
    assert [each.error for each in result.results] == [ZkError.OK] * 5
    assert made.stat("/a").version == 3
    assert "/new/child" in made.nodes
    assert "/a/b" not in made.nodes


@pytest.mark.parametrize(
    ("bad", "error"),
    [(Check("/a", 1), ZkError.BAD_VERSION), (Create("/q"), ZkError.NODE_EXISTS), (Delete("/zz"), ZkError.NO_NODE)],
)
def test_a_multi_that_fails_changes_nothing(bad: Any, error: ZkError) -> None:
    made = tree()
    before = made.save()[1:]
    first = (Create("/new"), Create("/q/n-", (), sequential=True), Delete("/e"), SetData("/a", ()))
    changes, result = made.judge(Multi((*first, bad, Create("/later"))), MINE, 50)
    assert changes == ()
    assert result.error is error
    assert [each.error for each in result.results] == [ZkError.OK] * 4 + [error, ZkError.RUNTIME_INCONSISTENCY]
    zxid, nodes, sessions, ephemerals = made.save()
    assert zxid == 50
    assert dict(nodes) == dict(before[0])
    assert sessions == before[1]
    assert {owner: sorted(paths) for owner, paths in ephemerals} == {o: sorted(p) for o, p in before[2]}
    assert made.children("/q") == ("n-0000000001",)


def test_applying_the_changes_elsewhere_gives_the_same_tree_and_sets_watches_off_in_order() -> None:
    leader, follower = tree(), tree()
    multi = Multi((Create("/new"), Create("/new/s", (), ephemeral=True), SetData("/a", ("x",)), Delete("/a/b")))
    seen: list[tuple[str, WatchKind]] = []
    follower.apply(leader.judge(multi, OTHER, 60)[0], 60, lambda path, kind: seen.append((path, kind)))
    assert follower.save() == leader.save()
    assert seen == [
        ("/new", CREATED), ("/", CHILDREN), ("/new/s", CREATED), ("/new", CHILDREN),
        ("/a", CHANGED), ("/a/b", DELETED), ("/a", CHILDREN),
    ]  # fmt: skip


def test_a_copy_is_a_tree_of_its_own() -> None:
    made = tree()
    copy = made.copy()
    assert copy.save() == made.save()
    copy.judge(Create("/a/c"), MINE, 70)
    assert made.children("/a") == ("b",)
    assert copy.children("/a") == ("b", "c")


def test_watches_go_off_once_for_a_server_that_waits_for_that() -> None:
    made, watches = tree(), WatchTable()
    for watcher, operation in enumerate((GetData("/a"), Exists("/a"), GetChildren("/a"), Exists("/x"), GetData("/x"))):
        watches.read(watcher, operation, made.read(operation))
    assert watches.trigger("/a", CHANGED) == (0, 1)
    assert watches.trigger("/a", CHANGED) == ()
    assert watches.trigger("/a", CHILDREN) == (2,)
    assert watches.trigger("/x", CREATED) == (3,)
    assert watches.save() == ((), ())


def test_a_deletion_notifies_each_watcher_once() -> None:
    made, watches = tree(), WatchTable()
    for operation in (GetData("/a"), GetChildren("/a")):
        watches.read(5, operation, made.read(operation))
    watches.read(6, GetChildren("/a"), made.read(GetChildren("/a")))
    assert watches.trigger("/a", DELETED) == (5, 6)
    assert watches.trigger("/a", DELETED) == ()


def test_a_removed_watcher_is_not_notified() -> None:
    made, watches = tree(), WatchTable()
    for watcher in (5, 6):
        watches.read(watcher, GetData("/a"), made.read(GetData("/a")))
    watches.forget(5)
    assert watches.trigger("/a", CHANGED) == (6,)


def test_watches_set_again_go_off_for_what_was_missed() -> None:
    made, table = tree(), WatchTable()
    missed = table.restore(5, SetWatches(1, 5, ("/a", "/a/b", "/x"), ("/e", "/y"), ("/q", "/a", "/z")), made)
    assert missed == [("/a", CHANGED), ("/x", DELETED), ("/e", CREATED), ("/q", CHILDREN), ("/z", DELETED)]
    assert table.trigger("/a/b", CHANGED) == table.trigger("/y", CREATED) == table.trigger("/a", CHILDREN) == (5,)


def test_a_client_waits_for_what_its_reads_left() -> None:
    made, watches = tree(), ClientWatches()
    for operation in (GetData("/a"), GetChildren("/a"), Exists("/x"), GetData("/y")):
        watches.read(operation, made.read(operation))
    assert watches.again(3, 9) == SetWatches(3, 9, ("/a",), ("/x",), ("/a",))
    assert not watches.fired("/y", CREATED)
    assert watches.fired("/x", CREATED)
    assert watches.fired("/a", CHILDREN)
    assert watches.again(3, 9) == SetWatches(3, 9, ("/a",), (), ())
    assert watches.fired("/a", DELETED)
    assert watches.again(3, 9) is None
