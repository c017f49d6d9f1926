"""A playbook as checked, immutable values, and what follows from these values alone.

playbook         `Playbook`, its steps, expectations, guards, its grid of settings, and its ranges for storms
record_contents  contents of records: field providers and templates; a record as the inspector shows it
step_text        steps, faults, their expected impact and triggers as text, and as YAML of a playbook

The parser makes these values and the engine runs them. Builds on `conditions` and `faults`; it knows no YAML.
"""

from playbooks.model.playbook import SEED, Cell, Expectation, Grid, GridAxis, Playbook, Step, StormRanges, cell_label
from playbooks.model.record_contents import RecordName, contents, fields_of, written
from playbooks.model.step_text import (
    DOWN,
    action_of,
    action_text,
    allowed_text,
    default_text,
    example_step,
    expected_lines,
    step_name,
    step_of,
    step_text,
    timeline,
    trigger_text,
    value_text,
)

__all__ = [
    "DOWN",
    "SEED",
    "Cell",
    "Expectation",
    "Grid",
    "GridAxis",
    "Playbook",
    "RecordName",
    "Step",
    "StormRanges",
    "action_of",
    "action_text",
    "allowed_text",
    "cell_label",
    "contents",
    "default_text",
    "example_step",
    "expected_lines",
    "fields_of",
    "record_contents",
    "step_name",
    "step_of",
    "step_text",
    "timeline",
    "trigger_text",
    "value_text",
    "written",
]
