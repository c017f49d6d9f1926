"""Changes of the ISR by hand: what a leader proposes, the controller's word on it, and the answer's way back."""

from collections.abc import Sequence

from cluster_model.broker.partition.leadership import Leadership
from cluster_model.broker.partition.partition import Replica
from cluster_model.broker.partition.replication_rules import LONG_AGO
from cluster_model.manual.context import NOW, Ground, Handler, Params
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.messages import AlterPartitionRequest, AlterPartitionResponse

_Key = tuple[str, int]


class IsrChanges:
    """AlterPartition under way: of each leader at most one request or one answer, as KIP-497 has it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._sent: dict[_Key, AlterPartitionRequest] = {}
        self._answers: dict[_Key, AlterPartitionResponse] = {}
        self.handlers: dict[str, Handler] = {
            "shrink_isr": self._shrink,
            "expand_isr": self._expand,
            "expire_isr": self._expire,
            "alter_send": self._send_again,
            "alter_serve": self._serve,
            "alter_apply": self._apply,
            "alter_lose": self._lose,
        }

    def forget(self, replica: Replica) -> None:
        """A new role, or a crash: answers to the former life come to nothing. A request on its way still arrives."""
        self._answers.pop((replica.partition, replica.broker), None)

    def _leadership(self, replica: Replica) -> Leadership | KafkaError:
        if not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        return KafkaError.NOT_LEADER_OR_FOLLOWER if replica.leadership is None else replica.leadership

    def _shrink(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        leadership = self._leadership(replica)
        if isinstance(leadership, KafkaError):
            return leadership
        out = tuple(params["out"])
        if replica.broker in out or not all(broker in leadership.isr for broker in out):
            return KafkaError.INVALID_REQUEST
        leadership.write_off(out)
        return self._change(params, replica, tuple(broker for broker in leadership.isr if broker not in out))

    def _expand(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        newcomer = self._ground.replica(params, "in").broker
        leadership = self._leadership(replica)
        if isinstance(leadership, KafkaError):
            return leadership
        remote = leadership.remotes.get(newcomer)
        if remote is None or newcomer in leadership.isr or not leadership.may_join(newcomer, remote):
            return KafkaError.INELIGIBLE_REPLICA
        return self._change(params, replica, (*leadership.isr, newcomer))

    def _expire(self, params: Params) -> KafkaError:
        """The leader's own rule decides; who is silent has not fetched for longer than the lag time."""
        replica = self._ground.replica(params)
        leadership = self._leadership(replica)
        if isinstance(leadership, KafkaError):
            return leadership
        self._count_as_silent(replica, leadership, params.get("silent", ()))
        if leadership.pending is not None:
            return KafkaError.INVALID_REQUEST
        leadership.shrink(NOW)
        return self._send_or_commit(params, replica, leadership)

    @staticmethod
    def _count_as_silent(replica: Replica, leadership: Leadership, silent: Sequence[int]) -> None:
        for broker in silent:
            if broker not in leadership.remotes:
                raise ModelError(f"broker {broker} does not follow broker {replica.broker} for {replica.partition}")
            leadership.remotes[broker].last_fetch = LONG_AGO
        leadership.write_off(tuple(silent))

    def _change(self, params: Params, replica: Replica, isr: tuple[int, ...]) -> KafkaError:
        leadership = replica.leadership
        if leadership is None or leadership.pending is not None:
            return KafkaError.INVALID_REQUEST
        leadership.propose(isr)
        return self._send_or_commit(params, replica, leadership)

    def _send_or_commit(self, params: Params, replica: Replica, leadership: Leadership) -> KafkaError:
        later = params.get("answer", "now") == "later"
        if later and not replica.profile.alter_partition:
            leadership.pending = leadership.proposal = None
            raise ModelError(
                f"Kafka {replica.profile.version} writes its ISR to ZooKeeper in one go: there is no request that "
                "could be answered later (AlterPartition came with 2.7)"
            )
        proposal = leadership.take_proposal()
        if proposal is None:
            return KafkaError.NONE
        key = (replica.partition, replica.broker)
        self._answers.pop(key, None)
        self._sent[key] = proposal._replace(broker_epoch=self._ground.registered[replica.broker])
        if later:
            return KafkaError.NONE
        error = self._judge(key)
        self._take(replica, self._answers.pop(key))
        return error

    def _send_again(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        leadership = self._leadership(replica)
        if isinstance(leadership, KafkaError):
            return leadership
        if leadership.pending is None:
            raise ModelError(f"broker {replica.broker} has no change of the ISR of {replica.partition} pending")
        leadership.propose(leadership.pending)
        return self._send_or_commit({**params, "answer": "later"}, replica, leadership)

    def _serve(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        key = (replica.partition, replica.broker)
        if key not in self._sent:
            raise ModelError(
                f"no AlterPartition of broker {replica.broker} for {replica.partition} is under way; "
                "shrink_isr, expand_isr and expire_isr send one with answer: later"
            )
        return self._judge(key)

    def _judge(self, key: _Key) -> KafkaError:
        """The controller takes up a proposal; a sender that it has fenced is still one that it knows."""
        proposal = self._sent.pop(key)
        ground = self._ground
        live = dict(ground.live)
        if proposal.leader not in live and proposal.leader != ground.parts.committed.records[key[0]].leader:
            live[proposal.leader] = ground.registered[proposal.leader]
        committed = ground.parts.committed.records[key[0]].isr
        for newcomer in [broker for broker in proposal.isr if broker not in committed]:
            ground.count_on(newcomer)
        response = ground.decider.alter_partition(proposal, live, NOW)
        self._answers[key] = response
        return KafkaError(response.error)

    def _take(self, replica: Replica, response: AlterPartitionResponse) -> None:
        if replica.leadership is not None:
            replica.leadership.confirmed(NOW, response)
            self._ground.settle(replica)

    def _apply(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        response = self._answers.pop((replica.partition, replica.broker), None)
        if response is None:
            raise ModelError(
                f"no answer to an AlterPartition of broker {replica.broker} for {replica.partition} is under way"
            )
        if not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        self._take(replica, response)
        return KafkaError(response.error)

    def _lose(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        key = (replica.partition, replica.broker)
        if self._sent.pop(key, None) is None and self._answers.pop(key, None) is None:
            raise ModelError(f"no AlterPartition of broker {replica.broker} for {replica.partition} is under way")
        return KafkaError.NONE
