"""The recorded logs of real brokers in ``data``, and what ``kafka-dump-log`` printed of them."""

import json
import re
from pathlib import Path
from typing import Any, Final

from kafka_logs.client_history import AckedRecord, ClientHistory

DATA: Final = Path(__file__).parent / "data"
RELEASES: Final = ("3.9.2", "4.1.2", "4.4.0")
"""Releases of which there are logs."""

_BATCH: Final = re.compile(
    r"baseOffset: (?P<base>-?\d+) lastOffset: (?P<last>-?\d+) count: (?P<count>\d+) baseSequence: (?P<sequence>-?\d+) "
    r"lastSequence: -?\d+ producerId: (?P<producer>-?\d+) producerEpoch: (?P<producer_epoch>-?\d+) "
    r"partitionLeaderEpoch: (?P<epoch>-?\d+) isTransactional: (?P<transactional>\w+) isControl: (?P<control>\w+) "
    r"deleteHorizonMs: \S+ position: (?P<position>\d+) CreateTime: (?P<time>\d+) size: (?P<size>\d+) magic: 2 "
    r"compresscodec: (?P<codec>\w+) crc: (?P<crc>\d+) isvalid: true"
)
_RECORD: Final = re.compile(
    r"\| offset: (?P<offset>\d+) CreateTime: (?P<time>\d+) keySize: (?P<key_size>-?\d+) "
    r"valueSize: (?P<value_size>-?\d+) sequence: -?\d+ headerKeys: \[\](?P<rest>.*)"
)


def lost(release: str) -> Path:
    """Directory of the logs of a release, copied while the deposed leader was down."""
    return DATA / f"{release}-lost"


def dumps(release: str) -> list[tuple[Path, Path]]:
    """Every log or snapshot of a release that dump-log has read, and what it printed."""
    root = lost(release)
    found = sorted((root / "dump").rglob("*.txt"))
    return [(root / path.relative_to(root / "dump").with_suffix(""), path) for path in found]


def dumped(path: Path) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Batches and records of a dump, by the names of the patterns above; no other line is passed over."""
    batches, records = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("baseOffset"):
            match = _BATCH.match(line)
            assert match is not None, line
            batches.append(match.groupdict())
        elif line.startswith("|"):
            match = _RECORD.fullmatch(line)
            assert match is not None, line
            records.append(match.groupdict())
        else:
            assert line.startswith(("Dumping", "Log starting", "Snapshot end")), line
    return batches, records


def dumped_metadata(path: Path) -> list[dict[str, Any]]:
    """Metadata records of a dump with ``--cluster-metadata-decoder``: type, version and data."""
    payloads = [each["rest"].removeprefix(" payload: ") for each in dumped(path)[1] if "payload: {" in each["rest"]]
    return [json.loads(each) for each in payloads]


def acknowledged(release: str) -> ClientHistory:
    """Return the acknowledgements of the producer of these logs; it is called ``recorder``."""
    history = ClientHistory()
    for number, line in enumerate((DATA / f"{release}-acked.jsonl").read_text(encoding="utf-8").splitlines()):
        found = json.loads(line)
        partition, at_us = f"{found['topic']}-{found['partition']}", found["at_ms"] * 1000
        history.acked.append(
            AckedRecord("recorder", number, partition, found["offset"], at_us, at_us + 5000, found["key"])
        )
    return history


def clients_file(release: str, directory: Path) -> Path:
    """Write the acknowledgements of the producer of these logs as JSON lines, and return the file."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = []
    for each in acknowledged(release).acked:
        names = {"client": each.client, "number": each.number}
        lines += [
            {"event": "sent", "wall_us": each.sent_us, **names, "key": each.key},
            {"event": "acked", "wall_us": each.acked_us, **names, "partition": each.partition, "offset": each.offset},
        ]
    path = directory / f"clients-{release}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path
