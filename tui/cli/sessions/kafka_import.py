"""``floodmark import --kafka-logs``: logs of a real cluster become a session, with a summary of what they show."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from cluster_model.util.quantities import counted, listed, time_in_seconds
from kafka_logs.client_history import read_history
from kafka_logs.incident import Incident, read_incident
from kafka_logs.replica_logs import Progress
from kafka_logs.segments import KafkaLogsError, SegmentFile
from kafka_logs.session_writer import write_session
from kafka_logs.summary import summary_of
from playbooks.errors import BAD_INPUT, OK
from playbooks.session_format.session_files import sessions_root
from playbooks.text import printable
from tui.output.command_end import to_text
from tui.output.console import (
    ProgressLine,
    print_document,
    print_error,
    print_line,
    print_lines,
    stderr_console,
    stdout_console,
    table,
)

SHOWN_LINES = 20
"""Maximum number of elections, ranges or files listed each."""


@dataclass(frozen=True, slots=True)
class KafkaImport:
    """The options of ``import --kafka-logs`` as typed."""

    directory: Path
    topics: Sequence[str] = ()
    clients: Path | None = None
    name: str | None = None
    out: Path | None = None
    json: bool = False


class _SegmentProgress(Progress):
    """Progress line with the segment that is being read."""

    def __init__(self, line: ProgressLine) -> None:
        self._line = line
        self._count = 0

    def reading(self, segment: SegmentFile) -> None:
        """Show the number of segments so far, and the current one."""
        self._count += 1
        place = "/".join(segment.path.parts[-3:])
        self._line.update(lambda: f"reading segment {self._count}: {place}")


def run_kafka_import(request: KafkaImport) -> int:
    """Import copied logs as a session; return 0 if it is written, 2 if the logs cannot be read."""
    try:
        with ProgressLine(stderr_console()) as line:
            clients = None if request.clients is None else read_history(request.clients)
            incident = read_incident(
                request.directory, topics=request.topics, clients=clients, progress=_SegmentProgress(line)
            )
            line.update(lambda: "writing the session")
            name = request.name or f"kafka-{request.directory.resolve().name}"
            session = write_session(incident, request.out or sessions_root(), name=name)
    except KafkaLogsError as error:
        print_error(printable(str(error)))
        return BAD_INPUT
    summary = summary_of(incident)
    if request.json:
        print_document(to_text({"session": str(session), **summary}))
    else:
        _print_summary(stdout_console(), incident, summary)
        print_lines(stdout_console(), "\n".join(closing_lines(str(session))))
    return OK


def closing_lines(session: str) -> list[str]:
    """Return the commands that read the session."""
    path = printable(session)
    return [f"session  {path}", f"open     floodmark open {path}", f"report   floodmark report {path}"]


def _print_summary(console: Console, incident: Incident, summary: dict[str, Any]) -> None:
    metadata = summary["metadata"]
    brokers = counted(len(summary["brokers"]), "broker")
    print_line(
        console,
        f"cluster {printable(summary['cluster_id']) or 'without id'}: {brokers}, "
        f"{counted(summary['topics'], 'topic')}, {counted(summary['partitions'], 'partition')}",
        "bold",
    )
    span = f"{summary['began']}, {time_in_seconds(summary['end_us'])} long"
    reach = f"offsets {metadata['start_offset']} to {metadata['end_offset'] - 1} of node {metadata['node']}"
    print_line(console, f"metadata log: {reach}; from {span}")
    unclean = summary["unclean_elections"]
    offline = f"partitions without a leader: {counted(summary['offline'], 'time')}"
    print_line(console, f"{counted(summary['elections'], 'election')}, {len(unclean)} unclean; {offline}")
    if unclean:
        _print_elections(console, unclean)
    _print_losses(console, summary)
    _print_limits(console, incident, summary)


def _print_elections(console: Console, unclean: Sequence[dict[str, Any]]) -> None:
    rows = [
        (
            time_in_seconds(each["at_us"]), printable(each["partition"]), str(each["leader"]), str(each["epoch"]),
            listed(map(str, each["isr_and_elr_before"]), "and"), printable(each["reason"]),
        )
        for each in unclean[:SHOWN_LINES]
    ]  # fmt: skip
    table(console, ("unclean election", "partition", "leader", "epoch", "eligible before", "reason"), rows)
    _print_more(console, len(unclean))


def _print_losses(console: Console, summary: dict[str, Any]) -> None:
    losses, records = summary["losses"], summary["records"]
    if not losses:
        print_line(console, "no committed or acknowledged record is known to be missing")
    for each in losses[:SHOWN_LINES]:
        print_line(console, f"{each['kind']}: {printable(each['sentence'])} ({each['cause']})", "red")
    _print_more(console, len(losses))
    if losses:
        counts = f"{records['missing']} records in another log only, {records['lost']} in none"
        print_line(console, f"missing from the leaders' logs: {counts}", "bold")
    diverged = summary["diverged"]
    for each in diverged[:SHOWN_LINES]:
        print_line(console, f"diverged: {diverged_text(each)}", "yellow")
    _print_more(console, len(diverged))


def diverged_text(divergence: dict[str, Any]) -> str:
    """Describe a diverged range of which nothing shows that it was acknowledged."""
    where = f"offsets {divergence['offset']} to {divergence['end_offset'] - 1} of {printable(divergence['partition'])}"
    broker = divergence["broker"]
    if divergence["same_epoch"]:
        return f"{where} have other bytes on broker {broker} than on {divergence['leader']} in the same epoch"
    records = f"{counted(divergence['records'], 'record')} of epoch {divergence['epoch']}"
    return f"{where}: {records} only on broker {broker}; not known to be acknowledged"


def _print_limits(console: Console, incident: Incident, summary: dict[str, Any]) -> None:
    for each in summary["damage"][:SHOWN_LINES]:
        place = f"{printable(each['file'])} at byte {each['position']}"
        print_line(console, f"unreadable: {place}, after offset {each['next_offset'] - 1}: {each['reason']}", "yellow")
    unknown = summary["metadata"]["unknown_records"]
    for reason, count in unknown.items():
        print_line(console, f"left out: {counted(count, 'metadata record')}: {printable(reason)}", "yellow")
    without = summary["partitions_without_logs"]
    if without:
        print_line(console, f"no logs of {printable(listed(without, 'and', limit=8))}: history only", "yellow")
    if incident.logs.set_aside:
        names = printable(listed(incident.logs.set_aside, "and", limit=4))
        print_line(console, f"passed over: {names}", "dim")


def _print_more(console: Console, count: int) -> None:
    if count > SHOWN_LINES:
        print_line(console, f"and {count - SHOWN_LINES} more; --json lists all", "dim")
