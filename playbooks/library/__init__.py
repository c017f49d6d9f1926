"""The bundled playbooks: the YAML files beside this one, their fragments, and the presets for fuzzing.

bundled   names and paths of playbooks, fragments and presets
suffixes  the file name suffixes of playbooks
index     the list of playbooks: name, title, theme and tags, read from the head of each file

Nothing is checked here; `playbooks.parser.loader` does that. `bundled` loads no YAML library, as pytest and
shell completion import it at once.
"""

__all__ = [
    "bundled",
    "index",
    "suffixes",
]
