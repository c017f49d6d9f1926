"""``floodmark spark``: the cache with which Spark starts faster."""

from collections.abc import Callable
from typing import NoReturn

import typer

from tui.terminal.self_command import command


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the commands; ``end`` does what a command does and leaves with its exit code."""
    group = typer.Typer(
        help="Make reports start faster, by a cache of what Spark's JVM loads.",
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.add_typer(group, name="spark")

    @group.command("warm")
    def _warm() -> None:
        """Make the cache, once: about a minute and 200 MB. Every report uses it from then on.

        It is for this Java, PySpark and environment; make it again when one of them is another. Needs Java 25, such as
        the one that came with floodmark. Exit code 0: it is made. 2: no such Java, or no place to keep it.
        """
        end(lambda: _run("warm"))

    @group.command("status")
    def _status() -> None:
        """Tell which caches there are, and whether one fits. Exit code 0: one does. 1: none."""
        end(lambda: _run("status"))

    @group.command("clear")
    def _clear() -> None:
        """Remove every cache."""
        end(lambda: _run("clear"))


def _run(action: str) -> int:
    from tui.cli.runs.reporting import run_to_its_end  # noqa: PLC0415

    return run_to_its_end([*command("spark_report.cache_command"), action])
