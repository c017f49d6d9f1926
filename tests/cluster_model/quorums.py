"""A quorum on a real network: voters, observers, listeners that note what they hear, and what can happen to them."""

from typing import Any

from cluster_model.controller.raft.raft import Role
from cluster_model.controller.raft.raft_client import RaftClient, form_quorum
from cluster_model.controller.raft.raft_log import QuorumStore
from cluster_model.kernel.event_loop import Payload
from cluster_model.kernel.network import Network
from cluster_model.kernel.node_context import NodeContext
from cluster_model.kernel.process import ProcessState
from cluster_model.kernel.rng import RandomStreams
from cluster_model.protocol.config_defs import ConfigValue
from cluster_model.protocol.configs import QuorumConfig
from cluster_model.protocol.messages import NO_LEADER
from cluster_model.protocol.versions import Profile

MS = 1_000
SECOND = 1_000_000
LATENCY = MS
FIRST_VOTER = 1001
FOREVER_US = 1 << 50
"""A delay that no test lives to see the end of."""
ISOLATED = 77
"""The fault that cuts a node off."""


class Member:
    """A process with nothing but its peer; it notes with times what its peer tells it."""

    def __init__(self, rig: "QuorumRig", node: int) -> None:
        self._rig = rig
        self.heard: list[tuple[int, str, Any]] = []
        """(time, what, detail), over all lives of the process."""
        self.applied: list[tuple[int, int, tuple[Any, ...]]] = []
        """Batches handed over in this life."""
        self.leads = 0
        self.peer = RaftClient(
            NodeContext(rig.network, node), rig.voters, rig.store, rig.config, rig.streams.named(f"raft {node}"), self
        )

    def receive(self, source: int, message: Any) -> None:
        assert self.peer.receive(source, message)

    def on_timer(self, timer: Payload) -> None:
        assert self.peer.on_timer(timer)

    def on_disconnect(self, peer: int) -> None:
        self.peer.on_disconnect(peer)

    def on_leader(self, epoch: int) -> None:
        self.leads = epoch
        self._note("leader", epoch)

    def on_resigned(self) -> None:
        assert self.leads
        self.leads = 0
        self._note("resigned", None)

    def on_committed(self, base_offset: int, epoch: int, records: tuple[Any, ...]) -> None:
        self.applied.append((base_offset, epoch, records))
        self._note("committed", (base_offset, epoch, records))

    def _note(self, what: str, detail: Any) -> None:
        self.heard.append((self._rig.now, what, detail))

    def save(self) -> Any:
        return (tuple(self.heard), tuple(self.applied), self.leads, self.peer.save())

    def load(self, saved: Any) -> None:
        heard, applied, self.leads, peer = saved
        self.heard, self.applied = list(heard), list(applied)
        self.peer.load(peer)


class QuorumRig:
    """``voters`` voters from 1001 on and ``observers`` observers from 1 on."""

    def __init__(
        self,
        voters: int = 3,
        observers: int = 0,
        *,
        kafka: str = "3.9",
        config: dict[str, ConfigValue] | None = None,
        seed: int = 0,
        naive: bool = False,
        jitter: int = 300,
        formed: bool = True,
        whole: QuorumStore | None = None,
    ) -> None:
        self.streams = RandomStreams(seed)
        self.network = Network(self.streams, LATENCY, jitter, lambda _target, _payload: None, naive=naive)
        self.voters = tuple(range(FIRST_VOTER, FIRST_VOTER + voters))
        self.observers = tuple(range(1, observers + 1))
        self.store = QuorumStore(whole)
        self.config = QuorumConfig.of(Profile.of(kafka, "kraft"), config or {})
        self.members: dict[int, Member] = {}
        for node in (*self.voters, *self.observers):
            self.members[node] = Member(self, node)
            self.network.add(node, f"node {node}", self.members[node])
        if formed:
            form_quorum(tuple(member.peer for member in self.members.values()), FIRST_VOTER, (("first",), ("a", "b")))
        else:
            for member in self.members.values():
                member.peer.started()

    @property
    def now(self) -> int:
        return self.network.kernel.now

    def run(self, duration: int) -> None:
        self.network.kernel.run_until(self.now + duration)

    def peer(self, node: int) -> RaftClient:
        return self.members[node].peer

    def runs(self, node: int) -> bool:
        return self.network.processes[node].state is ProcessState.RUNNING

    def leader(self) -> int:
        """The running node that leads in the newest epoch and has told its listener so, NO_LEADER if none does."""
        leading = [
            (peer.epoch, node) for node in self.voters if self.runs(node) and (peer := self.peer(node)).is_leader
        ]
        return max(leading)[1] if leading else NO_LEADER

    def roles(self) -> list[Role]:
        return [self.peer(node).node.role for node in self.voters]

    def until_leader(self, most: int = 20 * SECOND) -> int:
        """Run until somebody leads that did not before; the time it took."""
        began, before = self.now, self.leader()
        while self.leader() in (before, NO_LEADER) and self.now < began + most:
            self.run(MS)
        return self.now - began

    def append(self, *records: Any) -> int:
        """Through the leader; the offset of the last record."""
        return self.peer(self.leader()).append(records)

    def crash(self, node: int) -> None:
        self.network.wake_exchanges(node)
        self._die(node)
        self.network.crash(node)

    def power_off(self, node: int) -> None:
        self.network.wake_exchanges(node)
        self._die(node)
        self.network.power_off(node)

    def _die(self, node: int) -> None:
        member = self.members[node]
        member.peer.stopped()
        member.applied.clear()
        member.leads = 0

    def shut_down(self, node: int) -> None:
        self.peer(node).resign()
        self.crash(node)

    def restart(self, node: int) -> None:
        self.network.restart(node)
        self.peer(node).started()

    def pause(self, node: int) -> None:
        self.network.pause(node)

    def resume(self, node: int) -> None:
        self.network.resume(node)

    def lag(self, source: int, target: int, latency: int, jitter: int = 0, fault: int = 1) -> None:
        link = self.network.link(source, target)
        rest = tuple(entry for entry in link.lag if entry[0] != fault)
        self.network.slow_down(source, target, (*rest, (fault, latency, jitter)) if latency or jitter else rest)

    def isolate(self, node: int) -> None:
        """What is sent from now on takes longer than any test."""
        for other in self.members:
            if other != node:
                self.lag(node, other, FOREVER_US, fault=ISOLATED)
                self.lag(other, node, FOREVER_US, fault=ISOLATED)

    def reconnect(self, node: int) -> None:
        """Undo :meth:`isolate`; what was sent meanwhile comes too late for good, its connections are new."""
        for other in self.members:
            if other != node:
                self.lag(node, other, 0, fault=ISOLATED)
                self.lag(other, node, 0, fault=ISOLATED)
                for pair in ((node, other), (other, node)):
                    for wire in self.network.link(*pair).wires:
                        if wire.arrives > self.now + FOREVER_US // 2:
                            wire.arrives = self.now

    def heard(self, node: int, what: str) -> list[tuple[int, Any]]:
        return [(at, detail) for at, kind, detail in self.members[node].heard if kind == what]

    def applied(self, node: int) -> list[Any]:
        """Records handed over in this life, in order."""
        return [record for _base, _epoch, records in self.members[node].applied for record in records]

    def save(self) -> Any:
        members = tuple(member.save() for member in self.members.values())
        return (self.network.save(), self.streams.save(), self.store.save(), members)

    def load(self, saved: Any) -> None:
        network, streams, store, members = saved
        self.streams.load(streams)
        self.network.load(network)
        self.store.load(store)
        for member, state in zip(self.members.values(), members, strict=True):
            member.load(state)
