"""Files of explorations: bounded, exhaustive searches of small clusters.

exploration: reads the file of an exploration, which may be a preset, and writes the way to a state as a
  playbook that is stepped by hand.

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
