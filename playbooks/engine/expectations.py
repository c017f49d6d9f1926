"""Evaluation of a playbook's expectations while a session runs.

An ``always`` fails the first time it does not hold; an ``eventually`` passes the first time it holds, counted from the
start or from the time the last fault was healed; an ``end`` is evaluated once, at the end of the session.
"""

import re
from typing import Any

from cluster_model.util.quantities import time_in_seconds
from playbooks.conditions.condition import Condition, parse
from playbooks.conditions.grammar import ConditionError, EvaluationError
from playbooks.model.playbook import Expectation
from playbooks.results.result import ExpectationResult
from playbooks.units import duration_text

NEVER_EVALUATED = "so it was never evaluated"
"""End of the detail of an expectation that was never evaluated."""

_CALL = re.compile(r"[a-z_]+\([^()]*\)")
"""Pattern of the innermost calls of a condition, whose values are shown."""


def holds(condition: Condition, query: object) -> bool:
    """Return whether a condition holds now; False if it has no value (an element of an empty list ...)."""
    try:
        return condition.holds(query)
    except EvaluationError:
        return False


def explain(condition: Condition, query: object) -> str:
    """Return the current values of the parts of a condition: ``acked_lost() is 3``."""
    parts = []
    for call in dict.fromkeys(_CALL.findall(condition.text)):
        try:
            parts.append(f"{call} is {_shown(parse(call).value(query))}")
        except EvaluationError as error:
            parts.append(f"{call}: {error.message}")
        except ConditionError:  # a call that only makes sense inside its condition
            continue
    try:
        condition.value(query)
    except EvaluationError as error:
        parts += [] if any(error.message in part for part in parts) else [error.message]
    return ", ".join(parts)


class ExpectationMonitor:
    """State of one expectation during a session. ``final`` once nothing later can change it."""

    __slots__ = ("at_us", "detail", "expectation", "final", "heal", "ok")

    def __init__(self, expectation: Expectation) -> None:
        self.expectation = expectation
        self.ok = expectation.kind == "always"
        self.final = False
        self.at_us = -1
        self.detail = ""
        self.heal = "the last heal"
        """Start of its time in messages, if it waits for a heal."""

    @property
    def waits_for_heal(self) -> bool:
        """Whether its time starts when the last fault is healed."""
        return self.expectation.kind == "eventually" and self.expectation.since == "heal"

    @property
    def broken(self) -> bool:
        """Whether it has failed before the end, so that no later event can change that."""
        return self.final and not self.ok

    def observe(self, query: object, now_us: int, healed_us: int) -> bool:
        """Evaluate it after an event; return True if this made the verdict final."""
        if self.final or self.expectation.kind == "end":
            return False
        if self.expectation.kind == "always":
            return self._observe_always(query, now_us)
        return self._observe_eventually(query, now_us, healed_us)

    def reset(self) -> None:
        """Restart the wait after a new fault began."""
        if self.waits_for_heal:
            self.ok, self.at_us, self.detail = False, -1, ""

    def close(self, query: object, now_us: int, healed_us: int, unhealed: str = "nothing was healed") -> None:
        """Decide it at the end of the session. ``unhealed`` says why nothing was healed."""
        self.observe(query, now_us, healed_us)
        if self.final:
            return
        kind = self.expectation.kind
        if kind == "end":
            self.ok = holds(self.expectation.condition, query)
            self._decide(now_us, explain(self.expectation.condition, query))
        elif kind == "always":
            self._decide(now_us, "held all the time")
        elif self.waits_for_heal and healed_us < 0:
            self._decide(now_us, f"{unhealed}, {NEVER_EVALUATED}")
        elif self.at_us < 0:
            self._decide(now_us, f"never held; {explain(self.expectation.condition, query)}".rstrip("; "))
        else:
            self._decide(self.at_us, self.detail)

    def checked(self, undecided: str = "") -> ExpectationResult:
        """Return the verdict for a result; ``undecided`` is the detail if it is still open."""
        if undecided and not self.final:
            return ExpectationResult(self.expectation.text, ok=False, at_us=-1, detail=undecided)
        return ExpectationResult(self.expectation.text, self.ok, self.at_us, self.detail)

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        return (self.ok, self.final, self.at_us, self.detail, self.heal)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state of :meth:`save`."""
        self.ok, self.final, self.at_us, self.detail, self.heal = saved

    def _observe_always(self, query: object, now_us: int) -> bool:
        if holds(self.expectation.condition, query):
            return False
        self.ok = False
        self._decide(now_us, f"did not hold at {time_in_seconds(now_us)}: {explain(self.expectation.condition, query)}")
        return True

    def _observe_eventually(self, query: object, now_us: int, healed_us: int) -> bool:
        since = healed_us if self.waits_for_heal else 0
        if since < 0 or self.at_us >= 0:
            return False
        within = self.expectation.within_us
        if within >= 0 and now_us > since + within:
            self.at_us = now_us
            self.detail = f"did not hold within {duration_text(within)}"
        elif holds(self.expectation.condition, query):
            self.ok = True
            self.at_us = now_us
            after = f", {time_in_seconds(now_us - since)} after {self.heal}" if self.waits_for_heal else ""
            self.detail = f"held at {time_in_seconds(now_us)}{after}"
        else:
            return False
        self.final = not self.waits_for_heal  # a later fault restarts such a wait
        return self.final

    def _decide(self, now_us: int, detail: str) -> None:
        self.final = True
        self.at_us = now_us
        self.detail = detail


class ExpectationMonitors:
    """Monitor of all expectations of a session, with the time of the last heal."""

    def __init__(self, expectations: tuple[Expectation, ...]) -> None:
        self.watches = tuple(ExpectationMonitor(each) for each in expectations)
        self._open = [watch for watch in self.watches if watch.expectation.kind != "end"]
        self._faulty = False
        self.healed_us = -1

    @property
    def open(self) -> bool:
        """Whether any expectation has to be evaluated while the session runs."""
        return bool(self._open)

    @property
    def broken(self) -> bool:
        """Whether an expectation has failed for good before the end."""
        return any(watch.broken for watch in self.watches)

    def faults(self, active: bool, now_us: int) -> None:
        """Note whether any fault is active now."""
        if active and not self._faulty:
            self.healed_us = -1
            for watch in self.watches:
                watch.reset()
        elif self._faulty and not active:
            self.healed_us = now_us
        self._faulty = active

    def all_healed(self, now_us: int) -> None:
        """Begin settling: from here on no fault is active."""
        if not self._faulty and self.healed_us < 0:
            for watch in self.watches:
                watch.heal = "settling began without faults"
        self._faulty = False
        if self.healed_us < 0:
            self.healed_us = now_us

    def observe(self, query: object, now_us: int) -> list[ExpectationResult]:
        """Evaluate all expectations; return those that were decided now."""
        decided = [watch for watch in self._open if watch.observe(query, now_us, self.healed_us)]
        if decided:
            self._open = [watch for watch in self._open if not watch.final]
        return [watch.checked() for watch in decided]

    def close(self, query: object, now_us: int) -> list[ExpectationResult]:
        """Decide all open expectations; return them."""
        late = [watch for watch in self.watches if not watch.final]
        unhealed = "the last fault was not healed" if self._faulty else "nothing was healed"
        for watch in late:
            watch.close(query, now_us, self.healed_us, unhealed)
        self._open = []
        return [watch.checked() for watch in late]

    def save(self) -> tuple[Any, ...]:
        """Return all state."""
        opened = tuple(place for place, watch in enumerate(self.watches) if watch in self._open)
        return (tuple(watch.save() for watch in self.watches), opened, self._faulty, self.healed_us)

    def load(self, saved: tuple[Any, ...]) -> None:
        """Restore the state of :meth:`save`."""
        watches, opened, self._faulty, self.healed_us = saved
        for watch, state in zip(self.watches, watches, strict=True):
            watch.load(state)
        self._open = [self.watches[place] for place in opened]


def plain(value: Any) -> Any:
    """Convert tuples to lists recursively, so that a state and a playbook compare by value."""
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def _shown(value: Any) -> str:
    return str(value) if not isinstance(value, bool) else ("true" if value else "false")
