"""What a step itself asserts: how the protocol answered it, and the state it left behind."""

from collections.abc import Callable, Mapping
from typing import Any

from playbooks.engine.expectations import plain
from playbooks.model.playbook import Step
from playbooks.model.wording import step_name, step_words
from playbooks.results.result import Checked


def check_answer(step: Step, error: str, now_us: int, more: str = "") -> Checked | None:
    """The verdict on ``refused:``, None for a step that has no opinion. ``error`` is empty where all went well.

    ``more`` is what else there is to say about the answer.
    """
    if not step.refused:
        return None
    ok = {"any": bool(error), "never": not error}.get(step.refused, error == step.refused)
    found = f"refused: {error}" if error else "accepted"
    found = f"{found}; {more}" if more and more != error else found
    return Checked(answer_text(step), ok, now_us, found, by_step=True)


def answer_text(step: Step) -> str:
    """What a step with ``refused:`` expects, in words."""
    expected = {"any": "is refused", "never": "is not refused"}.get(step.refused, f"is refused with {step.refused}")
    return f"{step_name(step)}, {step_words(step)}, {expected}"


State = Mapping[str, Mapping[str, Any]]
"""Broker id as text, ``controller`` or ``consumer`` → field → value."""


def check_state(step: Step, state_of: Callable[[str], State], now_us: int, *, several: bool = False) -> Checked | None:
    """The verdict on ``then:``, field by field, None for a step without one.

    ``state_of`` tells a partition's state; ``several``: there are more of them, so that each finding names its own.
    """
    if not step.then:
        return None
    wrong = [
        f"{f'{partition} ' if several else ''}{_who(who)}: {field} is {_shown(found)}, expected {_shown(wanted)}"
        for partition, states in step.then.items()
        for who, fields in states.items()
        for field, wanted in fields.items()
        if (found := plain(state_of(partition).get(who, {}).get(field))) != plain(wanted)
    ]
    detail = "; ".join(wrong) if wrong else "as expected"
    return Checked(f"state after {step_name(step)}, {step_words(step)}", not wrong, now_us, detail, by_step=True)


def unreached(step: Step, why: str, now_us: int) -> Checked:
    """The entry for a step that the session never got to take."""
    assert step.trigger.condition is not None  # only a `when` can fail to come
    return Checked(f"{step_name(step)} when {step.trigger.condition.text}", False, now_us, why, by_step=True)


def show_rows(state: State) -> list[tuple[str, ...]]:
    """What ``show`` prints, a row each: broker, role, LEO, HW, epochs, ISR and log (a record is ``epoch:name``)."""
    rows: list[tuple[str, ...]] = []
    for who, fields in state.items():
        isr = _joined(fields.get("isr", []))
        if who == "controller":
            rows.append((who, f"leader {fields['leader']}, epoch {fields['epoch']}", "", "", "", isr, ""))
            continue
        if who == "consumer":
            read = " ".join(f"{epoch}:{record}" for epoch, record in fields["read"])
            rows.append((who, f"at {fields['position']}", "", "", "", "", read))
            continue
        role = fields.get("role", "") if fields.get("up", True) else "down"
        epochs = " ".join(f"{epoch}@{start}" for epoch, start in fields["epochs"])
        log = " ".join(f"{epoch}:{record}" for epoch, record in fields["log"])
        rows.append((who, role, str(fields["leo"]), str(fields["hw"]), epochs, isr, log))
    return rows


def _joined(ids: Any) -> str:
    return ",".join(map(str, ids))


def _who(key: str) -> str:
    return f"broker {key}" if key.isdigit() else key


def _shown(value: Any) -> str:
    return "nothing" if value is None else str(value)
