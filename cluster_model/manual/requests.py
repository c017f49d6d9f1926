"""Produce requests by hand: whole, or as a request that leaves, arrives, is answered, expires or is lost."""

from dataclasses import dataclass
from typing import Final

from cluster_model.broker.partition.leadership import AppendResult
from cluster_model.broker.partition.partition import Replica
from cluster_model.manual.context import CLIENT, NOW, Ground, Handler, Params
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import ProduceRefused, RecordsAcked, RecordsFailed, RecordsSent, RecordsUnknown
from cluster_model.protocol.messages import ALL, ProduceRequest

RECORD_BYTES: Final = 100


@dataclass(slots=True)
class UnderWay:
    """A produce request between a client and a broker. Exactly one of: sent, parked (served, unanswered), answered."""

    request: ProduceRequest
    replica: Replica
    whole: bool
    """Taken in one step: its answer reaches the client by itself."""
    result: AppendResult | None = None
    """Set when the broker has served it."""
    epoch: int = -1
    """The leader epoch in which it was served."""
    answer: KafkaError | None = None
    """Set when the broker has answered it."""


class Produces:
    """Requests under way, one queue for each broker and partition: a connection keeps their order."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._queues: dict[tuple[int, str], list[UnderWay]] = {}
        self._parked: dict[int, UnderWay] = {}
        self._sequences = dict.fromkeys(ground.parts.committed.records, 0)
        self._count = 0
        ground.settle = self.settle
        self.handlers: dict[str, Handler] = {
            "append": self._append,
            "produce_send": self._send,
            "produce_serve": self._serve,
            "produce_apply": self._apply,
            "produce_expire": self._expire,
            "produce_lose": self._lose,
        }

    def _append(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        count, names = _counted(params)
        # Each record is a batch of its own, so that a step can cut, fetch or lose them one by one.
        for index in range(count):
            one = self._request(replica, params, 1, names[index : index + 1], whole=True)
            error = self._hand_over(one)
            if error is not KafkaError.NONE:
                return error
        return KafkaError.NONE

    def _request(
        self, replica: Replica, params: Params, count: int, names: tuple[str, ...], *, whole: bool
    ) -> UnderWay:
        text = str(params.get("acks", 1))
        acks = ALL if text in ("all", "-1") else int(text)
        partition = replica.partition
        self._count += 1
        sequence = self._sequences[partition]
        self._sequences[partition] += count
        size = count * RECORD_BYTES
        request = ProduceRequest(self._count, partition, acks, 0, CLIENT, -1, sequence, count, size, names)
        emit = self._ground.emit
        emit(RecordsSent(NOW, CLIENT, partition, sequence, count, acks))
        if acks == 0:
            emit(RecordsAcked(NOW, CLIENT, partition, sequence, count, 0, replica.broker, -1, -1, 0, -1))
        return UnderWay(request, replica, whole)

    def _hand_over(self, one: UnderWay) -> KafkaError:
        """The request reaches the broker, and whatever can be answered at once is."""
        replica = one.replica
        if not self._ground.up[replica.broker]:
            return self._failed(one, KafkaError.NETWORK_EXCEPTION)
        if replica.leadership is None:
            return self._failed(one, KafkaError.NOT_LEADER_OR_FOLLOWER)
        one.result, one.epoch = replica.leadership.append(NOW, one.request), replica.leader_epoch
        if one.result.waits:
            self._parked[one.request.correlation] = one
            replica.leadership.wait(one.result.required, one.request.correlation)
        else:
            self._answered(one, one.result.error)
        self.settle(replica)
        return one.result.error

    def _failed(self, one: UnderWay, error: KafkaError) -> KafkaError:
        self._answered(one, error)
        return error

    def settle(self, replica: Replica) -> None:
        """Answer the produces that a step has settled."""
        while replica.done:
            token, error = replica.done.pop(0)
            one = self._parked.pop(token, None)
            if one is not None:
                self._answered(one, error)

    def _answered(self, one: UnderWay, error: KafkaError) -> None:
        one.answer = error
        if one.whole:
            self._arrived(one)

    def _arrived(self, one: UnderWay) -> None:
        """The answer is with the client; acks=0 has none."""
        request, error = one.request, one.answer
        where = (request.partition, request.sequence, request.records)
        emit = self._ground.emit
        if not request.acks or error is None:
            return
        if error is KafkaError.NONE and one.result is not None:
            broker, result = one.replica.broker, one.result
            acks = request.acks
            emit(RecordsAcked(NOW, CLIENT, *where, acks, broker, one.epoch, result.base, 0, result.lineage))
        elif one.result is not None and one.result.base >= 0:
            self._unknown(one, error)
        else:
            emit(ProduceRefused(NOW, CLIENT, where[0], one.replica.broker, request.acks, error.name, *where[1:]))
            emit(RecordsFailed(NOW, CLIENT, *where, request.acks, error.name, 0))

    def _unknown(self, one: UnderWay, error: KafkaError) -> None:
        request = one.request
        where = (request.partition, request.sequence, request.records)
        if request.acks:
            self._ground.emit(RecordsUnknown(NOW, CLIENT, *where, request.acks, error.name, 0))

    def _send(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        one = self._request(replica, params, *_counted(params), whole=False)
        self._queues.setdefault((replica.broker, replica.partition), []).append(one)
        return KafkaError.NONE

    def _queue(self, params: Params) -> list[UnderWay]:
        replica = self._ground.replica(params)
        queue = self._queues.get((replica.broker, replica.partition))
        if not queue:
            raise ModelError(
                f"no produce request to broker {replica.broker} for {replica.partition} is under way; "
                "produce_send sends one"
            )
        return queue

    def _serve(self, params: Params) -> KafkaError:
        queue = self._queue(params)
        one = next((each for each in queue if each.result is None and each.answer is None), None)
        if one is None:
            raise ModelError(f"every produce request to broker {params['broker']} has arrived already")
        if not self._ground.up[one.replica.broker]:
            queue.remove(one)
            self._unknown(one, KafkaError.NETWORK_EXCEPTION)
            return KafkaError.NETWORK_EXCEPTION
        error = self._hand_over(one)
        if not one.request.acks:
            queue.remove(one)
        return error

    def _apply(self, params: Params) -> KafkaError:
        queue = self._queue(params)
        one = queue[0]
        if one.result is None and one.answer is None:
            raise ModelError(f"the produce request has yet to arrive at broker {params['broker']}: produce_serve")
        if one.answer is None:
            required = 0 if one.result is None else one.result.required
            raise ModelError(
                f"the produce request still waits at broker {params['broker']}: it needs a high watermark of "
                f"{required}, which is {one.replica.hw}"
            )
        queue.pop(0)
        self._arrived(one)
        return one.answer

    def _expire(self, params: Params) -> KafkaError:
        one = self._queue(params)[0]
        token = one.request.correlation
        if token not in self._parked:
            raise ModelError(f"no produce request waits at broker {params['broker']}, so none can time out there")
        del self._parked[token]
        if one.replica.leadership is not None:
            one.replica.leadership.give_up(token)
        self._answered(one, KafkaError.REQUEST_TIMED_OUT)
        return KafkaError.NONE

    def _lose(self, params: Params) -> KafkaError:
        one = self._queue(params).pop(0)
        self._unknown(one, KafkaError.NETWORK_EXCEPTION)
        return KafkaError.NONE

    def stopped(self, broker: int) -> None:
        """A broker's process is gone: whoever waits for its answer will never know."""
        for token, one in tuple(self._parked.items()):
            if one.replica.broker == broker:
                del self._parked[token]
                if one.whole:
                    self._unknown(one, KafkaError.NETWORK_EXCEPTION)
        for (asked, _partition), queue in self._queues.items():
            if asked == broker:
                for one in queue:
                    self._unknown(one, KafkaError.NETWORK_EXCEPTION)
                queue.clear()

    def close(self) -> None:
        """The end: what is unanswered has no known outcome."""
        for one in self._parked.values():
            if one.whole:
                self._unknown(one, KafkaError.REQUEST_TIMED_OUT)
        for queue in self._queues.values():
            for one in queue:
                self._unknown(one, KafkaError.REQUEST_TIMED_OUT)
        self._parked.clear()
        self._queues.clear()


def _counted(params: Params) -> tuple[int, tuple[str, ...]]:
    count = int(params.get("records", 1))
    names = tuple(str(name) for name in params.get("names", ()))
    if names and len(names) != count:
        if "records" in params:
            raise ModelError(f"{count} records have {len(names)} names: {', '.join(names)}")
        count = len(names)
    return count, names
