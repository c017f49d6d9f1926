"""What can be looked up: the library, faults, invariants, profiles, configurations, the keys of a playbook."""

from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from tui.cli.commands import completed_names as known
from tui.cli.commands import invariants

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def register(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the commands; ``end`` does what a command does and leaves with its exit code."""
    _register_library(app, end)
    _register_faults(app, end)
    invariants.register(app)
    _register_kafka(app, end)
    _register_keys(app, end)


def _register_library(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    @app.command("library")
    def _library(
        name: Annotated[
            str | None, typer.Argument(help="Tell all about this one.", autocompletion=known.playbooks)
        ] = None,
        tag: Annotated[str | None, typer.Option(metavar="TAG", help="Only those with this tag, such as loss.")] = None,
        kafka: Annotated[
            str | None,
            typer.Option(
                metavar="VERSION",
                help="Only those expected to pass under this version.",
                autocompletion=known.versions,
            ),
        ] = None,
        yaml: Annotated[bool, typer.Option("--yaml", help="Print the file itself.")] = False,
        json: JsonOption = False,
    ) -> None:
        """List the bundled playbooks by theme, or tell all about one."""
        from tui.cli.reference.library import (
            Wanted,  # noqa: PLC0415
            library,  # noqa: PLC0415
        )

        end(lambda: library(Wanted(name, tag, kafka, yaml, json)))


def _register_faults(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    @app.command("faults")
    def _faults(
        name: Annotated[
            str | None, typer.Argument(help="Tell all about this one.", autocompletion=known.faults)
        ] = None,
        family: Annotated[
            str | None, typer.Option(metavar="FAMILY", help="Only one family's, such as links or 'control plane'.")
        ] = None,
        json: JsonOption = False,
    ) -> None:
        """List the faults by family, the operations and the targets, or tell all about one."""
        from tui.cli.reference.catalogue import faults  # noqa: PLC0415

        end(lambda: faults(name, family=family, json=json))


def _register_kafka(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    @app.command("profiles")
    def _profiles(
        version: Annotated[
            str | None, typer.Argument(help="Tell the rules of this one.", autocompletion=known.versions)
        ] = None,
        card: Annotated[
            bool, typer.Option("--card", help="Print the fidelity card: what is modelled, after what, and what is not.")
        ] = False,
        json: Annotated[bool, typer.Option("--json", help="Print the card as one JSON document on stdout.")] = False,
    ) -> None:
        """List the Kafka versions that can be modelled and their rules, or the rules of one.

        With --card: each area of rules with the versions that it is for, its sources, the tests that pin it, and what
        of it is not modelled. Of one version: the areas that it has.
        """
        from tui.cli.reference.card_lines import print_card  # noqa: PLC0415
        from tui.cli.reference.catalogue import profiles  # noqa: PLC0415

        end(lambda: print_card(version, json=json) if card or json else profiles(version))

    @app.command("configs")
    def _configs(
        scope: Annotated[
            str | None, typer.Argument(help="Only those of a broker, topic, producer or consumer.", metavar="[SCOPE]")
        ] = None,
    ) -> None:
        """List Kafka's configurations that can be set, with what each takes."""
        from tui.cli.reference.catalogue import configs  # noqa: PLC0415

        end(lambda: configs(scope))


def _register_keys(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    @app.command("keys")
    def _keys(
        place: Annotated[
            str | None, typer.Argument(metavar="[PLACE]", help="Such as cluster, producers, steps or expect.")
        ] = None,
        json: JsonOption = False,
    ) -> None:
        """List the keys that a playbook may have at a place, with what each takes."""
        from tui.cli.reference.keys import keys  # noqa: PLC0415

        end(lambda: keys(place, json=json))

    @app.command("schema")
    def _schema() -> None:
        """Print the JSON Schema of playbooks, for editors."""
        from tui.cli.reference.keys import schema  # noqa: PLC0415

        end(schema)
