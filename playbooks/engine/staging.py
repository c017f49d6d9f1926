"""How far a running session is, in a few words."""

from playbooks.engine.manual_session import ManualSession
from playbooks.engine.session import Session
from playbooks.errors import counted
from playbooks.model.wording import step_of


def stage(session: Session | ManualSession) -> str:
    """What the session is at: the step before which it stands, and what that waits for, or that it settles."""
    if session.phase != "steps":
        return session.phase
    step, count = session.next_step, len(session.playbook.steps)
    if step is None:
        return f"{counted(count, 'step')} taken" if count else "load without steps"
    waits = f", which waits for {step.trigger.condition.text}" if step.trigger.condition else ""
    return f"before {step_of(step, session.playbook.steps)}{waits}"
