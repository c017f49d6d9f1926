"""Cache of the bundled playbooks, each parsed once."""

from functools import cache

from playbooks.library import bundled
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import load


@cache
def playbook_of(name: str) -> Playbook:
    """Return a bundled playbook."""
    return load(bundled.path_of(name))
