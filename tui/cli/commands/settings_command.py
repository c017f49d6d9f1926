"""``floodmark settings``: the user's file, what is in force, and an example."""

from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from playbooks.exit_codes import BAD_INPUT, OK
from tui.output.console import answers, complain, print_document, say, table


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("settings")
    def _settings(
        example: Annotated[
            bool, typer.Option("--example", help="Print a file with everything that can be set, commented out.")
        ] = False,
    ) -> None:
        """Tell where the settings of the screen are, and what is in force of them.

        Exit code 0: all of the file is. 2: something in it is wrong, and is told.
        """
        end(print_example if example else settings)


def print_example() -> int:
    """The example, as a file."""
    from tui.settings.example import example  # noqa: PLC0415 - it reads the key map

    print_document(example())
    return OK


def settings() -> int:
    """The path of the file, and a line for each setting."""
    from tui.keybindings.key_names import shown  # noqa: PLC0415 - it reads the key map
    from tui.settings.schema import OPTIONS, written  # noqa: PLC0415
    from tui.settings.settings_file import read_settings  # noqa: PLC0415

    found = read_settings()
    console = answers()
    say(console, f"{found.path}{'' if found.there else '  (not there: everything is at its default)'}")
    rows = [
        (f"screen.{each.name}", written(found.settings.value(each.name)), _from(each.name in found.given))
        for each in OPTIONS
    ]
    rows += [(f"keys.{name}", shown(",".join(keys)), _from(True)) for name, keys in found.settings.keys.items()]
    table(console, ("setting", "value", "from"), rows)
    for note in found.notes:
        say(console, f"note: {note}")
    for problem in found.problems:
        complain(problem)
    return BAD_INPUT if found.problems else OK


def _from(given: bool) -> str:
    return "the file" if given else "default"
