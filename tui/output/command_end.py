"""How a command that goes by a recorded session ends where it cannot: one sentence, and the exit code for it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from cluster_model.protocol.errors import ModelError
from playbooks.engine.replay import ReplayMismatchError
from playbooks.errors import BAD_INPUT, FAILED, PlaybookError
from playbooks.session_format.filesystem import put_in_place
from playbooks.session_format.session_files import SessionError
from playbooks.units import UnitError
from tui.output.console import complain, complain_of


def ended(work: Callable[[], int], at: str | None = None) -> int:
    """The exit code of ``work``, or of what refused it; ``at`` is the time as it was typed."""
    try:
        return work()
    except UnitError as error:
        complain(f"--at takes {error}, found {at!r}")
        return BAD_INPUT
    except (SessionError, ModelError) as error:
        complain(str(error))
        return BAD_INPUT
    except PlaybookError as error:
        complain_of(error)
        return BAD_INPUT
    except ReplayMismatchError as error:
        complain(str(error))
        return FAILED


def to_text(document: Any) -> str:
    """JSON for people and programs alike: indented, one document."""
    return msgspec.json.format(msgspec.json.encode(document)).decode()


def write(option: str, path: Path, text: str) -> bool:
    """Put a whole file in its place, or leave the one that is there."""
    try:
        put_in_place(path, text)
    except OSError as error:
        complain(f"{option}: cannot write {path}: {error.strerror}")
        return False
    return True
