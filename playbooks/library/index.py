"""The list of bundled playbooks with name, title, theme and tags, and the themes and tags that exist.

Every bundled playbook has exactly one theme among its tags, and no tag that is not here.
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
    "durability": "Which acknowledged records survive, and what decides it.",
    "partitions": "Networks that part, processes that stand still, failures that are half a failure.",
    "controller": "Who decides is gone, late, or not agreed upon.",
    "operations": "What people do to a cluster on purpose, and what comes of it.",
    "producers": "What is written twice, late, out of order, or in a transaction.",
    "consumers": "What groups read, read again, or never see.",
    "traces": "Classic schedules, one protocol action a step, each with a table of what every broker believes.",
}
"""Theme → what its playbooks tell, in the order in which they are listed."""

TITLES: Final[dict[str, str]] = {
    "partitions": "Partitions and pauses",
    "producers": "Producers and transactions",
}
"""Headings of the themes whose heading is not just their name."""

TAGS: Final[dict[str, str]] = {
    # What breaks.
    "crash": "a process is killed",
    "power-loss": "a machine goes dark, with what its disk had not",
    "partition": "some nodes do not hear others",
    "pause": "a process stands still and goes on later",
    "shutdown": "a process is stopped in order",
    "disk": "a disk is full, or slow",
    "slow-network": "links are slow",
    "clock": "a clock is wrong",
    "session": "ZooKeeper ends a session",
    "no-fault": "nothing breaks but the load, or a mistake in a configuration",
    # What decides.
    "acks-0": "a producer that wants no acknowledgement",
    "acks-1": "a producer that wants the leader's",
    "acks-all": "a producer that wants that of all in sync",
    "min-isr": "min.insync.replicas",
    "isr": "who is in sync, and who says so",
    "unclean-election": "a leader from outside the ISR",
    "elr": "eligible leader replicas (KIP-966)",
    "flush": "what is on the disk, and not only in the page cache",
    "high-watermark": "what counts as committed, and who knows it",
    "truncation": "what a replica cuts off its log, and by which rule",
    "fencing": "how the old is told from the new",
    "zombie": "somebody who does not know that it has been replaced",
    "quorum": "a majority of controllers, or of the ensemble",
    "kraft": "the controllers are a KRaft quorum, and it matters",
    "zookeeper": "the controller is a broker, and it matters",
    "placement": "which broker has which replica",
    "reassignment": "replicas move",
    "throttle": "replication held below a rate",
    "rolling-restart": "one broker after the other",
    "decommission": "brokers that go for good",
    "guards": "limits on the chaos itself",
    "idempotence": "producers whose records a leader knows again",
    "transactions": "records that count together or not at all",
    "rebalance": "members join, leave, and hand partitions over",
    "static-members": "members with a group.instance.id",
    "auto-commit": "offsets committed in the background",
    "offsets": "what a group has committed, and where it is kept",
    "reset": "a position that is gone, and auto.offset.reset",
    "retention": "records deleted by their age",
    "lag": "consumers that are behind",
    "keys": "which key goes to which partition",
    # What comes of it.
    "safe": "nothing that was promised is lost",
    "loss": "acknowledged records are lost",
    "silent": "nobody is told",
    "unavailable": "for a while somebody cannot write, or read",
    "divergence": "logs that differ at one offset",
    "duplicates": "records written, or handled, twice",
    "reordering": "records written behind later ones",
    "exactly-once": "each record counts once",
    "at-least-once": "records may be handled again",
    "at-most-once": "records may never be handled",
    # How it is run.
    "matrix": "run over a grid of settings or versions",
}
"""Tag → what it stands for. Themes are tags, too."""


def theme_of(tags: Iterable[str]) -> str:
    """The theme among these tags, the first if there are several; empty if there is none."""
    return next((tag for tag in tags if tag in THEMES), "")


def heading(theme: str) -> str:
    """How a theme is called where it is a heading."""
    return TITLES.get(theme, theme.capitalize())


# The bundled playbooks as a list shows them: name, title, theme and tags, read off the head of each file.
#
# Reading all of them in full takes seconds, so nothing is checked here; :mod:`playbooks.parser.loader` does that.


_HEAD: Final = ("title:", "tags:", "stepping:")
"""The keys that are read: each on one line of its own."""
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The quicker of the two: of lines as plain as these both make the same."""


@dataclass(frozen=True, slots=True)
class Shelved:
    """What a list says of one playbook."""

    name: str
    title: str
    theme: str
    tags: tuple[str, ...]
    manual: bool
    """Whether it is stepped by hand: time stands still in it."""

    def fits(self, words: str) -> bool:
        """Whether these words of a filter fit what is said of it."""
        return fits(words, " ".join((self.name, self.title, heading(self.theme), *self.tags)))


@cache
def shelf() -> tuple[Shelved, ...]:
    """All bundled playbooks, by theme in the order of the themes, then by name."""
    order = list(THEMES)
    return tuple(sorted(map(_shelved, names()), key=lambda each: (order.index(each.theme), each.name)))


def _shelved(name: str) -> Shelved:
    head = _head(path_of(name))
    tags = tuple(head.get("tags", ()))
    return Shelved(name, str(head.get("title", "")), theme_of(tags), tags, head.get("stepping") == "manual")


def _head(path: Path) -> dict[str, Any]:
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("steps:"):
            break
        if line.startswith(_HEAD):
            lines.append(line)
    found: dict[str, Any] = yaml.load("\n".join(lines), Loader=_LOADER) or {}
    return found
