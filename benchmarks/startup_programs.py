"""Programs whose start is measured until their first frame.

Only modules that every start needs are imported here, since other imports would count as the program's.
"""

import gc
import sys

SIZE = (200, 60)


def version() -> None:
    """Run ``floodmark --version``."""
    from tui.cli.main import main  # noqa: PLC0415 - a child measures its own imports

    sys.argv = ["floodmark", "--version"]
    try:
        main()
    except SystemExit:
        return


def help_page() -> None:
    """Run ``floodmark --help``."""
    from tui.cli.main import main  # noqa: PLC0415

    sys.argv = ["floodmark", "--help"]
    try:
        main()
    except SystemExit:
        return


def welcome() -> None:
    """Show the welcome page and exit."""
    from tui.startup import no_gc_until_painted  # noqa: PLC0415

    with no_gc_until_painted():
        from pathlib import Path  # noqa: PLC0415

        from tui.terminal.theme import Appearance  # noqa: PLC0415
        from tui.welcome import WelcomeApp  # noqa: PLC0415

        _show(WelcomeApp(Appearance(), Path("none")))


def reading() -> None:
    """Import everything that a session in the TUI needs, without opening one."""
    from tui.startup import no_gc_until_painted, painted  # noqa: PLC0415

    with no_gc_until_painted():
        from tui import app, launcher  # noqa: F401, PLC0415

        painted()  # as in a session: imported objects are excluded from the garbage collection at exit


def session() -> None:
    """Show the sandbox and exit as soon as it is painted."""
    from tui.startup import no_gc_until_painted  # noqa: PLC0415

    with no_gc_until_painted():
        from playbooks.engine.session import Session  # noqa: PLC0415
        from tui.launcher import live_app  # noqa: PLC0415
        from tui.screen_choice import ScreenChoice  # noqa: PLC0415
        from tui.session.playbook_choice import choose  # noqa: PLC0415
        from tui.settings.schema import Settings  # noqa: PLC0415

        chosen = choose("sandbox", None, {})
        screen = ScreenChoice("unicode", "dark", 1.0, Settings())
        _show(live_app(Session.start(chosen.playbook, open_ended=True), screen))


def _show(app) -> None:  # type: ignore[no-untyped-def]
    import asyncio  # noqa: PLC0415

    async def shown() -> None:
        async with app.run_test(size=SIZE):
            while not gc.isenabled():  # the collector is enabled once the first frame is painted
                await asyncio.sleep(0)

    asyncio.run(shown())
