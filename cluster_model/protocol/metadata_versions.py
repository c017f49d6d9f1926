"""Levels of the protocol between nodes of a cluster, as Kafka's ``ApiVersion`` and its successor ``MetadataVersion``.

In ZooKeeper mode a level is the value of ``inter.broker.protocol.version``, which each broker has in its configuration.
In KRaft mode it is the finalized level of the feature ``metadata.version``, which is the same on all nodes. Levels have
one order in both modes; those that KRaft mode supports have a number, too.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cluster_model.protocol.errors import ModelError
from cluster_model.protocol.releases import RELEASE_LINES, line_of

_INTERNAL_VERSIONS: Final = (
    ("0.8.0", 0), ("0.8.1", 0), ("0.8.2", 0), ("0.9.0", 0), ("0.10.0", 2), ("0.10.1", 3), ("0.10.2", 1), ("0.11.0", 3),
    ("1.0", 1), ("1.1", 1), ("2.0", 2), ("2.1", 3), ("2.2", 2), ("2.3", 2), ("2.4", 2), ("2.5", 1), ("2.6", 1),
    ("2.7", 3), ("2.8", 2), ("3.0", 2), ("3.1", 1), ("3.2", 1), ("3.3", 4), ("3.4", 1), ("3.5", 3), ("3.6", 3),
    ("3.7", 5), ("3.8", 1), ("3.9", 1), ("4.0", 4), ("4.1", 2), ("4.2", 2), ("4.3", 1), ("4.4", 3),
)  # fmt: skip
"""(Release as levels name it, number of its levels with a suffix -IV0, -IV1 ...); 0 is one level without a suffix.

Levels that a release knows but does not support in production are counted with the release that does.
"""
_FIRST_OF_KRAFT: Final = "3.0-IV1"
"""``MINIMUM_KRAFT_VERSION``: the level of ``metadata.version`` with the number 1."""


class MetadataVersion(NamedTuple):
    """A level of the protocol between nodes; a newer level has a higher ``order``."""

    order: int
    """Place among all levels, from 0."""
    name: str
    """As Kafka prints it: ``3.9-IV0``."""
    release: str
    """Release that introduced it, as levels name it: ``3.9``, ``0.11.0``."""
    number: int
    """Level of the feature ``metadata.version``, 0 for a level of ZooKeeper mode only."""


def _names() -> Iterator[tuple[str, str]]:
    """Yield (name, release) of all levels, oldest first."""
    for release, count in _INTERNAL_VERSIONS:
        yield from ((f"{release}-IV{index}" if count else release, release) for index in range(max(count, 1)))


def _numbered() -> Iterator[MetadataVersion]:
    names = tuple(_names())
    first = next(order for order, (name, _) in enumerate(names) if name == _FIRST_OF_KRAFT)
    for order, (name, release) in enumerate(names):
        yield MetadataVersion(order, name, release, max(order - first + 1, 0))


METADATA_VERSIONS: Final = tuple(_numbered())
"""All levels, oldest first."""

_LATEST: Final = {version.release: version for version in METADATA_VERSIONS}
"""Release as levels name it → its newest level."""
_BY_NAME: Final = {version.name: version for version in METADATA_VERSIONS} | _LATEST
_BY_NUMBER: Final = {version.number: version for version in METADATA_VERSIONS if version.number}
_LATEST_OF_LINE: Final = {line: _LATEST.get(line) or _LATEST[f"{line}.0"] for line in RELEASE_LINES}


def metadata_version(text: str) -> MetadataVersion:
    """Return the level that an operator names: ``3.9-IV0``, its release ``3.9`` or ``3.9.1``, or its number ``21``.

    A release is its newest level. As ``MetadataVersion.fromVersionString``; a number as for ``kafka-features.sh
    --feature``.

    Raises:
        ModelError: there is no such level.
    """
    segments = text.split(".")
    version = _BY_NAME.get(".".join(segments[: 3 if segments[0] == "0" else 2]))
    if version is None and text.isdecimal():
        version = _BY_NUMBER.get(int(text))
    if version is None:
        raise ModelError(
            f"unknown level {text!r}; known: {METADATA_VERSIONS[0].name} to {METADATA_VERSIONS[-1].name}, such as "
            f"3.9-IV0, or its release, 3.9, or its number, 21",
            code="no_level",
        )
    return version


def latest_of(release: str) -> MetadataVersion:
    """Return the newest level of a release line or patch: ``LATEST_PRODUCTION``, before 3.7 ``latest``.

    It is the default of ``inter.broker.protocol.version``, and the level that a new KRaft cluster is formatted with.

    Raises:
        KeyError: there is no such release.
    """
    return _LATEST_OF_LINE[line_of(release)]


def is_at_least(version: MetadataVersion, other: MetadataVersion) -> bool:
    """Return whether a level is another one or newer, as ``MetadataVersion.isAtLeast``."""
    return version.order >= other.order
