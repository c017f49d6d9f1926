"""Inputs of an import: files and folders, whose formats are recognized by their content."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from playbooks.cluster_import.description import MAX_INPUT_BYTES, ClusterDescription, merged
from playbooks.cluster_import.kafka_tools import is_tool_output, read_tool_output
from playbooks.cluster_import.kcat import is_kcat_output, read_kcat_output
from playbooks.cluster_import.server_properties import is_server_properties, read_server_properties
from playbooks.cluster_import.strimzi import is_strimzi, read_strimzi
from playbooks.errors import PlaybookError, Problem

STANDARD_INPUT: Final = "-"
FORMATS: Final = (
    "the output of kafka-topics --describe, kafka-configs --describe --all, kafka-metadata-quorum describe --status or "
    "kcat -L -J, a server.properties, or resources of Strimzi"
)


def read_inputs(paths: Iterable[str]) -> ClusterDescription:
    """Return what all files say together; ``-`` is standard input, a folder stands for the ``.properties`` in it.

    Raises:
        PlaybookError: files that cannot be read or are not understood, or that contradict each other.
    """
    problems: list[Problem] = []
    descriptions: list[ClusterDescription] = []
    for path in paths:
        try:
            descriptions += [_read(each) for each in _files(path)]
        except PlaybookError as error:
            problems += error.problems
    if problems:
        raise PlaybookError(problems)
    return merged(descriptions)


def _files(path: str) -> list[str]:
    """Return a file, or the files of properties in a folder and its subfolders, which may be one for each node."""
    if path == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    found = sorted(str(each) for each in Path(path).rglob("*.properties") if each.is_file())
    nodes = [each for each in found if Path(each).name != "meta.properties" and _is_of_a_node(each)]
    if not nodes:
        message = "found no server.properties, expected files *.properties with node.id or broker.id"
        raise PlaybookError([Problem(path, 0, 0, "", message)])
    return nodes


def _is_of_a_node(path: str) -> bool:
    """Return whether a file of properties is that of a broker or controller; folders have those of tools as well."""
    return any(line.lstrip().startswith(("node.id", "broker.id", "process.roles")) for line in _text(path).split("\n"))


def _text(path: str) -> str:
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_INPUT_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise PlaybookError([Problem(path, 0, 0, "", f"cannot be read: {reason or error}")]) from None
    if len(data) > MAX_INPUT_BYTES:
        raise PlaybookError([Problem(path, 0, 0, "", f"found more than {MAX_INPUT_BYTES} bytes, the most allowed")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"found the byte 0x{data[error.start]:02x}, expected UTF-8 text"
        raise PlaybookError([Problem(path, line, 1, "", message)]) from None


def _read(path: str) -> ClusterDescription:
    text = _text(path)
    shown_path = "standard input" if path == STANDARD_INPUT else path
    if not text.strip():
        raise PlaybookError([Problem(shown_path, 0, 0, "", f"found nothing, expected {FORMATS}")])
    if is_tool_output(text):
        return read_tool_output(text, shown_path)
    if is_kcat_output(text):
        return read_kcat_output(text, shown_path)
    if is_strimzi(text):
        return read_strimzi(text, shown_path)
    if is_server_properties(text, path):
        return read_server_properties(text, shown_path)
    raise PlaybookError([Problem(shown_path, 1, 1, "", f"found text of no known format, expected {FORMATS}")])
