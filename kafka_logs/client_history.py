"""History of producers as JSON lines, with which acknowledged records that no log holds can be named.

A line is an object with ``event`` and the time, ``wall_us`` (microseconds since 1970) or ``at_us`` (microseconds since
``start_unix_us`` of ``run.json`` beside the file). Two events are read, others are passed over::

    {"wall_us": 1795800512173000, "event": "sent", "client": "checkout", "number": 7, "topic": "orders", "key": "k7"}
    {"wall_us": 1795800512201000, "event": "acked", "client": "checkout", "number": 7, "partition": "orders-0",
     "offset": 12}

``number`` counts the records of a client. ``key`` is optional. An acknowledged record is recognized in a log by its
key, or by a value that begins with ``checkout:7``; without either by the time of its batch.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka_logs.segments import KafkaLogsError

_RUN: Final = "run.json"


class AckedRecord(NamedTuple):
    """A record that its producer got acknowledged; times in microseconds since 1970."""

    client: str
    number: int
    partition: str
    offset: int
    sent_us: int
    acked_us: int
    key: str | None

    @property
    def name(self) -> str:
        """Name that may begin the record's value."""
        return f"{self.client}:{self.number}"


@dataclass(slots=True)
class ClientHistory:
    """History of all producers."""

    acked: list[AckedRecord] = field(default_factory=list)
    acks: dict[str, int] = field(default_factory=dict)
    """Client → acks, -1 for all, where a line ``started`` has the producer's configuration."""

    def acks_of(self, client: str) -> int:
        """Return the acks of a client; -1 (all) is the default of Kafka's producer since 3.0."""
        return self.acks.get(client, -1)


def read_history(path: Path) -> ClientHistory:
    """Read a history.

    Raises:
        KafkaLogsError: The file cannot be read, or a line is not such an event.
    """
    history = ClientHistory()
    sent: dict[tuple[str, int], tuple[int, str | None]] = {}
    start_us = _start_us(path.parent / _RUN)
    for number, line in enumerate(_lines(path), 1):
        try:
            _take(history, sent, _object(line), start_us)
        except (ValueError, KeyError, TypeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise KafkaLogsError(f"{path}:{number}: not an event of a producer: {reason}", code="bad_history") from None
    history.acked.sort(key=lambda each: (each.partition, each.offset, each.acked_us, each.client, each.number))
    return history


def _take(
    history: ClientHistory,
    sent: dict[tuple[str, int], tuple[int, str | None]],
    event: Mapping[str, Any],
    start_us: int | None,
) -> None:
    kind = event["event"]
    if kind == "started" and "acks" in event.get("config", {}):
        text = str(event["config"]["acks"])
        history.acks[str(event["client"])] = -1 if text == "all" else int(text)
    if kind not in ("sent", "acked"):
        return
    client, number, at_us = str(event["client"]), _whole(event["number"]), _at_us(event, start_us)
    if kind == "sent":
        key = event.get("key")
        sent[client, number] = (at_us, None if key is None else str(key))
    elif _whole(event["offset"]) >= 0:
        partition = _partition(str(event["partition"]))
        sent_us, key = sent.get((client, number), (at_us, event.get("key")))
        history.acked.append(AckedRecord(client, number, partition, event["offset"], sent_us, at_us, key))


def _whole(value: object) -> int:
    """Return a whole number of 64 bits."""
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    raise ValueError(f"found {str(value)[:40]!r}, expected a whole number")


def _partition(text: str) -> str:
    topic, dash, number = text.rpartition("-")
    if not (topic and dash and number.isdigit()):
        raise ValueError(f"partition: found {text!r}, expected a name such as 'orders-0'")
    return text


def _at_us(event: Mapping[str, Any], start_us: int | None) -> int:
    if "wall_us" in event:
        return _whole(event["wall_us"])
    if start_us is None:
        raise ValueError(f"wall_us is missing, and there is no {_RUN} with start_unix_us beside the file")
    return start_us + _whole(event["at_us"])


def _start_us(path: Path) -> int | None:
    if not path.is_file():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return int(found["start_unix_us"])
    except (ValueError, KeyError, TypeError, OSError):
        raise KafkaLogsError(f"{path}: expected an object with start_unix_us", code="bad_history") from None


def _object(line: str) -> dict[str, Any]:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("expected a JSON object")
    return found


def _lines(path: Path) -> Iterator[str]:
    try:
        yield from (line for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    except OSError as error:
        raise KafkaLogsError(f"cannot read {path}: {error.strerror}", code="unreadable") from None
    except UnicodeDecodeError:
        raise KafkaLogsError(f"{path}: not text in UTF-8", code="not_utf8") from None
