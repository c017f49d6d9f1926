"""What a session would be told to have come to if it were told now: its books are open, and it goes on as before."""

from dataclasses import dataclass

from playbooks.engine.expectations import holds
from playbooks.engine.session import Session
from playbooks.results.result import Checked, Result

OPEN = "the session goes on"
"""Detail of what is not decided yet."""


@dataclass(frozen=True, slots=True)
class SoFar:
    """A result that is not final."""

    result: Result
    holding: tuple[str, ...]
    """Expectations of the end that would hold if it were now ..."""
    failing: tuple[str, ...]
    """... and those that would not."""

    @property
    def failed(self) -> bool:
        """Whether something has been found not to hold that nothing can mend."""
        return self.result.verdict == "fail"


def so_far(session: Session) -> SoFar:
    """How a session stands. Nothing of it changes by being asked."""
    result = session.standing(OPEN)
    query = session.cluster.query
    undecided = [each.text for each in result.expectations if is_open(each)]
    ends = [each for each in session.playbook.expectations if each.kind == "end" and each.text in undecided]
    holding = [each.text for each in ends if holds(each.condition, query)]
    return SoFar(result, tuple(holding), tuple([each.text for each in ends if each.text not in holding]))


def is_open(checked: Checked) -> bool:
    """Whether an expectation is yet to be decided."""
    return checked.detail == OPEN and not checked.ok
