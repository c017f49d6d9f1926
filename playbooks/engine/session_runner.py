"""What comes next in a session, and when: for whoever counts down to it."""

from dataclasses import dataclass

from playbooks.engine.session import Session
from playbooks.model.wording import step_name, step_words
from playbooks.units import duration_text


@dataclass(frozen=True, slots=True)
class Next:
    """One thing that the session will do."""

    words: str
    """``step 3 inject crash on leader(orders-0)``, ``settling for 30s``, ``the end``."""
    at_us: int
    """When by the clock, in virtual time; of a step with a condition when it stops waiting, -1 for never."""
    condition: str = ""
    """What a step waits for."""

    def told(self, now_us: int) -> str:
        """On one line, counted from now: ``step 3 inject crash on leader(orders-0) in 4.2 s``."""
        left = f"{max(0, self.at_us - now_us) / 1_000_000:.1f} s"
        if self.condition:
            return f"{self.words} when {self.condition}{f', for {left} at most' if self.at_us >= 0 else ''}"
        return f"{self.words} in {left}"


def coming(session: Session) -> Next | None:
    """What a session does next; None once it has ended."""
    if session.phase == "ended":
        return None
    moment, step = session.moment_us(), session.next_step
    condition = step.trigger.condition if step is not None and session.phase == "steps" else None
    if step is not None and condition is not None:
        return Next(f"{step_name(step)} {step_words(step)}", moment, condition.text)
    if moment == session.until_us:
        return Next("the cut", moment)
    if session.phase == "settling":
        return Next("the end", moment)
    if step is None:
        return Next(f"settling for {duration_text(session.playbook.settle_us)}", moment)
    return Next(f"{step_name(step)} {step_words(step)}", moment)
