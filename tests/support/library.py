"""The bundled playbooks, each read once."""

from functools import cache

from playbooks import bundled
from playbooks.loader import load
from playbooks.model import Playbook


@cache
def playbook_of(name: str) -> Playbook:
    """A bundled playbook."""
    return load(bundled.path_of(name))
