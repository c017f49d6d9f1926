"""The start: CPU milliseconds of a new process until its first picture, and what it read for that.

Every process finds its bytecode compiled, as one of an installed program does. A terminal is not needed.
"""

import asyncio
import gc
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

SIZE = (200, 60)
PACKAGES = ("cluster_model", "faults", "playbooks", "tui")


class Start(NamedTuple):
    """What a start cost, at best."""

    ms: float
    modules: int
    own: int
    """Of them, the program's."""


def version() -> None:
    """What ``floodmark --version`` does."""
    from tui.cli.main import main  # noqa: PLC0415 - a child measures its own imports

    sys.argv = ["floodmark", "--version"]
    with suppress(SystemExit):
        main()


def help_page() -> None:
    """What ``floodmark --help`` does."""
    from tui.cli.main import main  # noqa: PLC0415

    sys.argv = ["floodmark", "--help"]
    with suppress(SystemExit):
        main()


def welcome() -> None:
    """The welcome page, and away again."""
    from tui.starting import starting  # noqa: PLC0415

    with starting():
        from tui import screen_choice  # noqa: F401, PLC0415 - what is read before the page comes
        from tui.theme import Look  # noqa: PLC0415
        from tui.welcome import WelcomeApp  # noqa: PLC0415

        asyncio.run(_shown(WelcomeApp(Look(), Path("none"))))


def reading() -> None:
    """All that a session on the screen needs, without opening one."""
    from tui.starting import starting  # noqa: PLC0415

    with starting():
        from tui import app, launch  # noqa: F401, PLC0415


def session() -> None:
    """The sandbox, and away again as soon as it is painted."""
    from tui.starting import starting  # noqa: PLC0415

    with starting():
        from playbooks.session import Session  # noqa: PLC0415
        from tui.cli.chosen import choose  # noqa: PLC0415
        from tui.launch import make_app  # noqa: PLC0415
        from tui.screen_choice import ScreenChoice  # noqa: PLC0415
        from tui.settings.schema import Settings  # noqa: PLC0415

        chosen = choose("sandbox", None, {})
        screen = ScreenChoice("unicode", "dark", 1.0, Settings())
        asyncio.run(_shown(make_app(Session.start(chosen.playbook, open_ended=True), screen)))


async def _shown(app) -> None:  # type: ignore[no-untyped-def]
    async with app.run_test(size=SIZE):
        while not gc.isenabled():  # until it is painted: from there on, garbage is looked for
            await asyncio.sleep(0)


def started(what: Callable[[], None], tries: int) -> Start:
    """What a whole process takes for that."""
    code = f"from benchmarks.starting import {what.__name__}; {what.__name__}()"
    with TemporaryDirectory() as compiled:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = compiled
        told = f"{code}\nimport sys; print('read', *sys.modules)"
        done = subprocess.run([sys.executable, "-c", told], env=environment, check=True, capture_output=True, text=True)
        read = done.stdout.splitlines()[-1].split()[1:]
        best = float("inf")
        for _ in range(tries):
            before = _spent()
            subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
            best = min(best, 1_000 * (_spent() - before))
    return Start(best, len(read), sum(each.partition(".")[0] in PACKAGES for each in read))


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
