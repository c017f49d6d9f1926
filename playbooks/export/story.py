"""What happened in a recorded session, as a playbook would have to tell it: found by running the session again.

The recording says what an operator did and where. Only the rerun knows whether something of that instant was still to
come, which fault had the number that was healed, and that this version of the model comes to the same events at all.
"""

from dataclasses import dataclass
from typing import Any, Final

from cluster_model.protocol.events import GuardActed
from faults.injector import OPERATOR
from playbooks.engine.replay import Comparison, Progress, begin
from playbooks.engine.session import SETTLE, Session
from playbooks.model.playbook import Playbook
from playbooks.recording.event_lines import decode
from playbooks.recording.reader import Recorded, RecordedAction

PLAYBOOK: Final = "playbook"
"""Who takes the step with which a session settles."""
_TELLING: Final = tuple(f'"kind":"{kind}"'.encode() for kind in ("step_taken", GuardActed.kind))


@dataclass(frozen=True, slots=True)
class Acted:
    """What an operator did, in its place."""

    action: RecordedAction
    pending: bool
    """Whether events of that very instant were still to come, so that its time alone does not tell the place."""
    heals: str
    """What is healed by name where the number of a fault was given; else empty."""
    error: str
    """Why it was refused."""
    guarded: bool
    """Whether it was a guard that refused it."""
    woke: int
    """How many steps acted right behind it, in its wake."""


@dataclass(frozen=True, slots=True)
class Story:
    """A session as it went."""

    recorded: Recorded
    playbook: Playbook
    seed: int
    acted: tuple[Acted, ...]
    """In order, without the one that began the end."""
    left: Acted | None
    """How the operator ended it, if he did."""
    taken: tuple[tuple[int, int], ...]
    """When each step of the playbook acted, and after how many kernel events."""
    settled_us: int
    """When the quiet time began; -1: it never did."""
    reason: str
    """Why steps never acted, where some did not."""

    @property
    def torn(self) -> bool:
        """Whether the recording breaks off."""
        return self.recorded.cut_short

    @property
    def cut(self) -> bool:
        """Whether the session was cut off before its end, as it was meant to be."""
        if self.torn or self.recorded.until_us < 0 or self.playbook.spec.manual:
            return False
        ended = self.recorded.manifest.virtual_us if self.recorded.manifest else -1
        return self.settled_us < 0 or ended < self.settled_us + self.playbook.settle_us

    @property
    def as_written(self) -> bool:
        """Whether nothing but the playbook itself happened, from its beginning to its end."""
        whole = len(self.taken) == len(self.playbook.steps)
        return whole and not (self.acted or self.left or self.torn or self.cut)


def retell(recorded: Recorded, progress: Progress = lambda done, total: None) -> Story:
    """Run a recorded session again and gather what happened; a torn one up to its last whole line.

    Raises:
        ReplayMismatchError: it came out differently.
        SessionError: it holds nothing to compare with.
        PlaybookError: the session's playbook is not one that this version runs.
    """
    comparison = begin(recorded, progress)
    stood: list[tuple[int, int]] = []
    if isinstance(comparison.session, Session):
        cluster = comparison.session.cluster
        comparison.session.on_step = lambda step: stood.append((cluster.now_us, cluster.executed))
    places = []
    for action in recorded.actions:
        comparison.stand(action)
        if comparison.done:
            break
        place = _place(comparison, action)
        before = _steps(comparison)
        comparison.repeat(action)
        places.append((action, *place, _steps(comparison) - before))
    comparison.to_the_end()
    session = comparison.session
    steps, taken, settled_us = _told(recorded)
    acted = [
        Acted(action, pending, heals, *_answer(steps, number), woke)
        for number, (action, pending, heals, woke) in enumerate(places)
        if action.verb != SETTLE
    ]
    ends = [Acted(action, pending, "", "", False, 0) for action, pending, _, _ in places if action.verb == SETTLE]
    return Story(
        recorded=recorded,
        playbook=session.playbook,
        seed=recorded.start.seed,
        acted=tuple(acted),
        left=ends[0] if ends else None,
        taken=tuple(stood[:taken]) if isinstance(session, Session) else ((0, 0),) * taken,
        settled_us=settled_us,
        reason=session.reason,
    )


def _steps(comparison: Comparison) -> int:
    return comparison.session.steps_taken


def _place(comparison: Comparison, action: RecordedAction) -> tuple[bool, str]:
    """Whether events of this instant are still to come, and what a fault's number means by name."""
    session = comparison.session
    if not isinstance(session, Session):
        return False, ""
    cluster = session.cluster
    pending = 0 <= cluster.next_event_us() <= cluster.now_us
    heals = ""
    if action.verb == "heal" and action.name.isdigit():
        names = [fault.name for fault in session.board.active()]
        meant = [fault.name for fault in session.board.active() if str(fault.id) == action.name]
        heals = meant[0] if meant and names.count(meant[0]) == 1 else ""
    return pending, heals


def _told(recorded: Recorded) -> tuple[list[tuple[str, bool]], int, int]:
    """The operator's actions with their refusals, how many steps acted, and when the quiet time began."""
    operator: list[tuple[str, bool]] = []
    taken = 0
    settled_us = -1
    before: Any = None
    for line in decode(
        b"\n".join(each for each in recorded.events.splitlines() if any(kind in each for kind in _TELLING))
    ):
        if line.kind == "step_taken":
            if line.by == OPERATOR:
                guarded = before is not None and before.kind == GuardActed.kind and before.seq == line.seq - 1
                operator.append((line.error, guarded and bool(line.error)))
            elif line.by == PLAYBOOK:
                settled_us = line.at_us
            else:
                taken += 1
        before = line
    return operator, taken, settled_us


def _answer(answers: list[tuple[str, bool]], number: int) -> tuple[str, bool]:
    """What the operator's n-th action came to; nothing where the recording breaks off before it says so."""
    return answers[number] if number < len(answers) else ("", False)
