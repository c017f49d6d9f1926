"""A fault as a form has it: a field for its target, how long it lasts, and each parameter, and the action they make."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from faults.declarations.action import Action
from faults.declarations.fault import ACCEPTS, Fault
from playbooks.model.fault_words import allowed_text, default_text, value_text
from playbooks.model.wording import action_of
from playbooks.parser.document.context import Notes
from playbooks.parser.document.yaml_source import Mapping as YamlMapping
from playbooks.parser.document.yaml_source import Node, Scalar
from playbooks.parser.steps.timed_steps import TimedSteps
from tui.session.typed_commands import Place, node

TARGET: Final = "target"
FOR: Final = "for"
PATH: Final = "form"


class FieldError(ValueError):
    """What stands in a field is wrong; the message says what was found and what is allowed."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Field:
    """One line of the form."""

    name: str
    value: str
    """What stands there at first."""
    words: str
    """What it means, and what it takes."""


def fields(fault: Fault, target: str) -> tuple[Field, ...]:
    """The form of a fault aimed at a target; what stands in it at first is what its letter would do."""
    found = [Field(TARGET, target, ACCEPTS[fault.accepts])]
    if fault.lasting:
        usual = value_text("duration", fault.usual_for_us) if fault.usual_for_us >= 0 else ""
        found.append(Field(FOR, usual, "how long it lasts, such as 8s; empty: until it is healed"))
    for each in fault.params:
        allowed = allowed_text(each)
        found.append(Field(each.name, default_text(each), f"{allowed}: {each.doc}" if allowed else each.doc))
    return tuple(found)


def read_fields(fault: Fault, values: Mapping[str, str], place: Place) -> Action:
    """The action that filled fields make; what is empty or at its default is left out.

    Raises:
        FieldError: one of them is wrong.
    """
    given = {name: " ".join(node(word, place) for word in text.split()) for name, text in values.items()}
    for each in fault.params:
        if given.get(each.name) == default_text(each):
            del given[each.name]
    entries: dict[str, tuple[Scalar, Node]] = {"inject": (_scalar("inject"), _scalar(fault.name))}
    entries |= {name: (_scalar(name), _scalar(text)) for name, text in given.items() if text}
    notes = Notes(PATH, [], place.facts)
    step = TimedSteps().read(YamlMapping(1, 1, entries), 0, "", notes)
    if notes.problems or step is None:
        problem = min(notes.problems)
        raise FieldError(problem.key, problem.message)
    return action_of(step)


def _scalar(text: str) -> Scalar:
    return Scalar(1, 1, text, plain=True, exact=0)
