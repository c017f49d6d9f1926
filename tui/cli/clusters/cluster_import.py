"""``floodmark cluster import``: a cluster file from what tools, files or the cluster itself say of a cluster."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import typer

from cluster_model.protocol.releases import RELEASES, unknown_hint
from playbooks.cluster_import import (
    FORMATS,
    ClusterDescription,
    ClusterFile,
    ClusterSupplement,
    LiveClusterError,
    MissingAnswerError,
    cluster_file,
    merged,
    read_inputs,
    read_live_cluster,
)
from playbooks.errors import BAD_INPUT, OK, os_error_text, shown
from playbooks.parser.document.field_types import NAME_PATTERN
from tui.output.command_end import exit_code_of
from tui.output.console import print_document, print_error, print_line, stderr_console

_RACK: Final = re.compile(r"(\d{1,10})=(.+)", re.ASCII)
STANDARD_OUTPUT: Final = "-"


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Arguments of the command."""

    inputs: Sequence[str] = ()
    bootstrap: str = ""
    properties: str | None = None
    kafka: str | None = None
    mode: str | None = None
    racks: Sequence[str] = ()
    name: str | None = None
    anonymous: bool = False
    output: str = "cluster.yaml"
    overwrite: bool = False


def run_import(request: ImportRequest) -> int:
    """Write the cluster file; return 0, or 2 for bad input."""
    wrong = _wrong(request)
    if wrong:
        print_error(wrong)
        return BAD_INPUT
    return exit_code_of(lambda: _run(request))


def _wrong(request: ImportRequest) -> str:
    """Return why the arguments do not fit together, empty if they do."""
    if not request.inputs and not request.bootstrap:
        return f"nothing to import, expected --bootstrap HOST:PORT or files: {FORMATS}"
    if request.properties is not None and not request.bootstrap:
        return "found --command-config without --bootstrap, expected both: it is for the connection to a live cluster"
    if request.kafka is not None and request.kafka not in RELEASES:
        return f"no Kafka version {shown(request.kafka)}{unknown_hint(request.kafka)}; see: floodmark profiles"
    if request.mode is not None and request.mode not in ("kraft", "zookeeper"):
        return f"found --mode {shown(request.mode)}, expected kraft or zookeeper"
    wrong = [rack for rack in request.racks if _RACK.fullmatch(rack) is None]
    if wrong:
        return f"found --rack {shown(wrong[0])}, expected a broker and its rack, such as 1=eu-west-1a"
    if not re.fullmatch(NAME_PATTERN, _name(request), re.ASCII):
        return f"found the name {shown(_name(request))}, expected letters, digits, dots, dashes or underscores"
    if request.output != STANDARD_OUTPUT and Path(request.output).exists() and not request.overwrite:
        return f"{request.output} exists, expected a new file, or --force to write over it"
    return ""


def _name(request: ImportRequest) -> str:
    if request.name is not None:
        return request.name
    return "cluster" if request.output == STANDARD_OUTPUT else Path(request.output).stem


def _run(request: ImportRequest) -> int:
    try:
        described = [read_inputs(request.inputs)] if request.inputs else []
        if request.bootstrap:
            described.insert(0, read_live_cluster(request.bootstrap, request.properties))
    except LiveClusterError as error:
        print_error(str(error))
        return BAD_INPUT
    racks = {int(match[1]): match[2] for match in map(_RACK.fullmatch, request.racks) if match is not None}
    supplement = ClusterSupplement(_name(request), request.kafka, request.mode, racks, request.anonymous)
    sources = [*([request.bootstrap] if request.bootstrap else []), *(Path(path).name for path in request.inputs)]
    built = _built(merged(described), supplement, sources)
    if isinstance(built, str):
        print_error(built)
        return BAD_INPUT
    if request.output == STANDARD_OUTPUT:
        print_document(built.text)
    else:
        try:
            Path(request.output).write_text(built.text, "utf-8")
        except OSError as error:
            print_error(os_error_text(error))
            return BAD_INPUT
    _tell(request.output, built)
    return OK


def _built(description: ClusterDescription, supplement: ClusterSupplement, sources: Sequence[str]) -> ClusterFile | str:
    """Return the file, or an error; what is missing is asked for on a terminal."""
    try:
        return cluster_file(description, supplement, sources)
    except MissingAnswerError as error:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return str(error)
    kafka = typer.prompt("Kafka release of the cluster, such as 3.9.1", err=True)
    if kafka not in RELEASES:
        return f"no Kafka version {shown(kafka)}{unknown_hint(kafka)}; see: floodmark profiles"
    return cluster_file(description, replace(supplement, kafka=kafka), sources)


def _tell(output: str, built: ClusterFile) -> None:
    console = stderr_console()
    where = "standard output" if output == STANDARD_OUTPUT else output
    print_line(console, f"wrote {where}: {built.summary}")
    for note in built.notes:
        print_line(console, f"note: {note}")
    if output != STANDARD_OUTPUT:
        print_line(console, f"Use it in a playbook with cluster: {{from: {Path(output).name}}}")
