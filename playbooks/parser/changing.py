"""A playbook with some of its values changed, as ``--set`` does it."""

from collections.abc import Mapping
from dataclasses import replace

from playbooks.errors import PlaybookError
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.parser.settings import apply_settings


def changed(playbook: Playbook, settings: Mapping[str, str]) -> Playbook:
    """The playbook with every setting made; its fragments are those it was read with.

    Raises:
        SettingError: a path that leads nowhere, or a value that is not YAML.
        PlaybookError: mistakes that the settings brought; each says so.
    """
    if not settings:
        return playbook
    text = apply_settings(playbook.source, settings, playbook.fragments, playbook.variables)
    try:
        return loads(text, playbook.path, playbook.fragments)
    except PlaybookError as error:
        options = " ".join(f"--set {path}={value}" for path, value in settings.items())
        raise PlaybookError(
            [replace(problem, message=f"{problem.message} (with {options})") for problem in error.problems], error.texts
        ) from None
