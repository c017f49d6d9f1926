"""The list of a playbook's steps."""

from playbooks.model import Step
from playbooks.reading.manual import ManualSteps
from playbooks.reading.notes import Notes
from playbooks.reading.steps import MAX_STEPS, TimedSteps
from playbooks.yamlpos import Mapping, Node, Scalar, Sequence


def read_steps(node: Node | None, notes: Notes, *, manual: bool) -> tuple[Step, ...]:
    """The steps in the order in which they act; ``node`` is None where the playbook has none."""
    if node is None:
        return ()
    if not isinstance(node, Sequence):
        notes.refuse(node, "steps", "a list of steps")
        return ()
    if len(node.items) > MAX_STEPS:
        notes.problem(node, "steps", f"found {len(node.items)} steps, allowed are at most {MAX_STEPS}")
        return ()
    reader = ManualSteps() if manual else TimedSteps()
    steps: list[Step] = []
    for i, item in enumerate(node.items):
        mapping = _as_mapping(item)
        if mapping is None:
            notes.refuse(item, f"steps[{i + 1}]", "a mapping with one verb")
            continue
        step = reader.read(mapping, i, f"steps[{i + 1}]", notes)
        if step is not None:
            steps.append(step)
    return tuple(steps)


def _as_mapping(node: Node) -> Mapping | None:
    """A step; a bare word stands for a verb without anything to say about it: ``- show``."""
    if isinstance(node, Scalar) and not node.empty:
        nothing = Scalar(node.line, node.column, "", True, 0)
        return Mapping(node.line, node.column, {node.text: (node, nothing)})
    return node if isinstance(node, Mapping) else None
