"""Options that several commands have."""

from typing import Annotated

import typer

from playbooks.session_format.filesystem import Fsync

SeedOption = Annotated[int | None, typer.Option(min=0, help="Seed of every random stream; the playbook's by default.")]
FsyncOption = Annotated[
    Fsync, typer.Option("--fsync", help="When what is recorded is forced to the disk: interval is about every second.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master", metavar="URL", help="Spark, as in spark://host:7077 or sc://host:15002; this machine's cores."
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Heap of Spark's driver, as in 4g; a quarter of the machine's."),
]
