"""Validation of a client's batch: the checks of ``ProduceRequest``, of its checksum, and of ``LogValidator``.

A case is the topic's settings, the broker's clock in ms, the version of Produce (none for versions that allow old
formats), the records of a batch, such as ``k500`` with a key and the timestamp 500 ms or ``n500`` without a key, and
the batch as bytes. The gateway validates the bytes, the model the keys and timestamps.
"""

import random
import struct
from collections.abc import Callable, Iterator
from typing import Final

from aiokafka.record.default_records import DefaultRecordBatchBuilder  # type: ignore[import-untyped]
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder  # type: ignore[import-untyped]
from crc32c import crc32c

from cluster_model.broker.partition.producer_state_manager import batch_error
from cluster_model.log.batch_store import BatchStore
from cluster_model.log.replica_log import ReplicaLog
from cluster_model.protocol.configs import log_rules
from cluster_model.protocol.errors import KafkaError
from cluster_model.protocol.messages import ALL, ProduceRequest
from cluster_model.protocol.releases import parse_version
from cluster_model.protocol.versions import Profile
from gateway.protocol.record_batches import ZSTD, BatchError, code_of, recompress, validate_batch
from tests.real_kafka.kafka_jars import SERVER
from tests.real_kafka.vectors.servers.case_text import Fields, case_text, parse_fields
from tests.real_kafka.vectors.subject import Answers, Exemption, Subject, releases_since

_CASES: Final = 300
_OLD_FORMATS: Final = 40
_CLOCK_MS: Final = 100_000
_TYPES: Final = {"CREATE_TIME": "CreateTime", "LOG_APPEND_TIME": "LogAppendTime"}
_VERSION: Final = 9
"""Version of Produce."""
_ONE_BOUND_UNTIL: Final = (3, 6, 0)
"""First release with a bound for older and one for newer timestamps (KIP-937)."""
_ZSTD_SINCE: Final = (2, 1, 0)
_LAST_OLD_FORMAT: Final = (4, 0, 0)
"""First release whose topics all have message format 2 (KIP-724)."""


def cases(release: str) -> list[str]:
    """Return the cases of a release: old message formats before 4.0; since 2.1 zstd, and what the request checks."""
    number = parse_version(release)
    source = random.Random(32)
    drawn = [_case(source, f"batch/{place}", format_=2, magic=2) for place in range(_CASES)]
    drawn += _damaged_cases() if number >= _ZSTD_SINCE else []
    if number < _LAST_OLD_FORMAT:
        for place in range(_OLD_FORMATS):
            format_, magic = source.choice(((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (2, 0), (2, 1)))
            drawn.append(_case(source, f"old_format/{place}", format_=format_, magic=magic))
    return [case for case in drawn if number >= _ZSTD_SINCE or not _uses_zstd(case)]


def _uses_zstd(case: str) -> bool:
    fields = parse_fields(case)
    return fields["codec"] == "4" or bytes.fromhex(fields["bytes"])[22] & 7 == ZSTD


def model_answers(release: str, kafka: Answers) -> Answers:
    """Return the model's errors for Kafka's cases."""
    number = parse_version(release)
    profile = Profile.of(release)
    return {case: _error(parse_fields(case), profile, one_bound=number < _ONE_BOUND_UNTIL) for case in kafka}


def _error(fields: Fields, profile: Profile, *, one_bound: bool) -> str:
    try:
        head = validate_batch(bytes.fromhex(fields["bytes"]), int(fields["request"] or _VERSION))
    except BatchError as error:
        return KafkaError(code_of(error, profile)).name
    bounds = ("difference",) if one_bound else ("before", "after")
    rules = log_rules(
        profile,
        {},
        {
            "cleanup.policy": "compact" if fields["compact"] == "yes" else "delete",
            "message.timestamp.type": _TYPES[fields["type"]],
            **{
                f"message.timestamp.{bound}.max.ms": int(fields["after" if bound == "after" else "before"])
                for bound in bounds
            },
        },
    )
    log = ReplicaLog(BatchStore(), uses_epochs=True, replaces=True, rules=rules)
    records = fields["records"].split("+")
    stamps = [int(record[1:]) * 1_000 for record in records]
    names = tuple("key=value" if record[0] == "k" else "value" for record in records)
    request = ProduceRequest(
        0, "t-0", ALL, 0, "", -1, -1, len(records), head.size, names, max(stamps), oldest_us=min(stamps)
    )  # fmt: skip
    return batch_error(profile, log, request, _CLOCK_MS * 1_000).name


def _case(source: random.Random, name: str, *, format_: int, magic: int) -> str:
    before, after = (source.choice((0, 1, 500, 20_000, 100_000, 3_600_000)) for _ in range(2))
    borders = (_CLOCK_MS - before, _CLOCK_MS - before - 1, _CLOCK_MS + after, _CLOCK_MS + after + 1, _CLOCK_MS)
    records = []
    for _ in range(source.choice((1, 1, 2, 3))):
        stamp = max(0, source.choice((*borders, _CLOCK_MS, _CLOCK_MS)))
        records.append(f"{source.choice('kkkn')}{stamp}")
    codecs = (0, 0, 0, 1, 2, 3, 4) if magic == format_ == 2 else (0, 0, 2)
    codec, target = source.choice(codecs), source.choice((0, 0, *codecs))
    fields = {
        "compact": source.choice(("yes", "no")),
        "type": source.choice(("CREATE_TIME", "CREATE_TIME", "LOG_APPEND_TIME")),
        "before": str(before),
        "after": str(after),
        "clock": str(_CLOCK_MS),
        "codec": str(target),
        "format": str(format_),
        "request": str(_VERSION) if magic == format_ == 2 else "",
        "records": "+".join(records),
    }
    producer = magic == 2 and source.random() < 0.3
    return case_text(name, {**fields, "bytes": _batch(records, codec, magic, producer=producer).hex()})


def _batch(records: list[str], codec: int, magic: int = 2, *, producer: bool = False) -> bytes:
    origin = (7, 0, 0) if producer else (-1, -1, -1)
    is_new = magic == 2
    builder = (
        DefaultRecordBatchBuilder(2, 0, producer, *origin, 1 << 20)
        if is_new
        else LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    )
    for number, record in enumerate(records):
        key = b"k" if record[0] == "k" else None
        more: dict[str, list[tuple[str, bytes]]] = {"headers": []} if is_new else {}
        builder.append(number, timestamp=int(record[1:]), key=key, value=b"v", **more)
    data = bytes(builder.build())
    return recompress(data, codec) if is_new else data


def _damaged_cases() -> list[str]:
    """Return one case for each kind of damage: of a batch of two records, compressed or not."""
    records = [f"k{_CLOCK_MS}", f"k{_CLOCK_MS + 1}"]
    found = []
    for codec in (0, 1):
        for name, version, data in _damages(_batch(records, codec), codec):
            fields = {
                "compact": "no", "type": "CREATE_TIME", "before": "3600000", "after": "3600000",
                "clock": str(_CLOCK_MS), "codec": str(codec), "format": "2", "request": str(version),
                "records": "+".join(records), "bytes": data.hex(),
            }  # fmt: skip
            found.append(case_text(f"damaged/{name}/{codec}", fields))
    return found


def _damages(batch: bytes, codec: int) -> Iterator[tuple[str, int, bytes]]:
    """Yield name, version of Produce, and the batch with one thing changed; the checksum fits except where named."""
    header: dict[str, Callable[[], bytes]] = {
        "none": lambda: batch,
        "unknown_codec": lambda: _changed(batch, ">h", 21, 5),
        "last_codec": lambda: _changed(batch, ">h", 21, 7),
        "control": lambda: _changed(batch, ">h", 21, 0x20 | codec),
        "append_time": lambda: _changed(batch, ">h", 21, 0x08 | codec),
        "no_records": lambda: _changed(batch, ">i", 57, 0),
        "more_records": lambda: _changed(batch, ">i", 57, 3),
        "negative_delta": lambda: _changed(batch, ">i", 23, -1),
        "more_offsets": lambda: _changed(batch, ">i", 23, 5),
        "no_sequence": lambda: _changed(batch, ">qhi", 43, 7, 0, -1),
        "no_producer_epoch": lambda: _changed(batch, ">qhi", 43, 7, -1, 0),
        "producer": lambda: _changed(batch, ">qhi", 43, 7, 0, 0),
        "transactional_without_producer": lambda: _changed(batch, ">h", 21, 0x10 | codec),
        "cut_records": lambda: _resized(batch[:-2]),
    }
    for name, change in header.items():
        yield name, _VERSION, change()
    yield "checksum", _VERSION, batch[:-1] + bytes([batch[-1] ^ 1])
    yield "two_batches", _VERSION, batch + batch
    yield "cut_short", _VERSION, batch[:-1]
    yield "format_0", _VERSION, _batch(["k100000"], 2 * codec, 0)
    yield "format_1", _VERSION, _batch(["k100000"], 2 * codec, 1)
    yield "zstd_in_version_6", 6, _batch(["k100000"], 4)
    yield "zstd_in_version_7", 7, _batch(["k100000"], 4)


def _changed(batch: bytes, form: str, at: int, *values: int) -> bytes:
    found = bytearray(batch)
    struct.pack_into(form, found, at, *values)
    struct.pack_into(">I", found, 17, crc32c(bytes(found[21:])))
    return bytes(found)


def _resized(batch: bytes) -> bytes:
    return _changed(batch[:8] + struct.pack(">i", len(batch) - 12) + batch[12:], ">h", 21, batch[22])


BATCH_VALIDATION: Final = Subject(
    "batch_validation",
    "BatchValidation",
    "ProduceRequest, LogValidator: errors of a batch by its bytes, keys and timestamps",
    model_answers,
    SERVER,
    releases_since(0, 11, 0),
    questions=cases,
    stated=(
        Exemption(
            "batch/* compact=yes *records=*+*",
            "the timestamp of another record decides before a missing key; the model knows no record's own",
            answer="INVALID_TIMESTAMP",
        ),
        Exemption(
            "old_format/*",
            "not modelled: log.message.format.version, and versions 0 to 2 of Produce; all batches have format 2",
            until="3.9.2",
        ),
        Exemption(
            "damaged/cut_records/*",
            "the gateway counts the records of a batch by its header; it reads them only to recompress them",
            since="2.1.1",
        ),
        Exemption(
            "damaged/no_producer_epoch/*",
            "no client sends a producer id without an epoch; the gateway rejects it, Kafka does not",
            since="2.1.1",
        ),
        Exemption(
            "damaged/append_time/*",
            "no client sets the bit of LogAppendTime; the gateway ignores it, Kafka rejects it until 3.5 (KIP-937)",
            since="2.1.1",
            until="3.5.2",
        ),
    ),
)
