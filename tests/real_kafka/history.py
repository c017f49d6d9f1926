"""Files of a run on real brokers: its evidence directory and the JSON lines of clients and steps.

A directory holds::

    run.json                        the run: see :data:`RUN_KEYS`
    playbook.yaml                   the playbook as it was run
    steps.jsonl                     steps and healed faults, with the nodes that they affected
    clients.jsonl                   history of all clients, ordered by time
    metadata.jsonl                  records of the metadata log as Kafka's MetadataJsonConverters writes them
    nodes/<node id>/log/            log.dirs of a broker or controller at the end: <topic>-<partition>/, checkpoints,
                                    meta.properties and, on each node, __cluster_metadata-0/; indexes are left out
    nodes/<node id>/before-<n>/     the same of a broker just before its n-th restart: what it had before truncation
    nodes/<node id>/server.log      output of the server, all starts
    processes/<name>.log            output of each client process and of the admin client

Common rules: one JSON object a line, UTF-8. ``at_us`` is wall time in microseconds since the scenario began (cluster
ready, topics in sync, clients started afterwards); it may be negative for what came before. ``run.json`` has the
beginning as Unix time in ``start_unix_us``, so timestamps of batches convert by subtraction. Partitions are written as
Kafka prints them (``orders-0``), errors are names of Kafka's ``Errors`` (``NOT_ENOUGH_REPLICAS``; a client exception
without a code is ``NONE`` with its class in ``exception``). Nodes are written as targets of playbooks:
``broker(1)``, ``controller(1001)``, ``client(checkout)``, ``client(billing/0)``, ``admin``. A record's name is
``<producer>:<number>``; it begins the record's value, followed by a blank if there is padding. Numbers count from 0, in
the second process of a restarted producer from 1 000 000, and so on. A second producer with the same transactional.id
(fault ``zombie_producer``) is the client ``<producer>.duplicate``.

Events of ``clients.jsonl``: ``at_us``, ``client`` (``checkout``, ``billing/0``), ``event``, and:

    started       kind (producer, consumer), incarnation (from 1), config {key: text}, topics [...], group or ""
    sent          number, topic, partition (-1: by the partitioner), key or null; written before send() is called
    acked         number, partition "orders-0", offset (-1 with acks=0)
    failed        number, partition ("" unknown), error, exception, message
    transaction   action (begun, committed, aborted, failed), transaction number from 1, error, exception
    polled        records [[partition, offset, leader epoch or -1, record name], ...] in order of delivery
    committed     offsets {partition: offset}, mode (auto, sync, async)
    commit_failed offsets {partition: offset}, mode, error, exception
    assigned      partitions [...], owned [...] afterwards, member id, generation
    revoked       partitions [...]
    lost          partitions [...]
    error         during (poll, send, close), error, exception, message
    closed        application closed its client by itself (SIGTERM, end of the scenario)

A process that is killed writes nothing: ``steps.jsonl`` has its end.

Events of ``steps.jsonl``: ``at_us``, ``event``, and:

    step     index, line and label of the step, verb, name, target, nodes [...], links [[from, to], ...], params,
             fault number (0 for none), outcome (taken, skipped, refused), error, message, done_us (when its call
             returned)
    healed   fault number, name, nodes, by (for: its time is over, step, settle, restart, end: it ended by itself)
    finished index of an operation's step, name, outcome (completed, failed), error, message
    process  node, action (started, ready, killed, terminated, exited, paused, resumed), code
    unmet    index of a ``when`` that did not hold in time; no later step is taken
    begin    the scenario begins (always the first event, at 0)
    settling all faults are healed, producers stop
    end      the evidence is collected from here on
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

FORMAT: Final = 1
RUN: Final = "run.json"
PLAYBOOK: Final = "playbook.yaml"
STEPS: Final = "steps.jsonl"
CLIENTS: Final = "clients.jsonl"
METADATA: Final = "metadata.jsonl"
NODES: Final = "nodes"
PROCESSES: Final = "processes"
METADATA_LOG: Final = "__cluster_metadata-0"

RUN_KEYS: Final = (
    "format",  # FORMAT
    "playbook",  # name of the playbook
    "settings",  # settings changed with --set: [[name, value], ...]
    "release",  # of brokers and clients
    "cluster_id",
    "start_unix_us",
    "end_us",  # when everything was killed, since the start
    "outcome",  # completed, unmet, or the error that ended it
    "brokers",  # {id: {rack, address}}
    "controllers",  # {id: {address}}
    "topics",  # {name: {partitions, placement [[...]], config {}}} as created
    "producers",  # names
    "groups",  # {name: [members]}
    "deviations",  # sentences: where this run differs from its playbook
    "seed",  # of targets drawn at random and of lost packets
)
"""Keys of ``run.json``."""

Event = dict[str, Any]
"""One line."""


class EventWriter:
    """Writer of one file of JSON lines; each line is flushed, so that a run that is cut short keeps it."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = path.open("a", encoding="utf-8")

    def write(self, at_us: int, event: str, **fields: Any) -> None:
        """Write one event."""
        self._file.write(json.dumps({"at_us": at_us, "event": event, **fields}) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_events(path: Path) -> Iterator[Event]:
    """Yield the events of a file; a last line that was cut short is left out.

    Raises:
        ValueError: another line is no JSON object; the message names file and line.
    """
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith("\n"):
                return
            try:
                event = json.loads(line)
            except ValueError:
                event = None
            if not isinstance(event, dict):
                raise ValueError(f"{path}:{number}: found {line.strip()[:80]!r}, expected a JSON object")
            yield event


def relative_events(events: Iterable[Mapping[str, Any]], start_unix_us: int) -> list[Event]:
    """Return events of client processes, which have ``wall_us``, in order of time with ``at_us`` instead."""
    found = [
        {"at_us": int(event["wall_us"]) - start_unix_us} | {key: event[key] for key in event if key != "wall_us"}
        for event in events
    ]
    return sorted(found, key=lambda event: int(event["at_us"]))


def write_events(path: Path, events: Iterable[Mapping[str, Any]]) -> None:
    """Write a whole file of events."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)


def write_run(directory: Path, run: Mapping[str, Any]) -> None:
    """Write ``run.json``."""
    (directory / RUN).write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
