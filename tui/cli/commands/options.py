"""Shared command-line options, and functions for shell completion."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from playbooks.session_format.filesystem import Fsync

SeedOption = Annotated[int | None, typer.Option(min=0, help="Seed of all random streams; the playbook's by default.")]
FsyncOption = Annotated[
    Fsync, typer.Option("--fsync", help="When the recording is synced to disk; interval is about once a second.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
JobsOption = Annotated[
    int | None,
    typer.Option("--jobs", "--workers", "-j", min=1, max=512, help="Number of processes; one per core by default."),
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="Spark master, such as spark://host:7077 or sc://host:15002; local cores by default.",
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory", metavar="SIZE", help="Heap of the Spark driver, such as 4g; a quarter of the memory by default."
    ),
]

OutOption = Annotated[
    Path | None,
    typer.Option(file_okay=False, help="Parent directory of sessions (FLOODMARK_SESSIONS, else ./sessions)."),
]
GlyphsOption = Annotated[str | None, typer.Option(help="Glyphs of the TUI, such as ascii.")]
ThemeOption = Annotated[str | None, typer.Option(help="Colours of the TUI: dark, light, ansi.")]
SpeedOption = Annotated[float | None, typer.Option(help="Speed at the start, in virtual seconds per second.")]
ReadOnlyOption = Annotated[
    bool, typer.Option("--read-only", help="Refuse everything that changes the session, for an audience.")
]


# Shell completion: names are loaded only when a completion is requested, so that other commands start fast.


def playbooks(incomplete: str) -> list[str]:
    """Return matching bundled playbooks; the shell itself completes file names if none matches."""
    from playbooks.library.bundled import runnable_names  # noqa: PLC0415

    return _beginning(runnable_names(), incomplete)


def faults(incomplete: str) -> list[str]:
    """Return matching faults and operations."""
    from faults.catalogue import CATALOGUE  # noqa: PLC0415
    from faults.declarations import OPERATIONS  # noqa: PLC0415

    return _beginning((*CATALOGUE, *OPERATIONS), incomplete)


def versions(incomplete: str) -> list[str]:
    """Return matching Kafka versions: release lines, and patch releases of a line that is typed in full."""
    from cluster_model.protocol.releases import PATCHES  # noqa: PLC0415

    patches = [each for line in PATCHES if incomplete.startswith(f"{line}.") for each in PATCHES[line]]
    return _beginning((*PATCHES, *patches), incomplete)


def issues(incomplete: str) -> list[str]:
    """Return matching numbers of known issues, and Kafka versions."""
    from cluster_model.known_issues import KNOWN_ISSUES, UNMODELLED  # noqa: PLC0415

    numbers = [*(each.number for each in KNOWN_ISSUES), *(each.number for each in UNMODELLED)]
    return [*versions(incomplete), *_beginning(numbers, incomplete)]


def sessions(incomplete: str) -> list[str]:
    """Return matching recorded sessions, the newest first."""
    from playbooks.session_format.session_files import sessions_root, sessions_under  # noqa: PLC0415

    return _beginning((str(path) for path in reversed(sessions_under(sessions_root()))), incomplete)


def sources(incomplete: str) -> list[str]:
    """Return matching recorded sessions and bundled playbooks."""
    return sessions(incomplete) + playbooks(incomplete)


def invariants(incomplete: str) -> list[str]:
    """Return matching invariants."""
    from cluster_model.checker.invariants import DEFINITIONS  # noqa: PLC0415

    return _beginning(DEFINITIONS, incomplete)


def explorations(incomplete: str) -> list[str]:
    """Return matching bundled explorations."""
    from playbooks.model_checking import PRESETS  # noqa: PLC0415

    return _beginning(sorted(path.stem for path in PRESETS.glob("*.yaml")), incomplete)


def storms(incomplete: str) -> list[str]:
    """Return matching storm presets and bundled playbooks."""
    from playbooks.library.bundled import names, presets  # noqa: PLC0415

    return _beginning((*presets(), *names()), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
