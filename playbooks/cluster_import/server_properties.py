"""Reader of a node's ``server.properties``: id, rack, roles, quorum or ensemble, and its static configuration.

A file of a node that is only a controller (``process.roles=controller``) adds to the quorum and is no broker.
"""

import re
from typing import Final

import javaproperties

from playbooks.cluster_import.description import ClusterDescription, GivenValue, Place
from playbooks.errors import PlaybookError, Problem, shown

_ID: Final = re.compile(r"\d{1,10}", re.ASCII)
_VOTER: Final = re.compile(r"\s*(\d{1,10})@[^,]+", re.ASCII)
_ASSIGNMENT: Final = re.compile(r"\s*[A-Za-z][A-Za-z0-9._-]*\s*[=:].*")


def is_server_properties(text: str, path: str) -> bool:
    """Return whether a file looks like the properties of a node: by its name, or as every line is an assignment."""
    if path.endswith(".properties"):
        return True
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(("#", "!"))]
    return bool(lines) and all(_ASSIGNMENT.match(line) for line in lines)


def read_server_properties(text: str, path: str) -> ClusterDescription:
    """Return what the file says of its node and of the cluster.

    Raises:
        PlaybookError: a file that is not one of properties, or has no valid id, with the line.
    """
    reader = _NodePropertiesReader(path, read_properties(text, path))
    description = reader.read()
    if reader.problems:
        raise PlaybookError(reader.problems)
    return description


def read_properties(text: str, path: str) -> dict[str, GivenValue]:
    """Return the properties of a file with their lines; a repeated one has its last value, as in Java.

    Raises:
        PlaybookError: an escape that is not one of Java's.
    """
    properties: dict[str, GivenValue] = {}
    line = 1
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                properties[element.key] = GivenValue(element.value.strip(), Place(path, line))
            line += element.source.count("\n") or 1
    except javaproperties.InvalidUEscapeError as error:
        message = f"found the escape {shown(error.escape)}, expected \\u and four hexadecimal digits"
        raise PlaybookError([Problem(path, line, 1, "", message)]) from None
    return properties


class _NodePropertiesReader:
    """Reader of one file's properties; errors are collected."""

    def __init__(self, path: str, properties: dict[str, GivenValue]) -> None:
        self._place = Place(path)
        self._properties = properties
        self.problems: list[Problem] = []

    def read(self) -> ClusterDescription:
        description = ClusterDescription()
        roles = self._roles()
        number = self._id()
        if "process.roles" in self._properties:
            description.mode = GivenValue("kraft", self._properties["process.roles"].place)
        elif "zookeeper.connect" in self._properties:
            description.mode = GivenValue("zookeeper", self._properties["zookeeper.connect"].place)
        self._quorum(description, number, roles)
        description.protocol = self._properties.get("inter.broker.protocol.version")
        if number is None or "broker" not in roles:
            return description
        broker = description.broker(number, self._place)
        rack = self._properties.get("broker.rack")
        broker.rack = rack.value if rack is not None and rack.value else None
        broker.configs = {name: given for name, given in self._properties.items() if name not in _OF_THE_NODE}
        return description

    def _roles(self) -> set[str]:
        given = self._properties.get("process.roles")
        if given is None:
            return {"broker"}
        roles = {role.strip() for role in given.value.split(",")}
        if not roles <= {"broker", "controller"} or not roles:
            message = f"found {shown(given.value)}, expected process.roles of broker, controller or both"
            self.problems.append(given.place.problem(message))
        return roles

    def _id(self) -> int | None:
        """Return the node's id; both names may be given if they agree (KIP-500)."""
        given = [self._properties[name] for name in ("node.id", "broker.id") if name in self._properties]
        if not given or given[0].value == "-1":
            place = given[0].place if given else self._place
            message = (
                "found no node.id and no broker.id, expected the node's id (see meta.properties if it is generated)"
            )
            self.problems.append(place.problem(message))
            return None
        if not _ID.fullmatch(given[0].value) or given[-1].value != given[0].value:
            wrong = given[-1] if _ID.fullmatch(given[0].value) else given[0]
            self.problems.append(wrong.place.problem(f"found {shown(wrong.value)}, expected one node id, from 0"))
            return None
        return int(given[0].value)

    def _quorum(self, description: ClusterDescription, number: int | None, roles: set[str]) -> None:
        """Add the quorum that the file names, or the ensemble; with dynamic quorums a node only names itself."""
        voters = self._properties.get("controller.quorum.voters")
        if voters is not None and voters.value:
            parts = [_VOTER.fullmatch(part) for part in voters.value.split(",")]
            ids = [int(part[1]) for part in parts if part is not None]
            if len(ids) < len(parts) or len(set(ids)) < len(ids):
                message = f"found {shown(voters.value)}, expected voters such as 1@host:9093,2@host:9093, each once"
                self.problems.append(voters.place.problem(message))
            description.voters, description.voters_place = tuple(sorted(ids)), voters.place
        elif number is not None and "controller" in roles:
            description.controllers.add(number)
        ensemble = self._properties.get("zookeeper.connect")
        if ensemble is not None and "process.roles" not in self._properties:
            description.zookeepers = len([host for host in ensemble.value.split("/")[0].split(",") if host.strip()])


_OF_THE_NODE: Final = frozenset(
    {
        "node.id", "broker.id", "broker.rack", "process.roles", "controller.quorum.voters", "zookeeper.connect",
        "inter.broker.protocol.version",
    }
)  # fmt: skip
"""Properties that are not configurations of the cluster file, but brokers, quorum and release in it."""
