"""A consumer by hand: fetches, validation of its position by epoch (KIP-320), and looking up offsets."""

from typing import Any

from cluster_model.broker.fetch.fetch_reads import check_epoch, epoch_end, serve_fetch
from cluster_model.broker.offsets import list_offset
from cluster_model.broker.partition.partition import Replica
from cluster_model.log.leader_epoch_cache import UNDEFINED
from cluster_model.manual.context import CLIENT, NOW, Ground, Handler, Params
from cluster_model.protocol.errors import KafkaError, ModelError
from cluster_model.protocol.events import ConsumerReset, RecordsRead
from cluster_model.protocol.messages import CONSUMER, EARLIEST, LATEST, FetchPartition, FetchRequest, ListOffsetsRequest
from cluster_model.protocol.slices import Slice

_UNLIMITED = 1 << 40


class HandConsumer:
    """One consumer over all partitions, which asks whom it is told to ask."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        names = ground.parts.committed.records
        self.positions = dict.fromkeys(names, 0)
        self.read: dict[str, list[list[int | str]]] = {name: [] for name in names}
        """What it was handed, as [epoch, name] in order."""
        self._epochs = dict.fromkeys(names, UNDEFINED)
        """Epoch of the last record handed out."""
        self.handlers: dict[str, Handler] = {
            "consume": self._consume,
            "consume_validate": self._validate,
            "list_offsets": self._list_offsets,
            "seek": self._seek,
        }

    def state(self, partition: str) -> dict[str, Any] | None:
        """Position and what was read; None while it has done nothing."""
        position, read = self.positions[partition], self.read[partition]
        return {"position": position, "epoch": self._epochs[partition], "read": read} if position or read else None

    def _current(self, params: Params) -> int:
        """The leader epoch that a request carries: none unless told, nor before 2.1."""
        if "epoch" not in params or not self._ground.parts.profile.kip_320:
            return UNDEFINED
        if params["epoch"] == "latest":
            return self._ground.parts.committed.records[params["partition"]].leader_epoch
        return int(params["epoch"])

    def _consume(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        if not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        asked = FetchPartition(replica.partition, self.positions[replica.partition], self._current(params), UNDEFINED)
        data = serve_fetch(replica, FetchRequest(0, CONSUMER, -1, 0, _UNLIMITED, (asked,)), asked, NOW, (), book=False)
        if data.error:
            return KafkaError(data.error)
        limit = int(params.get("records", _UNLIMITED))
        records = data.records
        if records.end - records.start > limit:
            records = replica.log.read(asked.offset, asked.offset + limit, _UNLIMITED)
        if records.end > records.start:
            self._hand_out(replica, records, data.leader_epoch)
        return KafkaError.NONE

    def _hand_out(self, replica: Replica, records: Slice, leader_epoch: int) -> None:
        name = replica.partition
        self.positions[name] = records.end
        for lineage, batch, start, end in replica.log.batches_between(records.start, records.end):
            self._epochs[name] = lineage.epoch
            for index in range(start - batch.base, end - batch.base):
                self.read[name].append([lineage.epoch, batch.name[index] if batch.name else batch.sequence + index])
        for index, (first, stint) in enumerate(records.extents):
            start = max(first, records.start)
            end = records.extents[index + 1][0] if index + 1 < len(records.extents) else records.end
            read = (name, replica.broker, leader_epoch, start, end - start, 0, stint, end)
            self._ground.emit(RecordsRead(NOW, CLIENT, CLIENT, *read))

    def _validate(self, params: Params) -> KafkaError:
        """KIP-320: where the epoch of the last record read ends before the position, records are gone."""
        replica = self._ground.replica(params)
        if not self._ground.parts.profile.kip_320:
            return KafkaError.UNSUPPORTED_VERSION
        if not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        name = replica.partition
        if self._epochs[name] == UNDEFINED:
            raise ModelError(f"the consumer has read nothing of {name}, so it has no epoch to ask for: consume first")
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
            self._ground.emit(ConsumerReset(NOW, CLIENT, CLIENT, partition, offset, before))

    def _list_offsets(self, params: Params) -> KafkaError:
        replica = self._ground.replica(params)
        if not self._ground.up[replica.broker]:
            return KafkaError.NETWORK_EXCEPTION
        current = self._current(params)
        which = EARLIEST if params["at"] == "earliest" else LATEST
        request = ListOffsetsRequest(0, replica.partition, which, current)
        error, offset, _timestamp = list_offset(replica, check_epoch(replica, current), request, NOW)
        if error is KafkaError.NONE:
            self._move(replica.partition, offset)
        return error

    def _seek(self, params: Params) -> KafkaError:
        if params["partition"] not in self.positions:
            raise ModelError(f"no partition {params['partition']!r}; there are {', '.join(self.positions)}")
        self._move(params["partition"], int(params["offset"]))
        return KafkaError.NONE
