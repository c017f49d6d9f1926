"""``floodmark groups``: consumer groups of a recorded session, as ``kafka-consumer-groups.sh`` shows them."""

from typing import Any

from cluster_model.cluster import Cluster
from cluster_model.coordinators.group.consumer_groups_tool import MISSING, Table, warning
from cluster_model.coordinators.group.group_metadata import State
from cluster_model.protocol.errors import ModelError
from playbooks.engine.session import Session
from playbooks.exit_codes import FAILED, OK
from playbooks.recording.reader import read_session
from playbooks.results import describing
from playbooks.session_format.session_files import sessions_root
from playbooks.session_format.session_finder import find_session
from playbooks.units import duration_us
from tui.cli.sessions.peeking import run_again
from tui.output.command_end import ended, to_text
from tui.output.console import answers, people, print_document, say, table

SHOWN = {"offsets": describing.offsets, "members": describing.members, "state": describing.state}


def run_groups(text: str, group: str | None, *, at: str | None, show: str, json: bool) -> int:
    """Show a group's table, or the states of all; 0 when there is any, 1 when there is none."""

    def work() -> int:
        at_us = -1 if at is None else duration_us(at)
        session = run_again(read_session(find_session(text, sessions_root())), at_us)
        if not isinstance(session, Session):
            raise ModelError("time stands still in this session: it has no consumer groups")
        return _tell(session.cluster, group, show=show, json=json)

    return ended(work, at)


def _tell(cluster: Cluster, group: str | None, *, show: str, json: bool) -> int:
    if group is None:
        rows = describing.states(cluster)
        if not rows:
            say(people(), "there is no consumer group")
    else:
        described = describing.describe_group(cluster, group)
        told = warning(described)
        if told:
            say(people(), told)
        rows = [] if described.state == State.DEAD else SHOWN[show](cluster, described)
    if json:
        print_document(to_text(_documents(rows)))
    elif rows[1:]:
        table(answers(), rows[0], rows[1:])
    return OK if rows else FAILED


NUMBERS = ("partition", "current_offset", "log_end_offset", "lag", "members", "partitions")


def _documents(rows: Table) -> list[dict[str, Any]]:
    """A document for each row, by the names of the columns; what is missing is null."""
    heads = [head.lower().replace(" (id)", "").replace("#", "").replace("-", "_") for head in rows[0]] if rows else []
    return [{head: _plain(head, cell) for head, cell in zip(heads, row, strict=True)} for row in rows[1:]]


def _plain(head: str, cell: str) -> str | int | None:
    if cell == MISSING:
        return None
    return int(cell) if head in NUMBERS else cell
