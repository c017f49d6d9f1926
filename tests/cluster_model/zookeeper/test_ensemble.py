"""The ensemble as a whole: elections, majorities, restarts, rewinding, and events while idle."""

import pytest

from cluster_model.zookeeper.data_tree import COMMIT_LOG_COUNT
from cluster_model.zookeeper.ensemble import Ensemble
from cluster_model.zookeeper.messages import Create, GetData, SetData, ZkError
from tests.cluster_model.zookeeper.rigs import MS, SECOND, TICK, TIMEOUT, Rig

START = ((1, Create("/a", (0,))), (1, Create("/mine", (), ephemeral=True)))


def cut_off(rig: Rig, server: int, lag: int = 1_000 * SECOND) -> None:
    """Isolate a server: no message between it and the others arrives in time."""
    for other in rig.servers:
        if other != server:
            rig.network.slow_down(server, other, ((1, lag, 0),) if lag else ())
            rig.network.slow_down(other, server, ((1, lag, 0),) if lag else ())


def same_everywhere(rig: Rig) -> bool:
    return all(rig.service.server(server).store.tree.save() == rig.service.tree.save() for server in rig.servers)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_an_ensemble_has_an_odd_number_of_servers(count: int) -> None:
    with pytest.raises(ValueError, match="servers"):
        Ensemble(Rig().network, count)


@pytest.mark.parametrize("servers", [1, 3, 5])
def test_servers_that_start_together_elect_the_last_and_take_clients(servers: int) -> None:
    rig = Rig(servers, formed=False)
    rig.run(5 * SECOND)
    assert rig.service.leader() == rig.servers[-1]
    assert rig.ask(1, Create("/a", ("x",))).error is ZkError.OK
    rig.run(SECOND)
    assert all(client.zk.connected for client in rig.clients.values())
    assert rig.ask(2, GetData("/a")).data == ("x",)
    assert same_everywhere(rig)


@pytest.mark.parametrize("power", [False, True])
def test_the_leaders_end_keeps_sessions_and_data(power: bool) -> None:
    rig = Rig(operations=START)
    rig.ask(2, SetData("/a", (1,)))
    old = rig.service.leader()
    sessions = {node: client.zk.session for node, client in rig.clients.items()}
    rig.crash(old, power=power)
    rig.run(40 * SECOND)
    assert rig.service.leader() == rig.servers[-2]
    assert {node: client.zk.session for node, client in rig.clients.items()} == sessions
    assert all(client.zk.connected for client in rig.clients.values())
    assert rig.ask(1, GetData("/a")).data == (1,)
    assert "/mine" in rig.service.tree.nodes
    rig.restart(old)
    rig.ask(1, SetData("/a", (2,)))
    rig.run(10 * SECOND)
    assert rig.service.leader() == rig.servers[-2]
    assert same_everywhere(rig)


def test_a_crashed_leader_is_replaced_in_less_than_a_second() -> None:
    rig = Rig()
    rig.run(SECOND)
    rig.crash(rig.service.leader())
    rig.run(SECOND)
    assert rig.service.leader() == rig.servers[-2]


def test_a_leader_that_is_cut_off_commits_nothing_and_steps_down() -> None:
    rig = Rig(operations=START)
    old = rig.service.leader()
    inside = next(client for client in rig.clients.values() if client.zk.server == old)
    outside = next(client for client in rig.clients.values() if client.zk.server != old)
    cut_off(rig, old)
    inside.zk.ask(SetData("/a", ("lost",)), "cut off")
    rig.run(5 * SECOND)
    assert rig.commits == []
    rig.run(15 * SECOND)
    assert not rig.service.server(old).leader.active
    assert inside.answers()[0][1].error is ZkError.CONNECTION_LOSS
    assert rig.service.leader() not in (old, -1)
    assert rig.ask(outside.port.node_id, SetData("/a", ("kept",), 0)).error is ZkError.OK
    assert rig.service.server(old).store.last_zxid > rig.service.server(old).store.committed
    cut_off(rig, old, 0)
    rig.run(1_100 * SECOND)
    assert same_everywhere(rig)
    assert rig.service.tree.nodes["/a"].data == ("kept",)
    assert [data for _at, path, data, _v, _z, _o in rig.commits if path == "/a"] == [("kept",)]


def test_a_paused_leader_wakes_up_deposed() -> None:
    rig = Rig(operations=START)
    old = rig.service.leader()
    rig.network.pause(old)
    rig.run(40 * SECOND)
    new = rig.service.leader()
    assert new not in (old, -1)
    rig.network.resume(old)
    rig.run(5 * SECOND)
    assert rig.service.leader() == new
    assert not rig.service.server(old).leader.active
    assert same_everywhere(rig)


def test_followers_give_a_silent_leader_up_after_the_sync_limit() -> None:
    rig = Rig()
    rig.run(20 * SECOND + 500 * MS)
    rig.network.pause(rig.service.leader())
    rig.run(5 * TICK - SECOND)
    assert rig.service.leader() == rig.servers[-1]
    rig.run(2 * SECOND)
    assert rig.service.leader() == rig.servers[-2]


def test_without_a_majority_all_zookeeper_clients_are_disconnected() -> None:
    rig = Rig(operations=START)
    rig.run(SECOND)
    for server in rig.servers[1:]:
        rig.crash(server)
    rig.run(30 * SECOND)
    assert rig.service.leader() == -1
    assert not any(client.zk.connected for client in rig.clients.values())
    rig.clients[1].zk.ask(GetData("/a"), "")
    rig.run(10 * SECOND)
    assert rig.clients[1].answers()[-1][1].error is ZkError.CONNECTION_LOSS
    rig.restart(rig.servers[1])
    rig.run(10 * SECOND)
    assert all(client.zk.connected for client in rig.clients.values())
    assert [client.times("expired") for client in rig.clients.values()] == [[], [], []]
    assert rig.ask(1, GetData("/a")).data == (0,)


def test_the_whole_ensemble_comes_back_with_what_it_had() -> None:
    rig = Rig(operations=START)
    rig.ask(1, SetData("/a", ("kept",)))
    rig.run(SECOND)
    for server in rig.servers:
        rig.crash(server, power=True)
    rig.run(100 * SECOND)
    for server in rig.servers:
        rig.restart(server)
    rig.run(20 * SECOND)
    assert rig.ask(1, GetData("/a")).data == ("kept",)
    assert rig.clients[1].times("expired") == []
    assert "/mine" in rig.service.tree.nodes


def test_the_server_with_the_longest_log_leads_whatever_its_id() -> None:
    rig = Rig(operations=START)
    first, second, third = rig.servers
    rig.crash(second)
    rig.ask(next(n for n, c in rig.clients.items() if c.zk.server == first), SetData("/a", (1,)))
    rig.crash(third)
    rig.restart(second)
    rig.run(10 * SECOND)
    assert rig.service.leader() == first
    assert rig.service.server(second).store.tree.nodes["/a"].data == (1,)


@pytest.mark.parametrize("writes", [20, 3 * COMMIT_LOG_COUNT])
def test_a_server_that_was_away_catches_up_from_the_log_or_with_the_whole_tree(writes: int) -> None:
    rig = Rig(operations=START, clients=(1,))
    away = next(s for s in rig.servers if s not in (rig.service.leader(), rig.clients[1].zk.server))
    rig.crash(away)
    for number in range(writes):
        rig.clients[1].zk.ask(SetData("/a", (number,)), number)
    rig.run(SECOND)
    leader = rig.service.server(rig.service.leader())
    assert len(leader.store.after(0)) <= 2 * COMMIT_LOG_COUNT + 1
    rig.restart(away)
    rig.run(5 * SECOND)
    assert same_everywhere(rig)
    assert rig.service.server(away).store.tree.nodes["/a"].version == writes


def test_a_follower_reads_its_own_tree_which_may_be_behind() -> None:
    rig = Rig(operations=START, clients=(1, 2))
    leader = rig.service.leader()
    reader = next(c for c in rig.clients.values() if c.zk.server != leader)
    writer = next(c for c in rig.clients.values() if c is not reader)
    rig.network.slow_down(leader, reader.zk.server, ((1, 4 * SECOND, 0),))
    rig.ask(writer.port.node_id, SetData("/a", (1,)))
    assert rig.ask(reader.port.node_id, GetData("/a")).data == (0,)
    rig.run(5 * SECOND)
    assert rig.ask(reader.port.node_id, GetData("/a")).data == (1,)


@pytest.mark.parametrize("at", [5 * MS, 3 * SECOND, 14 * SECOND, 16 * SECOND, 40 * SECOND])
def test_a_loaded_ensemble_continues_exactly_as_the_first_time(at: int) -> None:
    def play(rig: Rig, start: int, end: int) -> None:
        """Run the part in ``[start, end)`` of a script of faults and operations."""
        script = [
            (MS, lambda: rig.clients[1].zk.ask(SetData("/a", (1,)), "first")),
            (4 * MS, lambda: rig.clients[2].zk.ask(GetData("/a", watch=True), "second")),
            (3_000_001, lambda: rig.crash(rig.servers[2])),
            (13_999_998, lambda: rig.clients[1].zk.ask(Create("/b"), "third")),
            (15_000_000, lambda: rig.network.pause(3)),
            (30_000_000, lambda: rig.restart(rig.servers[2])),
            (50_000_000, lambda: rig.network.resume(3)),
            (51_000_000, lambda: rig.clients[2].zk.ask(SetData("/a", (2,), 1), "fourth")),
        ]
        for when, act in script:
            if start <= when < end:
                rig.run(when - rig.now)
                act()
        rig.run(end - rig.now)

    end = 90 * SECOND
    straight, halved, late = (Rig(operations=START, jitter=MS, seed=4) for _rig in range(3))
    play(straight, 0, end)
    play(halved, 0, at)
    saved = halved.save()
    play(halved, at, end)
    assert halved.save() == straight.save()
    halved.load(saved)
    assert halved.save() == saved
    play(halved, at, end)
    assert halved.save() == straight.save()
    late.load(saved)
    play(late, at, end)
    assert late.save() == straight.save()
    assert [c.zk.expired for c in straight.clients.values()] == [False, False, True]


def test_standing_idle_costs_pings_and_nothing_else() -> None:
    """Per second: half a tick of the leader with two pings, and pings of three clients every six seconds."""
    rig = Rig(operations=START)
    rig.run(100 * SECOND)
    before = rig.network.kernel.executed
    rig.run(1_200 * SECOND)
    pings_of_servers = 1_200 // 2 * (1 + 2 * 2)
    pings_of_clients = 3 * 1_200 // (TIMEOUT // SECOND // 3) * 3 + 2 * 1_200 // (TIMEOUT // SECOND // 3)
    alarms = 3 * 1_200 // 8
    assert rig.network.kernel.executed - before <= pings_of_servers + pings_of_clients + alarms
    assert rig.network.kernel.pending < 20
