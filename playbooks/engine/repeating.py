"""Bringing a rerun of a session to where its operator acted, and acting there again."""

from typing import TYPE_CHECKING

from faults.declarations.action import Action
from faults.declarations.fault import FaultError
from playbooks.engine.session import SETTLE, TAKE_OVER, Session
from playbooks.recording.event_codec import WIRE, ingress_of

if TYPE_CHECKING:
    from playbooks.engine.manual_session import ManualSession


def reach(session: "Session | ManualSession", at_us: int, executed: int, steps: int) -> None:
    """Run to where a session stood before; all three tell it, for events and steps may share an instant.

    A rerun that goes other ways stops elsewhere: ``session.position()`` tells.
    """
    if executed > session.cluster.executed:
        session.advance(at_us, executed - session.cluster.executed)
    if session.cluster.now_us < at_us or session.steps_taken < steps:
        session.advance(at_us)


def repeat(session: "Session | ManualSession", verb: str, action: Action) -> bool:
    """Do again what an operator did; what was refused then is refused again, and the trace says so.

    Returns whether it was done.
    """
    try:
        if verb == SETTLE and isinstance(session, Session):
            session.settle()
        elif verb == TAKE_OVER and isinstance(session, Session):
            session.take_over()
        elif verb == WIRE and isinstance(session, Session):
            session.hand_in(ingress_of(action))
        else:
            session.act(action)
    except FaultError:
        return False
    return True
