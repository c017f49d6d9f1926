"""Help without frames: what draws them reads a Markdown parser first, and takes longer than all else of it."""

from typing import Any

from typer.core import TyperGroup


class Commands(TyperGroup):
    """Commands, of which the list tells in whole sentences."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Each with the first paragraph of its help."""
        told = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, " ".join((each.help or "").split("\n\n")[0].split())) for name, each in told if each is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
