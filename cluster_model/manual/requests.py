"""Manually stepped produce requests, ISR changes and consumer requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cluster_model.broker.fetch.fetch_reads import check_epoch, epoch_end, serve_fetch
from cluster_model.broker.partition.partition import AppendResult, PartitionLeaderState, Replica
from cluster_model.broker.partition.replication_rules import LONG_AGO
from cluster_model.broker.request_handler import list_offset
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.manual.context import NOW, Handler, ManualContext, Params
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import (
    ConsumerReset,
    ProduceRefused,
    RecordsAcked,
    RecordsFailed,
    RecordsRead,
    RecordsSent,
    RecordsUnknown,
)
from cluster_model.protocol.messages import (
    ALL,
    CONSUMER,
    EARLIEST,
    LATEST,
    AlterPartitionRequest,
    AlterPartitionResponse,
    FetchPartition,
    FetchRequest,
    ListOffsetsRequest,
    ProduceRequest,
)
from cluster_model.protocol.records import Slice
from cluster_model.spec.cluster_spec import MANUAL_CLIENT

RECORD_BYTES: Final = 100


@dataclass(slots=True)
class ManualProduce:
    """A produce request in flight, in exactly one state: sent, delayed (handled but not answered) or answered."""

    request: ProduceRequest
    replica: Replica
    one_step: bool
    """Sent in one step: its response is delivered without another step."""
    result: AppendResult | None = None
    """Set when the broker has handled it."""
    epoch: int = -1
    """Leader epoch in which it was handled."""
    answer: KafkaError | None = None
    """Set when the broker has answered it."""


class ManualProduces:
    """Produce requests in flight, with one queue per broker and partition: a connection keeps their order."""

    def __init__(self, context: ManualContext) -> None:
        self._context = context
        self._queues: dict[tuple[int, str], list[ManualProduce]] = {}
        self._delayed: dict[int, ManualProduce] = {}
        self._sequences = dict.fromkeys(context.parts.committed.records, 0)
        self._count = 0
        context.answer_completed = self.settle
        self.handlers: dict[str, Handler] = {
            "append": self._append,
            "produce_send": self._send,
            "produce_serve": self._serve,
            "produce_apply": self._apply,
            "produce_expire": self._expire,
            "produce_lose": self._lose,
        }

    def _append(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        count, names = _counted(params)
        # Each record is its own batch, so that steps can truncate, fetch or lose them one by one.
        for index in range(count):
            produce = self._request(replica, params, 1, names[index : index + 1], is_whole=True)
            error = self._handle_request(produce)
            if error is not KafkaError.NONE:
                return error
        return KafkaError.NONE

    def _request(
        self, replica: Replica, params: Params, count: int, names: tuple[str, ...], *, is_whole: bool
    ) -> ManualProduce:
        text = str(params.get("acks", 1))
        acks = ALL if text in ("all", "-1") else int(text)
        partition = replica.partition
        self._count += 1
        sequence = self._sequences[partition]
        self._sequences[partition] += count
        size = count * RECORD_BYTES
        request = ProduceRequest(self._count, partition, acks, 0, MANUAL_CLIENT, -1, sequence, count, size, names)
        emit = self._context.emit
        emit(RecordsSent(NOW, MANUAL_CLIENT, partition, sequence, count, acks))
        if acks == 0:
            emit(RecordsAcked(NOW, MANUAL_CLIENT, partition, sequence, count, 0, replica.broker, -1, -1, 0, -1))
        return ManualProduce(request, replica, is_whole)

    def _handle_request(self, produce: ManualProduce) -> KafkaError:
        """Handle the request on the broker, and answer it unless it is delayed."""
        replica = produce.replica
        if not self._context.up[replica.broker]:
            return self._failed(produce, KafkaError.NETWORK_EXCEPTION)
        if replica.leadership is None:
            return self._failed(produce, KafkaError.NOT_LEADER_OR_FOLLOWER)
        produce.result, produce.epoch = replica.leadership.append(NOW, produce.request), replica.leader_epoch
        if produce.result.waits:
            self._delayed[produce.request.correlation_id] = produce
            replica.leadership.wait(produce.result.required, produce.request.correlation_id)
        else:
            self._on_response(produce, produce.result.error)
        self.settle(replica)
        return produce.result.error

    def _failed(self, produce: ManualProduce, error: KafkaError) -> KafkaError:
        self._on_response(produce, error)
        return error

    def settle(self, replica: Replica) -> None:
        """Answer the produce requests completed by a step."""
        while replica.done:
            token, error = replica.done.pop(0)
            produce = self._delayed.pop(token, None)
            if produce is not None:
                self._on_response(produce, error)

    def _on_response(self, produce: ManualProduce, error: KafkaError) -> None:
        produce.answer = error
        if produce.one_step:
            self._arrived(produce)

    def _arrived(self, produce: ManualProduce) -> None:
        """Deliver the response to the client; acks=0 has none."""
        request, error = produce.request, produce.answer
        where = (request.partition, request.sequence, request.records)
        emit = self._context.emit
        if not request.acks or error is None:
            return
        if error is KafkaError.NONE and produce.result is not None:
            broker, result = produce.replica.broker, produce.result
            acks = request.acks
            emit(
                RecordsAcked(
                    NOW, MANUAL_CLIENT, *where, acks, broker, produce.epoch, result.base, 0, result.epoch_branch
                )
            )
        elif produce.result is not None and produce.result.base >= 0:
            self._unknown(produce, error)
        else:
            emit(
                ProduceRefused(
                    NOW, MANUAL_CLIENT, where[0], produce.replica.broker, request.acks, error.name, *where[1:]
                )
            )
            emit(RecordsFailed(NOW, MANUAL_CLIENT, *where, request.acks, error.name, 0))

    def _unknown(self, produce: ManualProduce, error: KafkaError) -> None:
        request = produce.request
        where = (request.partition, request.sequence, request.records)
        if request.acks:
            self._context.emit(RecordsUnknown(NOW, MANUAL_CLIENT, *where, request.acks, error.name, 0))

    def _send(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        produce = self._request(replica, params, *_counted(params), is_whole=False)
        self._queues.setdefault((replica.broker, replica.partition), []).append(produce)
        return KafkaError.NONE

    def _queue(self, params: Params) -> list[ManualProduce]:
        replica = self._context.replica(params)
        queue = self._queues.get((replica.broker, replica.partition))
        if not queue:
            raise ModelError(
                f"no produce request to broker {replica.broker} for {replica.partition} is in flight; "
                "produce_send sends one",
                code="no_produce_request",
            )
        return queue

    def _serve(self, params: Params) -> KafkaError:
        queue = self._queue(params)
        produce = next((each for each in queue if each.result is None and each.answer is None), None)
        if produce is None:
            raise ModelError(
                f"every produce request to broker {params['broker']} has already arrived; produce_send sends one",
                code="arrived_already",
            )
        if not self._context.up[produce.replica.broker]:
            queue.remove(produce)
            self._unknown(produce, KafkaError.NETWORK_EXCEPTION)
            return KafkaError.NETWORK_EXCEPTION
        error = self._handle_request(produce)
        if not produce.request.acks:
            queue.remove(produce)
        return error

    def _apply(self, params: Params) -> KafkaError:
        queue = self._queue(params)
        produce = queue[0]
        if produce.result is None and produce.answer is None:
            raise ModelError(
                f"the produce request has not arrived at broker {params['broker']}; produce_serve delivers it",
                code="not_arrived",
            )
        if produce.answer is None:
            required = 0 if produce.result is None else produce.result.required
            raise ModelError(
                f"the produce request is delayed on broker {params['broker']}: it needs high watermark {required}, "
                f"found {produce.replica.hw}",
                code="high_watermark_too_low",
            )
        queue.pop(0)
        self._arrived(produce)
        return produce.answer

    def _expire(self, params: Params) -> KafkaError:
        produce = self._queue(params)[0]
        token = produce.request.correlation_id
        if token not in self._delayed:
            raise ModelError(
                f"no produce request is delayed on broker {params['broker']}, so none can time out there",
                code="no_produce_waits",
            )
        del self._delayed[token]
        if produce.replica.leadership is not None:
            produce.replica.leadership.give_up(token)
        self._on_response(produce, KafkaError.REQUEST_TIMED_OUT)
        return KafkaError.NONE

    def _lose(self, params: Params) -> KafkaError:
        produce = self._queue(params).pop(0)
        self._unknown(produce, KafkaError.NETWORK_EXCEPTION)
        return KafkaError.NONE

    def stopped(self, broker: int) -> None:
        """End the requests in flight to a stopped broker with an unknown outcome."""
        for token, produce in tuple(self._delayed.items()):
            if produce.replica.broker == broker:
                del self._delayed[token]
                if produce.one_step:
                    self._unknown(produce, KafkaError.NETWORK_EXCEPTION)
        for (target, _partition), queue in self._queues.items():
            if target == broker:
                for produce in queue:
                    self._unknown(produce, KafkaError.NETWORK_EXCEPTION)
                queue.clear()

    def close(self) -> None:
        """End all unanswered requests with an unknown outcome."""
        for produce in self._delayed.values():
            if produce.one_step:
                self._unknown(produce, KafkaError.REQUEST_TIMED_OUT)
        for queue in self._queues.values():
            for produce in queue:
                self._unknown(produce, KafkaError.REQUEST_TIMED_OUT)
        self._delayed.clear()
        self._queues.clear()


def _counted(params: Params) -> tuple[int, tuple[str, ...]]:
    count = int(params.get("records", 1))
    names = tuple(str(name) for name in params.get("names", ()))
    if names and len(names) != count:
        if "records" in params:
            raise ModelError(
                f"{count} records have {len(names)} names: {', '.join(names)}", code="names_and_count_differ"
            )
        count = len(names)
    return count, names


# A manually stepped consumer: fetches, validation of its position (KIP-320), and offset lookups.


_UNLIMITED = 1 << 40


class ManualConsumer:
    """One consumer of all partitions, whose requests go to the brokers named by steps."""

    def __init__(self, context: ManualContext) -> None:
        self._context = context
        names = context.parts.committed.records
        self.positions = dict.fromkeys(names, 0)
        self.read: dict[str, list[list[int | str]]] = {name: [] for name in names}
        """Consumed records by partition, as [epoch, name] in order."""
        self._epochs = dict.fromkeys(names, UNDEFINED)
        """Leader epoch of the last consumed record, by partition."""
        self.handlers: dict[str, Handler] = {
            "consume": self._consume,
            "consume_validate": self._validate,
            "list_offsets": self._list_offsets,
            "seek": self._seek,
        }

    def state(self, partition: str) -> dict[str, Any] | None:
        """Return its position and consumed records; None if it was not used."""
        position, read = self.positions[partition], self.read[partition]
        return {"position": position, "epoch": self._epochs[partition], "read": read} if position or read else None

    def _current(self, params: Params) -> int:
        """Return the current leader epoch of a request: none unless a step gives it, and none before 2.1."""
        if "epoch" not in params or not self._context.parts.profile.kip_320:
            return UNDEFINED
        if params["epoch"] == "latest":
            return self._context.parts.committed.records[params["partition"]].leader_epoch
        return int(params["epoch"])

    def _consume(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        if not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        fetch = FetchPartition(replica.partition, self.positions[replica.partition], self._current(params), UNDEFINED)
        data = serve_fetch(replica, FetchRequest(0, CONSUMER, -1, 0, _UNLIMITED, (fetch,)), fetch, NOW, (), book=False)
        if data.error:
            return KafkaError(data.error)
        limit = int(params.get("records", _UNLIMITED))
        records = data.records
        if records.end - records.start > limit:
            records = replica.log.read(fetch.offset, fetch.offset + limit, _UNLIMITED)
        if records.end > records.start:
            self._consume_records(replica, records, data.leader_epoch)
        return KafkaError.NONE

    def _consume_records(self, replica: Replica, records: Slice, leader_epoch: int) -> None:
        name = replica.partition
        self.positions[name] = records.end
        for epoch_branch, batch, start, end in replica.log.batches_between(records.start, records.end):
            self._epochs[name] = epoch_branch.epoch
            for index in range(start - batch.base, end - batch.base):
                self.read[name].append(
                    [epoch_branch.epoch, batch.name[index] if batch.name else batch.sequence + index]
                )
        for index, (first, log_branch) in enumerate(records.extents):
            start = max(first, records.start)
            end = records.extents[index + 1][0] if index + 1 < len(records.extents) else records.end
            read = (name, replica.broker, leader_epoch, start, end - start, 0, log_branch, end)
            self._context.emit(RecordsRead(NOW, MANUAL_CLIENT, MANUAL_CLIENT, *read))

    def _validate(self, params: Params) -> KafkaError:
        """Validate the position (KIP-320): an epoch that ends before it means that records were truncated."""
        replica = self._context.replica(params)
        if not self._context.parts.profile.kip_320:
            return KafkaError.UNSUPPORTED_VERSION
        if not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        name = replica.partition
        if self._epochs[name] == UNDEFINED:
            raise ModelError(
                f"the consumer has read no record of {name}, so its position has no epoch; consume first",
                code="nothing_read",
            )
        answer = epoch_end(replica, name, self._epochs[name], self._current(params))
        if answer.error:
            return KafkaError(answer.error)
        if answer.end == UNDEFINED:
            return KafkaError.OFFSET_OUT_OF_RANGE
        if answer.end < self.positions[name]:
            self._move(name, answer.end)
            self._epochs[name] = answer.epoch
        return KafkaError.NONE

    def _move(self, partition: str, offset: int) -> None:
        before, self.positions[partition] = self.positions[partition], offset
        if before != offset:
            self._context.emit(ConsumerReset(NOW, MANUAL_CLIENT, MANUAL_CLIENT, partition, offset, before))

    def _list_offsets(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        if not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        current = self._current(params)
        timestamp = EARLIEST if params["at"] == "earliest" else LATEST
        request = ListOffsetsRequest(0, replica.partition, timestamp, current)
        error, offset, _timestamp = list_offset(replica, check_epoch(replica, current), request, NOW)
        if error is KafkaError.NONE:
            self._move(replica.partition, offset)
        return error

    def _seek(self, params: Params) -> KafkaError:
        if params["partition"] not in self.positions:
            raise ModelError(
                f"unknown partition {params['partition']!r}; partitions: {', '.join(self.positions)}",
                code="no_partition",
            )
        self._move(params["partition"], int(params["offset"]))
        return KafkaError.NONE


# ISR change steps: a leader's request, the controller's decision, and the delivery of the response.


_Key = tuple[str, int]


class IsrChanges:
    """AlterPartition in flight: at most one request or response per leader and partition, as in KIP-497."""

    def __init__(self, context: ManualContext) -> None:
        self._context = context
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
        """Drop the response in flight to a replica with a new role, or of a crashed broker; a request still arrives."""
        self._answers.pop((replica.partition, replica.broker), None)

    def _leadership(self, replica: Replica) -> PartitionLeaderState | KafkaError:
        if not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        return KafkaError.NOT_LEADER_OR_FOLLOWER if replica.leadership is None else replica.leadership

    def _shrink(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        leadership = self._leadership(replica)
        if isinstance(leadership, KafkaError):
            return leadership
        out = tuple(params["out"])
        if replica.broker in out or not all(broker in leadership.isr for broker in out):
            return KafkaError.INVALID_REQUEST
        leadership.mark_out_of_sync(out)
        return self._change(params, replica, tuple(broker for broker in leadership.isr if broker not in out))

    def _expand(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        newcomer = self._context.replica(params, "in").broker
        leadership = self._leadership(replica)
        if isinstance(leadership, KafkaError):
            return leadership
        remote = leadership.remotes.get(newcomer)
        if remote is None or newcomer in leadership.isr or not leadership.may_join(newcomer, remote):
            return KafkaError.INELIGIBLE_REPLICA
        if remote.last_fetch == LONG_AGO:
            return KafkaError.INELIGIBLE_REPLICA  # It has not fetched in this epoch (Partition.maybeExpandIsr).
        return self._change(params, replica, (*leadership.isr, newcomer))

    def _expire(self, params: Params) -> KafkaError:
        """Apply the leader's own rule; ``silent`` followers count as not having fetched for the maximum lag time."""
        replica = self._context.replica(params)
        leadership = self._leadership(replica)
        if isinstance(leadership, KafkaError):
            return leadership
        self._count_as_silent(replica, leadership, params.get("silent", ()))
        if leadership.pending is not None:
            return KafkaError.INVALID_REQUEST
        leadership.shrink(NOW)
        return self._send_or_commit(params, replica, leadership)

    @staticmethod
    def _count_as_silent(replica: Replica, leadership: PartitionLeaderState, silent: Sequence[int]) -> None:
        for broker in silent:
            if broker not in leadership.remotes:
                raise ModelError(
                    f"broker {broker} does not follow broker {replica.broker} for {replica.partition}",
                    code="not_a_follower",
                )
            leadership.remotes[broker].last_fetch = LONG_AGO
        leadership.mark_out_of_sync(tuple(silent))

    def _change(self, params: Params, replica: Replica, isr: tuple[int, ...]) -> KafkaError:
        leadership = replica.leadership
        if leadership is None or leadership.pending is not None:
            return KafkaError.INVALID_REQUEST
        leadership.propose(isr)
        return self._send_or_commit(params, replica, leadership)

    def _send_or_commit(self, params: Params, replica: Replica, leadership: PartitionLeaderState) -> KafkaError:
        later = params.get("answer", "now") == "later"
        if later and not replica.profile.alter_partition:
            leadership.pending = leadership.proposal = None
            raise ModelError(
                f"Kafka {replica.profile.version} writes the ISR to ZooKeeper directly, so answer: later is not "
                "possible (AlterPartition exists since 2.7)",
                code="not_in_version",
            )
        proposal = leadership.take_proposal()
        if proposal is None:
            return KafkaError.NONE
        key = (replica.partition, replica.broker)
        self._answers.pop(key, None)
        self._sent[key] = proposal._replace(broker_epoch=self._context.registered[replica.broker])
        if later:
            return KafkaError.NONE
        error = self._handle(key)
        self._confirm(replica, self._answers.pop(key))
        return error

    def _send_again(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        leadership = self._leadership(replica)
        if isinstance(leadership, KafkaError):
            return leadership
        if leadership.pending is None:
            raise ModelError(
                f"broker {replica.broker} has no pending ISR change of {replica.partition}", code="no_isr_change"
            )
        leadership.propose(leadership.pending)
        return self._send_or_commit({**params, "answer": "later"}, replica, leadership)

    def _serve(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        key = (replica.partition, replica.broker)
        if key not in self._sent:
            raise ModelError(
                f"no AlterPartition of broker {replica.broker} for {replica.partition} is in flight; "
                "shrink_isr, expand_isr and expire_isr send one with answer: later",
                code="no_alter_partition",
            )
        return self._handle(key)

    def _handle(self, key: _Key) -> KafkaError:
        """Handle an AlterPartition on the controller; a fenced sender is still a registered broker."""
        proposal = self._sent.pop(key)
        context = self._context
        live = dict(context.live)
        if proposal.leader not in live and proposal.leader != context.parts.committed.records[key[0]].leader:
            live[proposal.leader] = context.registered[proposal.leader]
        committed = context.parts.committed.records[key[0]].isr
        for newcomer in [broker for broker in proposal.isr if broker not in committed]:
            context.use_registration(newcomer)
        response = context.decider.alter_partition(proposal, live, NOW)
        self._answers[key] = response
        return KafkaError(response.error)

    def _confirm(self, replica: Replica, response: AlterPartitionResponse) -> None:
        if replica.leadership is not None:
            replica.leadership.confirmed(NOW, response)
            self._context.answer_completed(replica)

    def _apply(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        response = self._answers.pop((replica.partition, replica.broker), None)
        if response is None:
            raise ModelError(
                f"no response to an AlterPartition of broker {replica.broker} for {replica.partition} is in flight",
                code="no_alter_partition_answer",
            )
        if not self._context.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        self._confirm(replica, response)
        return KafkaError(response.error)

    def _lose(self, params: Params) -> KafkaError:
        replica = self._context.replica(params)
        key = (replica.partition, replica.broker)
        if self._sent.pop(key, None) is None and self._answers.pop(key, None) is None:
            raise ModelError(
                f"no AlterPartition of broker {replica.broker} for {replica.partition} is in flight",
                code="no_alter_partition",
            )
        return KafkaError.NONE
