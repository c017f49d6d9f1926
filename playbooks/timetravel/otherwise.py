"""A branch in which something is set otherwise from the very beginning: the same seed, the same faults, another course.

No event of it need be one of the session that it is compared with, so what the operator did is done again at its
times, and not in its places. What cannot be done any more is refused, and counted.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from playbooks.engine.session import SETTLE, Session
from playbooks.errors import counted
from playbooks.model.playbook import Playbook
from playbooks.parser.cells import cell_text
from playbooks.parser.loader import loads
from playbooks.recording.recorder import RecordingError
from playbooks.timetravel.timeline import Deed, Place

if TYPE_CHECKING:
    from playbooks.timetravel.branches import Branch

_HEALING: Final = Action("heal", "all")


def playbook_with(playbook: Playbook, settings: Mapping[str, str]) -> Playbook:
    """The playbook with settings made, as ``--set`` takes them.

    Raises:
        SettingError: a path leads nowhere.
        PlaybookError: it is not one that can be run then.
    """
    text = cell_text(playbook.source, settings, playbook.fragments, playbook.variables)
    return loads(text, playbook.path, playbook.fragments)


class Otherwise:
    """Such a branch on its way from the beginning to where the other one stands."""

    then = None

    def __init__(self, branch: "Branch", place: Place, deeds: tuple[Deed, ...], other: Session) -> None:
        """``other`` is what it is compared with: it stands in ``place``, after ``deeds``."""
        self.branch = branch
        self.until_us = place.at_us
        """When it arrives."""
        self.beside = branch.parent
        """What it is to be compared with."""
        self.refused = 0
        """Things that the operator did and that cannot be done here."""
        self._left = list(deeds)
        if other.settles_us >= 0 and all(deed.verb != SETTLE for deed in deeds):
            began = place._replace(at_us=other.settles_us)
            self._left.append(Deed(began, SETTLE, _HEALING))  # a live session does not begin to by itself
        self._harmed_there = _harmed(other)

    @property
    def percent(self) -> int:
        """How much of the way is gone, by virtual time."""
        return self.branch.session.cluster.now_us * 100 // max(1, self.until_us)

    def words(self, _told: str) -> str:
        """What to say when it has come."""
        refused = f"; {counted(self.refused, 'action')} refused" if self.refused else ""
        return (
            f"branch {self.branch.letter}, {self.branch.began} from the beginning: {_harmed(self.branch.live)}"
            f" acknowledged records missing or lost, {self._harmed_there} without{refused}"
        )

    def on(self, events: int) -> bool:
        """Go on by so many kernel events at most; whether it has arrived.

        Raises:
            FaultError: it cannot be recorded.
        """
        session = self.branch.session
        before = session.cluster.executed
        try:
            session.advance(self._left[0].place.at_us if self._left else self.until_us, events)
            if session.cluster.executed - before >= events:
                return False
            if not self._left:
                return True
            deed = self._left.pop(0)
            self.refused += not session.do_again(deed) and not deed.refused
        except RecordingError as error:
            raise FaultError(str(error)) from None
        return False


def _harmed(session: Session) -> int:
    ledger = session.cluster.view().ledger
    return ledger.missing + ledger.acked_lost
