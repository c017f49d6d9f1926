"""The past and the branches of a session that is told line by line: going there, undoing, changing over.

What the screen does with keys is done with words here. Where somebody acts in the past, a branch begins, and is waited
for: nothing else goes on meanwhile.
"""

from collections.abc import Callable
from typing import Final

from faults.declarations.action import Action
from playbooks.errors import listed, nearest, shown
from playbooks.timetravel.branches import Branch, Branches
from playbooks.timetravel.looking_back import LookingBack
from tui.session.typed_commands import TypedError
from tui.terminal.format import clock

EVENTS: Final = 20_000
"""Kernel events between two looks at how far a branch has grown."""
TOLD_EVERY: Final = 20
"""Percent of the way between two lines about that."""
PAST: Final = "this is the past, paused: play goes on through what happened, present goes back, acting begins a branch"
PRESENT: Final = "this is the present"

Say = Callable[[str], None]


class Travel:
    """Moves through the instants and the branches of a session; ``say`` is told one line at a time."""

    def __init__(self, branches: Branches, say: Say) -> None:
        self.branches = branches
        self._say = say
        self.ways: dict[str, Callable[[], None]] = {
            "present": self.to_present,
            "beginning": lambda: self.to_time(self.session.timeline.first_us),
            "back": self._back,
            "step": self._step,
            "undo": self._undo,
            "redo": self._redo,
            "what_if": self._fork,
            "fork": self._fork,
            "branches": self._list,
        }
        """What each word does."""

    @property
    def session(self) -> LookingBack:
        """The branch that is looked at, at the instant that is."""
        return self.branches.current.session

    def act(self, action: Action) -> str:
        """Do what is asked, here; what came of it. Refusals come as the session raises them."""
        if not self.session.in_past:
            return f"done: {self.session.act(action)}"
        self.branches.fork(action)
        return self._grown()

    # -- time -------------------------------------------------------------------------------------------------------

    def to_time(self, at_us: int) -> None:
        """To an instant that has been."""
        self.session.to_time(at_us)
        self.session.drain()
        self._here()

    def to_present(self) -> None:
        """To how the session stands."""
        self.session.to_present()
        self._here()

    def _back(self) -> None:
        moved = self.session.one_event_back()
        self.session.drain()
        self._here() if moved else self._say("this is the beginning: there is nothing before it")

    def _step(self) -> None:
        session = self.session
        due = session.cluster.next_event_us()
        if session.in_past:
            session.one_event_on()
        elif due < 0 or not session.advance(due, 1):
            self._say("nothing is pending: no event is left")

    def _here(self) -> None:
        past = f"of {clock(self.session.present_us)}; {PAST}" if self.session.in_past else PRESENT
        self._say(past)

    # -- branches ---------------------------------------------------------------------------------------------------

    def change_to(self, letter: str) -> None:
        """To another branch, at its present."""
        found = {branch.letter.lower(): branch for branch in self.branches}
        if letter.lower() not in found:
            names = [branch.letter for branch in self.branches]
            raise TypedError(
                f"branch: found {shown(letter) if letter else 'nothing'}, there are {listed(names, 'and')}"
                f"{nearest(letter, names)}"
            )
        self.branches.switch(found[letter.lower()])
        self._changed_over()

    def _undo(self) -> None:
        if self.branches.undo() is None:
            self._changed_over()
        else:
            self._say(self._grown())

    def _redo(self) -> None:
        self.branches.redo()
        self._changed_over()

    def _fork(self) -> None:
        self.branches.fork()
        self._say(self._grown())

    def _list(self) -> None:
        for branch in self.branches:
            self._say(_line(branch, here=branch is self.branches.current))

    def _changed_over(self) -> None:
        self._say(f"branch {self.branches.current.letter}, paused")

    def _grown(self) -> str:
        """Wait for the branch that is on its way, and look at it; what to say of it."""
        growing = self.branches.growing
        assert growing is not None
        told = 0
        try:
            while not growing.on(EVENTS):
                growing.branch.session.drain()
                if growing.percent >= told + TOLD_EVERY:
                    told = growing.percent
                    self._say(f"branch {growing.branch.letter} runs again what happened, {told} %")
            growing.branch.session.drain()  # it was told of the branch that it left
            return growing.words(self.branches.arrive())
        except BaseException:
            self.branches.give_up()
            raise


def _line(branch: Branch, *, here: bool) -> str:
    """A branch: where it comes from, how far it has come, what it came to."""
    view = branch.live.cluster.view()
    left = f", left {branch.parent.letter} at {clock(branch.left_us)}: {branch.began}" if branch.parent else ""
    books = view.ledger
    return (
        f"branch {branch.letter}{', this one' if here else ''}{left}; has come to {clock(view.now_us)},"
        f" lost {books.acked_lost}, missing {books.missing}, failed {books.failed}, unknown {books.unknown},"
        f" broken rules {view.violations}"
    )
