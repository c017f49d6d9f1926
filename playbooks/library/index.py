"""Index of the bundled playbooks with name, title, theme and tags, and the themes and tags that exist.

Every bundled playbook has exactly one theme among its tags, and only tags of this module.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from playbooks.library.bundled import names, path_of
from playbooks.text import fits

THEMES: Final[dict[str, str]] = {
    "durability": "Which acknowledged records survive crashes, elections and truncations.",
    "partitions": "Network partitions, paused processes, and partial failures.",
    "controller": "Controllers that are down, slow, or without a majority.",
    "operations": "Restarts, reassignments and other operations, and their effects.",
    "producers": "Duplicates, late and reordered records, and transactions.",
    "consumers": "Records that groups read, read again, or skip.",
    "traces": "Textbook traces, one protocol action per step, each with a table of every broker's state.",
}
"""Theme → description of its playbooks, in listing order."""

TITLES: Final[dict[str, str]] = {
    "partitions": "Partitions and pauses",
    "producers": "Producers and transactions",
}
"""Headings of the themes whose heading is not just their name."""

TAGS: Final[dict[str, str]] = {
    # Faults.
    "crash": "a process is killed",
    "power-loss": "a machine loses power, with all unflushed data",
    "partition": "some nodes cannot reach others",
    "pause": "a process pauses and resumes later",
    "shutdown": "a clean shutdown",
    "disk": "a disk is full, or slow",
    "slow-network": "links are slow",
    "clock": "a clock is wrong",
    "session": "ZooKeeper ends a session",
    "no-fault": "no fault: only the load, or a wrong configuration",
    # Mechanisms.
    "acks-0": "a producer without acknowledgements",
    "acks-1": "a producer acknowledged by the leader alone",
    "acks-all": "a producer acknowledged by all in-sync replicas",
    "min-isr": "min.insync.replicas",
    "isr": "which replicas are in sync, and changes of the ISR",
    "unclean-election": "a leader from outside the ISR",
    "elr": "eligible leader replicas (KIP-966)",
    "flush": "data on disk, not only in the page cache",
    "high-watermark": "which records count as committed, and when brokers learn of it",
    "truncation": "where a replica truncates its log, and by which rule",
    "fencing": "rejecting outdated leaders, producers and members",
    "zombie": "a leader, producer or member that has been replaced without knowing",
    "quorum": "a majority of controllers, or of the ensemble",
    "kraft": "specific to a KRaft quorum",
    "zookeeper": "specific to ZooKeeper mode",
    "placement": "assignment of replicas to brokers",
    "reassignment": "moving replicas between brokers",
    "throttle": "replication quotas",
    "rolling-restart": "restarting one broker after another",
    "upgrade": "brokers of two releases in one cluster",
    "decommission": "removing brokers permanently",
    "guards": "limits on fault injection",
    "idempotence": "idempotent producers, and leaders that detect duplicates",
    "transactions": "records committed or aborted together",
    "rebalance": "members join, leave, and exchange partitions",
    "static-members": "members with a group.instance.id",
    "auto-commit": "offsets committed in the background",
    "offsets": "committed offsets, and where they are stored",
    "reset": "an invalid position, and auto.offset.reset",
    "retention": "records deleted by age",
    "lag": "consumers that are behind",
    "keys": "partitioning by key",
    # Results.
    "safe": "no guaranteed record is lost",
    "loss": "acknowledged records are lost",
    "silent": "without any error",
    "unavailable": "clients temporarily cannot write or read",
    "divergence": "logs with different records at one offset",
    "duplicates": "records written or processed twice",
    "reordering": "records written after later ones",
    "exactly-once": "each record takes effect once",
    "at-least-once": "records may be processed again",
    "at-most-once": "records may never be processed",
    # Kinds of playbooks.
    "matrix": "run over a grid of settings or versions",
}
"""Tag → description. Themes are tags, too."""


def theme_of(tags: Iterable[str]) -> str:
    """Return the theme among these tags, the first if there are several; empty if there is none."""
    return next((tag for tag in tags if tag in THEMES), "")


def heading(theme: str) -> str:
    """Return the heading of a theme."""
    return TITLES.get(theme, theme.capitalize())


# The index of bundled playbooks: name, title, theme and tags, read from the head of each file.
#
# Reading all of them in full takes seconds, so nothing is validated here; :mod:`playbooks.parser.loader` does that.


_HEAD: Final = ("title:", "tags:", "stepping:")
"""Keys that are read, each on one line of its own."""
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The faster of the two loaders: for lines as simple as these the results are the same."""


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """Entry of the index for one playbook."""

    name: str
    title: str
    theme: str
    tags: tuple[str, ...]
    manual: bool
    """Whether it uses manual stepping."""

    def fits(self, words: str) -> bool:
        """Return whether the words of a search filter fit this entry."""
        return fits(words, " ".join((self.name, self.title, heading(self.theme), *self.tags)))


@cache
def library_entries() -> tuple[LibraryEntry, ...]:
    """Return all bundled playbooks, by theme in the order of the themes, then by name."""
    order = list(THEMES)
    return tuple(sorted(map(_shelved, names()), key=lambda each: (order.index(each.theme), each.name)))


def _shelved(name: str) -> LibraryEntry:
    head = _head(path_of(name))
    tags = tuple(head.get("tags", ()))
    return LibraryEntry(name, str(head.get("title", "")), theme_of(tags), tags, head.get("stepping") == "manual")


def _head(path: Path) -> dict[str, Any]:
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("steps:"):
            break
        if line.startswith(_HEAD):
            lines.append(line)
    found: dict[str, Any] = yaml.load("\n".join(lines), Loader=_LOADER) or {}
    return found
