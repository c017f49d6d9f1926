"""``floodmark completion``: what makes a shell complete commands, options and names.

The shell asks the program itself at each tab, by a variable of the environment: what is completed is what can be typed.
"""

import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Final, NoReturn

import typer

PROGRAM: Final = "floodmark"
ASKS: Final = "_FLOODMARK_COMPLETE"
"""Set by a shell that wants to know how a line may go on."""


class Shell(StrEnum):
    """The shells that are known."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("completion")
    def _completion(shell: Annotated[Shell, typer.Argument(help="Your shell.")]) -> None:
        """Print what makes a shell complete floodmark: commands, options, playbooks, faults, sessions.

        For bash, put `source <(floodmark completion bash)` into ~/.bashrc. For zsh, put `source <(floodmark completion
        zsh)` into ~/.zshrc, behind compinit. For fish, write it to ~/.config/fish/completions/floodmark.fish.
        """
        end(lambda: print_script(app, shell))


def print_script(app: typer.Typer, shell: Shell) -> int:
    """The script of a shell, on stdout."""
    answering()
    from typer.completion import shell_complete  # noqa: PLC0415 - only who asks for it pays for it

    return shell_complete(typer.main.get_command(app), {}, PROGRAM, ASKS, f"source_{shell}")


def is_asked(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this process was started by a shell that wants a line completed."""
    return ASKS in environ


def answering() -> None:
    """Let the questions of shells be understood: with options of its own for it, Typer would do so unasked."""
    from typer.completion import get_completion_inspect_parameters  # noqa: PLC0415

    get_completion_inspect_parameters()
