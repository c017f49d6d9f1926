"""Command-line options of the reference commands: library, faults, invariants, profiles, configs, keys, settings."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from playbooks.errors import BAD_INPUT, OK
from tui.cli.commands import options as known
from tui.output.console import print_document, print_error, print_line, stdout_console, table

if TYPE_CHECKING:
    from cluster_model.checker.invariants import InvariantDefinition


# ``floodmark invariants``: the checked safety invariants, and the versions that guarantee them.


def register_invariants(app: typer.Typer) -> None:
    """Add the command to ``app``."""

    @app.command("invariants")
    def _invariants(
        name: Annotated[
            str | None,
            typer.Argument(metavar="[NAME]", help="Show details of this one.", autocompletion=known.invariants),
        ] = None,
        json: Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")] = False,
    ) -> None:
        """List the safety invariants and the versions that guarantee them, or show details of one."""
        raise typer.Exit(invariants(name, json=json))


def invariants(name: str | None, *, json: bool = False) -> int:
    """List the safety invariants that are checked, or show details of one; return the exit code."""
    from cluster_model.checker.invariants import DEFINITIONS  # noqa: PLC0415
    from playbooks.errors import nearest, shown  # noqa: PLC0415
    from tui.output.command_end import to_text  # noqa: PLC0415

    if name is not None and name not in DEFINITIONS:
        print_error(f"no invariant {shown(name)}{nearest(name, DEFINITIONS)}; see: floodmark invariants")
        return BAD_INPUT
    chosen = [each for each in DEFINITIONS.values() if name in (None, each.name)]
    if json:
        entries = [_entry(each) for each in chosen]
        print_document(to_text(entries if name is None else entries[0]))
    elif name is not None:
        _tell(chosen[0])
    else:
        _list(chosen)
    return OK


def _list(chosen: "list[InvariantDefinition]") -> None:
    from playbooks.reference_text import guaranteed_versions_text  # noqa: PLC0415

    rows = [(each.name, guaranteed_versions_text(each), each.title) for each in chosen]
    table(stdout_console(), ("invariant", "guaranteed by", "title"), rows)


def _tell(definition: "InvariantDefinition") -> None:
    from playbooks.reference_text import fixes_text, guaranteed_versions_text, stricter_guarantees  # noqa: PLC0415

    console = stdout_console()
    print_line(console, f"{definition.name}: {definition.title}", "bold")
    print_line(console, definition.statement)
    rows = [("guaranteed", f"by {guaranteed_versions_text(definition)}")]
    rows += [("", f"{where}: {words}") for where, words in stricter_guarantees(definition)]
    rows += [("fixed by", text) for text in fixes_text(definition)]
    rows += [("exceptions", definition.exceptions)] if definition.exceptions else []
    rows.append(("source", definition.source))
    before = ""
    for head, text in rows:
        print_line(console, f"{head if head != before else '':<11}{text}")
        before = head


def _entry(definition: "InvariantDefinition") -> dict[str, Any]:
    from playbooks.reference_text import PROFILES, guaranteed_versions_text, known_violation_reasons  # noqa: PLC0415

    reasons = {each.name: known_violation_reasons(definition, each) for each in PROFILES}
    return {
        "invariant": definition.name,
        "title": definition.title,
        "statement": definition.statement,
        "guaranteed_by": guaranteed_versions_text(definition),
        "exceptions": definition.exceptions,
        "source": definition.source,
        "known": {profile: texts for profile, texts in reasons.items() if texts},
    }


JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]


def register_reference(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the commands; ``end`` does what a command does and leaves with its exit code."""
    _register_library(app, end)
    _register_faults(app, end)
    register_invariants(app)
    _register_kafka(app, end)
    _register_issues(app, end)
    _register_keys(app, end)


def _register_library(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    @app.command("library")
    def _library(
        name: Annotated[
            str | None,
            typer.Argument(metavar="[NAME]", help="Show details of this playbook.", autocompletion=known.playbooks),
        ] = None,
        tag: Annotated[
            str | None, typer.Option(metavar="TAG", help="Only playbooks with this tag, such as loss.")
        ] = None,
        kafka: Annotated[
            str | None,
            typer.Option(
                metavar="VERSION",
                help="Only playbooks expected to pass under this version.",
                autocompletion=known.versions,
            ),
        ] = None,
        yaml: Annotated[bool, typer.Option("--yaml", help="Print the YAML file.")] = False,
        json: JsonOption = False,
    ) -> None:
        """List the bundled playbooks by theme, or show details of one."""
        from tui.cli.reference.library import LibraryOptions, library  # noqa: PLC0415

        end(lambda: library(LibraryOptions(name, tag, kafka, yaml, json)))


def _register_faults(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    @app.command("faults")
    def _faults(
        name: Annotated[
            str | None,
            typer.Argument(metavar="[NAME]", help="Show details of this fault.", autocompletion=known.faults),
        ] = None,
        family: Annotated[
            str | None, typer.Option(metavar="FAMILY", help="Only this family, such as links or 'control plane'.")
        ] = None,
        json: JsonOption = False,
    ) -> None:
        """List faults, admin operations and targets, or show details of one."""
        from tui.cli.reference.catalogue import faults  # noqa: PLC0415

        end(lambda: faults(name, family=family, json=json))


def _register_kafka(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    @app.command("profiles")
    def _profiles(
        version: Annotated[
            str | None,
            typer.Argument(metavar="[VERSION]", help="Show the rules of this version.", autocompletion=known.versions),
        ] = None,
        card: Annotated[
            bool,
            typer.Option(
                "--card", help="Print the fidelity card: what is modelled, its sources, and what is not modelled."
            ),
        ] = False,
        diff: Annotated[
            tuple[str, str] | None,
            typer.Option(
                "--diff",
                metavar="FROM TO",
                help="Show what an upgrade from one version to another changes, fixed bugs first.",
                autocompletion=known.versions,
            ),
        ] = None,
        json: Annotated[
            bool, typer.Option("--json", help="Print the card, or the changes, as one JSON document on stdout.")
        ] = False,
    ) -> None:
        """List the modelled Kafka versions and their rules, or the rules of one version.

        A version is a release line such as 3.6, which stands for its last patch, or a patch such as 3.6.0.

        With --card: each area with its versions, its sources, the tests that check it, and what is not modelled. With a
        version: the areas of that version.
        """
        from tui.cli.reference.releases import print_card, print_changes, profiles  # noqa: PLC0415

        if diff is not None:
            end(lambda: print_changes(*diff, json=json))
        end(lambda: print_card(version, json=json) if card or json else profiles(version))

    @app.command("configs")
    def _configs(
        scope: Annotated[
            str | None,
            typer.Argument(
                help="Only configurations of this scope: broker, topic, producer or consumer.", metavar="[SCOPE]"
            ),
        ] = None,
    ) -> None:
        """List the Kafka configurations that can be set, with their types and ranges."""
        from tui.cli.reference.catalogue import configs  # noqa: PLC0415

        end(lambda: configs(scope))


def _register_issues(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    @app.command("issues")
    def _issues(
        name: Annotated[
            str | None,
            typer.Argument(
                metavar="[VERSION|ISSUE]",
                help="Only issues of this version, such as 3.6.0; or details of one, such as KAFKA-19522.",
                autocompletion=known.issues,
            ),
        ] = None,
        json: JsonOption = False,
    ) -> None:
        """List known issues of released Kafkas: affected and fixed versions, what is seen, and a playbook for each."""
        from tui.cli.reference.releases import issues  # noqa: PLC0415

        end(lambda: issues(name, json=json))


def _register_keys(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    @app.command("keys")
    def _keys(
        section: Annotated[
            str | None,
            typer.Argument(
                metavar="[SECTION]", help="Section of a playbook: cluster, producers, steps, expect and so on."
            ),
        ] = None,
        json: JsonOption = False,
    ) -> None:
        """List the keys of a section of a playbook, with their values."""
        from tui.cli.reference.catalogue import keys  # noqa: PLC0415

        end(lambda: keys(section, json=json))

    @app.command("schema")
    def _schema() -> None:
        """Print the JSON Schema of playbooks for editors."""
        from tui.cli.reference.catalogue import schema  # noqa: PLC0415

        end(schema)


# ``floodmark settings``: the user's settings file, the effective settings, and an example file.


def register_settings(app: typer.Typer, end: Callable[[Callable[[], int]], NoReturn]) -> None:
    """Add the command; ``end`` does what a command does and leaves with its exit code."""

    @app.command("settings")
    def _settings(
        example: Annotated[
            bool, typer.Option("--example", help="Print an example file with every setting commented out.")
        ] = False,
    ) -> None:
        """Show the TUI settings file and the effective settings.

        Exit code 0: the file is valid, or there is none. 2: the file has errors, which are printed.
        """
        end(print_example if example else settings)


def print_example() -> int:
    """Print the example settings file."""
    from tui.cli.reference.catalogue import example  # noqa: PLC0415 - it reads the key map

    print_document(example())
    return OK


def settings() -> int:
    """Print the path of the settings file and the effective settings; return the exit code."""
    from tui.keybindings.keymap import shown  # noqa: PLC0415 - it reads the key map
    from tui.settings.schema import OPTIONS, written  # noqa: PLC0415
    from tui.settings.settings_file import read_settings  # noqa: PLC0415

    settings_file = read_settings()
    console = stdout_console()
    print_line(
        console,
        f"{settings_file.path}{'' if settings_file.exists else '  (no such file: all settings have their defaults)'}",
    )
    rows = [
        (
            f"screen.{each.name}",
            written(settings_file.settings.value(each.name)),
            _from(each.name in settings_file.given),
        )
        for each in OPTIONS
    ]
    rows += [(f"keys.{name}", shown(",".join(keys)), _from(True)) for name, keys in settings_file.settings.keys.items()]
    table(console, ("setting", "value", "from"), rows)
    for note in settings_file.notes:
        print_line(console, f"note: {note}")
    for problem in settings_file.problems:
        print_error(problem)
    return BAD_INPUT if settings_file.problems else OK


def _from(given: bool) -> str:
    return "file" if given else "default"
