"""The bundled playbooks: the YAML files beside this one, their fragments, and the presets for fuzzing.

bundled   names and paths of playbooks, fragments and presets
suffixes  the file name suffixes of playbooks
index     index of the playbooks: name, title, theme and tags, from the head of each file

Playbooks are validated by `playbooks.parser.loader`, not here. `bundled` loads no YAML library, as pytest and
shell completion import it at once.
"""

__all__ = [
    "bundled",
    "index",
    "suffixes",
]
