"""``floodmark peek``: what stands, or stood, at an offset of a recorded session."""

from cluster_model.log.batch_store import Lineages
from cluster_model.protocol.errors import ModelError
from cluster_model.spec.internal_topics import INTERNAL
from playbooks.engine.manual_session import ManualSession
from playbooks.engine.replay import rerun
from playbooks.engine.session import Session
from playbooks.errors import listed, nearest, shown
from playbooks.exit_codes import FAILED, OK
from playbooks.model.peeking import Peeked, peek
from playbooks.recording.reader import Recorded, read_session
from playbooks.session_format.session_files import sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.units import duration_us
from tui.output.command_end import ended, to_text
from tui.output.console import answers, complain, people, print_document, say
from tui.output.progress import Telling
from tui.viewmodel.record import LABEL, heading, rows


def run_peek(text: str, partition: str, offset: int, *, at: str | None, records: int, json: bool) -> int:
    """Show the records at ``offset`` and the ``records`` - 1 after it; 0 when there is any, 1 when there is none."""

    def work() -> int:
        at_us = -1 if at is None else duration_us(at)
        session = run_again(read_session(find_session(text, sessions_root())), at_us)
        _check_partition(session, partition)
        found = [each for place in range(offset, offset + records) for each in peek(session.cluster, partition, place)]
        if json:
            print_document(to_text([each.to_json() for each in found]))
        else:
            for each in found:
                _print(each)
        if not found:
            end = _end(session.cluster.world.lineages[partition])
            complain(f"nothing was written at offset {offset} of {partition}, which goes up to {end}, exclusive")
        return OK if found else FAILED

    return ended(work, at)


def run_again(recorded: Recorded, at_us: int) -> Session | ManualSession:
    """The session at an instant, -1 its end, compared with its recording on the way."""
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
    console = answers()
    say(console, heading(peeked), "bold")
    for name, words in rows(peeked):
        say(console, f"  {name:<{LABEL}}{words}")
