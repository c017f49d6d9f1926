"""``floodmark peek``: what stands, or stood, at an offset of a recorded session."""

from cluster_model.errors import ModelError
from cluster_model.internal_topics import INTERNAL
from cluster_model.log.lineage import Lineages
from playbooks.layout import sessions_root
from playbooks.loader import PlaybookError
from playbooks.manual_session import ManualSession
from playbooks.peeking import Peeked, peek
from playbooks.problems import counted, listed, nearest, shown
from playbooks.reading_sessions import Recorded, SessionError, find_session, read_session
from playbooks.replay import ReplayMismatchError, rerun
from playbooks.session import Session
from playbooks.units import UnitError, duration_text, duration_us, size_text
from tui.cli.console import BAD_INPUT, FAILED, OK, answers, complain, complain_of, people, print_document, say
from tui.cli.progress import Telling
from tui.cli.run import to_text

GONE = {
    "truncated": "nobody: it was cut off every log that had it",
    "deleted": "nobody: the log begins behind it by now",
    "compacted": "nobody: a newer record of its key has replaced it",
}


def run_peek(text: str, partition: str, offset: int, *, at: str | None, records: int, json: bool) -> int:
    """Show the records at ``offset`` and the ``records`` - 1 after it; 0 when there is any, 1 when there is none."""
    try:
        at_us = -1 if at is None else duration_us(at)
        recorded = read_session(find_session(text, sessions_root()))
        session = _rerun(recorded, at_us)
        _check_partition(session, partition)
        found = [each for place in range(offset, offset + records) for each in peek(session, partition, place)]
    except UnitError as error:
        complain(f"--at takes {error}, found {at!r}")
        return BAD_INPUT
    except (SessionError, ModelError) as error:
        complain(str(error))
        return BAD_INPUT
    except PlaybookError as error:
        complain_of(error)
        return BAD_INPUT
    except ReplayMismatchError as error:
        complain(str(error))
        return FAILED
    if json:
        print_document(to_text([each.to_json() for each in found]))
    else:
        for each in found:
            _print(each)
    if not found:
        end = _end(session.cluster.world.lineages[partition])
        complain(f"nothing was written at offset {offset} of {partition}, which goes up to {end}, exclusive")
    return OK if found else FAILED


def _rerun(recorded: Recorded, at_us: int) -> Session | ManualSession:
    console = people()
    for note in recorded.notes:
        say(console, f"note: {note}", "yellow")
    with Telling(console) as telling:
        return rerun(
            recorded,
            at_us,
            lambda done, total: telling.tell(lambda: f"running again: {done} of {total} events are the same"),
        )


def _check_partition(session: Session | ManualSession, partition: str) -> None:
    """Refuse a partition that is not there; Kafka's own are too many to name."""
    known = list(session.cluster.world.records)
    if partition not in known:
        told = [name for name in known if name.rpartition("-")[0] not in INTERNAL]
        raise ModelError(f"no partition {shown(partition)}; there are {listed(told, 'and')}{nearest(partition, known)}")


def _end(lineages: Lineages) -> int:
    return max((lineage.end for lineage in lineages.by_id), default=0)


def _print(peeked: Peeked) -> None:
    record = peeked.record
    console = answers()
    say(console, f"{record.partition} offset {record.offset}, leader epoch {record.epoch}", "bold")
    producer = f"{record.client}, " if record.client else ""
    numbered = f"its record {record.number} in {record.partition}, counted from 0"
    identity = f", producer id {record.producer_id}" if record.producer_id >= 0 else ""
    size = f"{size_text(peeked.record_bytes)}, in " if peeked.record_bytes >= 0 else ""
    batch = f"a batch of {counted(record.batch_records, 'record')}, {size_text(record.batch_bytes)}"
    acks = "all" if record.acks < 0 else str(record.acks)
    time = f"{duration_text(record.timestamp_us)}, " if record.timestamp_us >= 0 else ""
    rows = (
        ("producer", f"{producer}{numbered}{identity}"),
        ("time", f"{time}written by broker {record.broker} at {duration_text(record.appended_us)}"),
        ("acks", f"{acks}, {'acknowledged' if record.acked else 'not acknowledged'}"),
        ("key", "null" if record.key is None else record.key),
        ("value", _value(peeked)),
        ("size", f"{size}{batch}"),
        ("held by", _held(peeked)),
    )
    for name, words in rows:
        say(console, f"  {name:<10}{words}")


def _value(peeked: Peeked) -> str:
    if peeked.value is not None:
        return peeked.value
    return "null: a tombstone" if peeked.record.deletes else "the playbook does not say (records: faker:order)"


def _held(peeked: Peeked) -> str:
    record = peeked.record
    if not record.holders:
        return GONE[record.gone]
    return f"broker{'s' if len(record.holders) > 1 else ''} {listed(map(str, record.holders), 'and')}"
