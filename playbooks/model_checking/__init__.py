"""Files of explorations: bounded, exhaustive searches of small clusters.

exploration: parser of exploration files, including presets, and writer of the path to a state as a manual playbook.

The search itself is in `cluster_model`. Builds on `playbooks.parser`. The presets are the YAML files in
`presets`.
"""

from playbooks.model_checking.exploration import LIMITS, MEANINGS, OLDER, PRESETS, Exploration, find, playbook, presets

__all__ = [
    "LIMITS",
    "MEANINGS",
    "OLDER",
    "PRESETS",
    "Exploration",
    "find",
    "playbook",
    "presets",
]
