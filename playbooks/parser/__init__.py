"""Parser of playbooks: from YAML to a checked playbook, or to all its errors with line and column.

loader         `load` and `loads`: a file or a text to a `Playbook`, also with changed settings; single fragments;
               every key of a playbook and of a fragment, as tables
key_reference  the same keys as text for people, and as JSON Schema for editors
settings       `--set`: single values changed in the text, the cells of a grid, and their checks
yaml_edit      edits in place that keep comments, and a playbook written out with its fragments in it

The sub-packages parse the parts, lowest first: `document`, `sections`, `steps`. They never import this package.
Builds on `playbooks.model`, `conditions`, `library` and `faults`; nothing here runs a session.
"""

__all__ = [
    "key_reference",
    "loader",
    "settings",
    "yaml_edit",
]
