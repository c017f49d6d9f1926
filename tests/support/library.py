"""The bundled playbooks, each read once."""

from functools import cache

from playbooks.library import bundled
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import load


@cache
def playbook_of(name: str) -> Playbook:
    """A bundled playbook."""
    return load(bundled.path_of(name))
