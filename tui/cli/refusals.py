"""How a command that goes by a recorded session ends where it cannot: one sentence, and the exit code for it."""

from collections.abc import Callable

from cluster_model.errors import ModelError
from playbooks.loader import PlaybookError
from playbooks.replay import ReplayMismatchError
from playbooks.session_errors import SessionError
from playbooks.units import UnitError
from tui.cli.console import BAD_INPUT, FAILED, complain, complain_of


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
