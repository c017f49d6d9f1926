"""Three replicas of one partition, a controller, and all delayed messages between them, one action at a time.

The objects are those of the model: replicas, leaderships, follower states, the controller's committed state. The timed
broker's part around them (which message is sent, which response still counts) is done here in a few lines. Every
message stays in its connection until an action delivers it: in order within a connection, in any order across
connections.
"""

from typing import Any, NamedTuple

from cluster_model.broker.fetch.fetch_reads import epoch_end, serve_fetch
from cluster_model.broker.partition.partition import BrokerMetadata, Replica
from cluster_model.controller.committed_state import CommittedState
from cluster_model.controller.immediate_controller import ImmediateController
from cluster_model.kernel.rng import RandomStream
from cluster_model.log.batch_store import BatchStore
from cluster_model.protocol.configs import BrokerConfig, TopicConfig
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.events import Event
from cluster_model.protocol.messages import (
    ALL,
    CONSUMER,
    NO_LEADER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    EpochEnd,
    FetchData,
    FetchPartition,
    FetchRequest,
    PartitionState,
    ProduceRequest,
)
from cluster_model.protocol.versions import Profile
from tests.cluster_model.promises import Promises

P = "t-0"
BROKERS = (1, 2, 3)
SECOND = 1_000_000
MOST_BYTES = 1 << 20


class Flight(NamedTuple):
    """A follower's request to a leader, and the response once there is one."""

    question: FetchPartition | tuple[str, int, int]
    broker_epoch: int
    answer: FetchData | EpochEnd | None = None


class Protocol:
    """State of the whole protocol; an action that is not possible returns False and changes nothing."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.now = 0
        self.promises = Promises(self)
        self.live = {broker: broker for broker in BROKERS}
        """Broker → epoch, if registered with the controller and unfenced."""
        self.epochs = dict(self.live)
        """Broker → its own epoch as it knows it."""
        self.up = dict.fromkeys(BROKERS, True)
        self.lives = dict.fromkeys(BROKERS, 0)
        self.committed = CommittedState(self._emit)
        self.decider = ImmediateController(self.committed, profile, elr=False)
        topic = TopicConfig.of(profile, {}, {"min.insync.replicas": 2, "unclean.leader.election.enable": False})
        self.committed.create(P, BROKERS, topic, self.live)
        self.record = self.committed.records[P]
        self.epoch_branches = BatchStore()
        self.metadata = {broker: BrokerMetadata() for broker in BROKERS}
        config = BrokerConfig.of(profile, {})
        self.replicas = {
            broker: Replica(
                broker, P, BROKERS, profile, config, topic, self.epoch_branches, self.metadata[broker], self._emit
            )
            for broker in BROKERS
        }
        self._decisions: list[tuple[PartitionState, dict[int, int]]] = []
        self._told = dict.fromkeys(BROKERS, 0)
        self._flights: dict[tuple[int, int], Flight] = {}
        self._proposals: dict[int, list[tuple[int, AlterPartitionRequest]]] = {broker: [] for broker in BROKERS}
        self._verdicts: dict[int, list[AlterPartitionResponse]] = {broker: [] for broker in BROKERS}
        self._waiting: dict[int, tuple[int, int, int]] = {}
        self._produced = 0
        self._registered = max(BROKERS)
        self._decided()
        for broker in BROKERS:
            self.deliver(broker)

    def _emit(self, event: Event) -> None:
        self.promises.heard(event)

    def _decided(self) -> None:
        """Send new decisions of the controller to every broker."""
        now = (self.record.state, dict(self.live))
        if not self._decisions or self._decisions[-1] != now:
            self._decisions.append(now)

    def _settle(self, broker: int) -> bool:
        """Collect the results of an action at a broker: produce responses, and proposals to the controller."""
        replica = self.replicas[broker]
        for token, error in replica.done:
            records = self._waiting.pop(token)
            if error is KafkaError.NONE:
                self.promises.acknowledged(replica, records)
        replica.done.clear()
        if replica.leadership is not None:
            proposal = replica.leadership.take_proposal()
            if proposal is not None:
                sent = proposal._replace(broker_epoch=self.epochs.get(broker, -1))
                self._proposals[broker].append((self.lives[broker], sent))
        return True

    # -- clients ----------------------------------------------------------------------------------------------------

    def produce(self, broker: int, acks: int) -> bool:
        """Write a record at the broker that a producer believes to be the leader."""
        leadership = self.replicas[broker].leadership
        if leadership is None:
            return False
        self._produced += 1
        token = self._produced
        result = leadership.append(self.now, ProduceRequest(token, P, acks, 0, "c", -1, token, 1, 100))
        if result.error is KafkaError.NONE:
            records = (result.epoch_branch, result.base, result.base + 1)
            if result.waits:
                leadership.wait(result.required, token)
                self._waiting[token] = records
            elif acks == ALL:
                self.promises.acknowledged(self.replicas[broker], records)
        return self._settle(broker)

    def consume(self, broker: int, offset: int) -> bool:
        """Read from the broker that a consumer believes to be the leader."""
        replica = self.replicas[broker]
        if replica.leadership is None:
            return False
        request = FetchRequest(0, CONSUMER, -1, 0, MOST_BYTES, ())
        asked = FetchPartition(P, min(offset, replica.hw), -1, -1)
        self.promises.read(replica, serve_fetch(replica, request, asked, self.now, (), book=False).records)
        return True

    # -- following --------------------------------------------------------------------------------------------------

    def ask(self, follower: int) -> bool:
        """Send a follower's request to its leader, for the end of its epoch or for records; one at a time."""
        replica = self.replicas[follower]
        following = replica.following
        link = (follower, replica.leader)
        if following is None or following.failed or replica.leader == NO_LEADER or link in self._flights:
            return False
        if replica.leader not in self.metadata[follower].live:
            return False
        epoch = self.epochs.get(follower, -1) if self.profile.fetch_broker_epoch else -1
        question = following.epoch_request() if following.truncating else following.next_fetch()
        self._flights[link] = Flight(question, epoch)
        return True

    def serve(self, follower: int, leader: int) -> bool:
        """Handle a follower's request at its target, in the target's current role."""
        flight = self._flights.get((follower, leader))
        if flight is None or flight.answer is not None:
            return False
        if not self.up[leader]:
            return self.break_off(follower, leader)
        replica = self.replicas[leader]
        answer: FetchData | EpochEnd
        if isinstance(flight.question, FetchPartition):
            request = FetchRequest(0, follower, flight.broker_epoch, 0, MOST_BYTES, (flight.question,))
            answer = serve_fetch(replica, request, flight.question, self.now, (), book=True)
        else:
            answer = epoch_end(replica, *flight.question)
        self._flights[follower, leader] = flight._replace(answer=answer)
        return self._settle(leader)

    def hear(self, follower: int, leader: int) -> bool:
        """Deliver the response; it counts while that leader is still followed, in any epoch."""
        flight = self._flights.get((follower, leader))
        if flight is None or flight.answer is None:
            return False
        del self._flights[follower, leader]
        replica = self.replicas[follower]
        following = replica.following
        if following is None or following.failed or replica.leader != leader:
            return True
        if isinstance(flight.answer, FetchData):
            assert isinstance(flight.question, FetchPartition)
            following.apply_fetch(self.now, flight.question, flight.answer)
        else:
            following.apply_epoch_end(self.now, flight.answer)
        return self._settle(follower)

    def break_off(self, follower: int, leader: int) -> bool:
        """Break the connection: request and response are lost."""
        return self._flights.pop((follower, leader), None) is not None

    # -- the controller ---------------------------------------------------------------------------------------------

    def elect(self, leader: int) -> bool:
        """Elect any live member of the ISR cleanly."""
        if leader not in self.live or leader not in self.record.isr:
            return False
        self.decider.elect_manually(P, leader, self.now, unclean=False, live=self.live)
        self._decided()
        return True

    def fence(self, broker: int) -> bool:
        """Fence a broker that is dead or only slow."""
        if self.live.pop(broker, None) is None:
            return False
        self.decider.fence(broker, self.live, self.now)
        self._decided()
        return True

    def notice(self, broker: int) -> bool:
        """Fence a broker that is dead."""
        return not self.up[broker] and self.fence(broker)

    def register(self, broker: int) -> bool:
        """Register a running broker: a new process with a new epoch, a slow one with its old epoch."""
        if not self.up[broker] or broker in self.live:
            return False
        if broker not in self.epochs:
            self._registered += 1
            self.epochs[broker] = self._registered
            self._told[broker] = len(self._decisions) - 1
            self.promises.registered(broker)
        self.live[broker] = self.epochs[broker]
        self.decider.unfence(broker, self.live, self.now)
        self._decided()
        return True

    def deliver(self, broker: int) -> bool:
        """Deliver the next decision to a broker."""
        if broker not in self.epochs or self._told[broker] == len(self._decisions):
            return False
        state, live = self._decisions[self._told[broker]]
        self._told[broker] += 1
        replica = self.replicas[broker]
        before = replica.leader_epoch
        self.metadata[broker].live = dict(live)
        changed = replica.apply(state, self.now)
        self.promises.fenced(state.leader_epoch < before and changed, f"{broker} in epoch {before} took up {state}")
        return self._settle(broker)

    def delay_metadata(self, broker: int, back: int) -> bool:
        """Deliver a decision that is older than the broker's known one, from a former controller."""
        replica = self.replicas[broker]
        known = (replica.leader_epoch, replica.partition_epoch)
        place = self._told[broker] - 1 - back
        if replica.leader_epoch < 0 or place < 0:
            return False
        state, _live = self._decisions[place]
        changed = replica.apply(state, self.now)
        older = (state.leader_epoch, state.partition_epoch) <= known
        self.promises.fenced(older and changed, f"{broker} at {known} took up {state}")
        return self._settle(broker)

    def shrink(self, broker: int) -> bool:
        """Run a broker's task ``isr-expiration``."""
        leadership = self.replicas[broker].leadership
        if leadership is None:
            return False
        leadership.shrink(self.now)
        return self._settle(broker)

    def judge(self, broker: int) -> bool:
        """Handle a broker's next proposal at the controller."""
        if not self._proposals[broker]:
            return False
        life, proposal = self._proposals[broker].pop(0)
        before = self.record.state
        verdict = self.decider.alter_partition(proposal, self.live, self.now)
        stale = proposal.leader != before.leader or proposal.leader_epoch != before.leader_epoch
        changed = self.record.isr != before.isr
        self.promises.fenced(self.profile.alter_partition and stale and changed, f"{proposal} changed {before}")
        if life == self.lives[broker]:
            self._verdicts[broker].append(verdict)
        self._decided()
        return True

    def conclude(self, broker: int) -> bool:
        """Deliver the controller's response to a proposal."""
        if not self._verdicts[broker]:
            return False
        verdict = self._verdicts[broker].pop(0)
        leadership = self.replicas[broker].leadership
        if leadership is not None and leadership.confirmed(self.now, verdict) and leadership.pending is not None:
            leadership.propose(leadership.pending)
        return self._settle(broker)

    # -- processes, disks, time -------------------------------------------------------------------------------------

    def crash(self, broker: int) -> bool:
        """Kill the process; the page cache survives, and its messages stay in flight."""
        if not self.up[broker]:
            return False
        self.up[broker] = False
        self.lives[broker] += 1
        replica = self.replicas[broker]
        lost = {token for _required, token in ([] if replica.leadership is None else replica.leadership._waiting)}
        self._waiting = {token: records for token, records in self._waiting.items() if token not in lost}
        replica.stopped()
        self.metadata[broker].live.clear()
        self.epochs.pop(broker, None)
        self._verdicts[broker].clear()
        for link in [link for link in self._flights if broker in link]:
            del self._flights[link]
        return True

    def power_loss(self, broker: int, keep: int) -> bool:
        """Cut the machine's power: ``keep`` records of its log survive, and everything flushed."""
        if not self.crash(broker):
            return False
        replica = self.replicas[broker]
        replica.power_lost(self.now, max(keep, replica.log.durable))
        self.promises.lossy_crash(broker)
        return True

    def restart(self, broker: int) -> bool:
        """Start the process with its disk's content; it is not registered yet."""
        if self.up[broker]:
            return False
        self.up[broker] = True
        self.replicas[broker].recovered()
        return True

    def checkpoint(self, broker: int) -> bool:
        """Write the HW to its checkpoint."""
        self.replicas[broker].checkpoint(self.now)
        return self.up[broker]

    def flush(self, broker: int) -> bool:
        """Flush the log."""
        self.replicas[broker].log.flush()
        return self.up[broker]

    def tick(self, seconds: int) -> bool:
        """Advance the time."""
        self.now += seconds * SECOND
        return True


def _acts(**weights: int) -> tuple[tuple[str, ...], ...]:
    pairs = [(one, other) for one in BROKERS for other in BROKERS if one != other]
    found: list[tuple[Any, ...]] = []
    for name, weight in weights.items():
        if name == "produce":
            each: list[tuple[Any, ...]] = [(broker, acks) for broker in BROKERS for acks in (0, 1, ALL, ALL)]
        elif name in ("consume", "power_loss"):
            each = [(broker, number) for broker in BROKERS for number in (0, 3)]
        elif name in ("serve", "hear", "break_off"):
            each = list(pairs)
        elif name == "tick":
            each = [(4,), (40,)]
        else:
            each = [(broker,) for broker in BROKERS]
        found += [(name, *arguments) for arguments in each for _ in range(weight)]
    return tuple(found)


CALM = _acts(
    produce=4, consume=1, ask=40, serve=40, hear=40, break_off=1, deliver=50, shrink=2, judge=40, conclude=40, elect=2,
    fence=1, notice=8, register=40, crash=1, restart=20, checkpoint=2, flush=2, tick=1,
)  # fmt: skip
"""Actions of a random walk, with their weights."""
LOSSY = (*CALM, *_acts(power_loss=1))


def walk(profile: Profile, number: int, steps: int, *, lossy: bool = False) -> Protocol:
    """Run a random walk, determined by its number; invariants are checked after every action."""
    protocol = Protocol(profile)
    draw = RandomStream(number, "walk")
    acts = LOSSY if lossy else CALM
    while steps:
        name, *arguments = acts[draw.below(len(acts))]
        if getattr(protocol, name)(*arguments):
            protocol.promises.check()
            steps -= 1
    return protocol
