"""Description of a bug in released Kafkas: affected releases, effect, what is seen, and what helps."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from cluster_model.protocol.releases import PATCH_RELEASES, RELEASES, ReleaseRule, Version, is_within, number_of
from cluster_model.protocol.versions import CLIENT_RULES, FLAG_BY_NAME, Mode, modes_of

Effect = Literal["durability", "availability", "order", "delivery", "stuck group"]
EFFECTS: Final[dict[Effect, str]] = {
    "durability": "records or commits that were acknowledged are lost",
    "availability": "clients cannot write or read, though enough brokers are up",
    "order": "records are written after later ones",
    "delivery": "records are processed twice, late, or never",
    "stuck group": "members of a group wait, fail, or have no partitions",
}
"""Effect of an issue → its meaning."""


@dataclass(frozen=True)
class KnownIssue:
    """A bug that the model reproduces in the releases that have it."""

    number: str
    """Its number, such as ``KAFKA-9338``."""
    title: str
    """What goes wrong, in one sentence without a full stop."""
    effect: Effect
    rule: str
    """Name of the rule that is the bug or, with ``since``, that is the fix."""
    seen: str
    """What an operator sees."""
    workaround: str
    """What helps without an upgrade."""
    needs: str = ""
    """What a cluster or client must use to be affected, empty for nothing special."""
    since: Version | None = None
    """First affected release where ``rule`` is the fix."""
    until: Version | None = None
    """Last affected line or patch where ``rule`` is the fix and later releases have another one."""
    mode: Mode | None = None
    """Controller mode that is affected, None for both."""
    in_upgrades: bool = False
    """Whether it is of rolling upgrades: affected are clusters some of whose brokers have an affected release."""

    @property
    def playbook(self) -> str:
        """Name of the bundled playbook that shows it on both sides: ``kafka-9338``."""
        return self.number.lower()

    @property
    def setting(self) -> str:
        """Setting of its playbook that chooses the release: of the cluster, or the one that brokers upgrade to."""
        return "to" if self.in_upgrades else "cluster.kafka"

    @property
    def is_of_clients(self) -> bool:
        """Whether the release of a client decides, not that of the brokers."""
        return self.rule in CLIENT_RULES

    @property
    def _rule(self) -> ReleaseRule:
        return FLAG_BY_NAME[self.rule]

    def affects(self, number: Version) -> bool:
        """Return whether a patch release has the bug."""
        holds = self._rule.holds(number)
        return holds if self.since is None else is_within(number, self.since, self.until) and not holds

    @property
    def fixed_value(self) -> bool:
        """Value of the rule without the bug."""
        return self.since is not None

    @cached_property
    def affected(self) -> tuple[str, ...]:
        """Affected release lines and patches, oldest first; a line is affected if its last patch is."""
        return tuple(
            name
            for name in RELEASES
            if self.affects(number_of(name)) and (self.mode is None or self.mode in modes_of(name))
        )

    @cached_property
    def fixed(self) -> tuple[str, ...]:
        """First release of each line without the bug after one with it; empty where no release has a fix."""
        fixes: dict[Version, str] = {}
        had = False
        for name in PATCH_RELEASES:
            number = number_of(name)
            if self.affects(number):
                had = True
            elif had and number[:-1] not in fixes:
                fixes[number[:-1]] = name
        return _without_successors(tuple(fixes.values()))

    @property
    def is_open(self) -> bool:
        """Whether the newest release has it."""
        return self.affects(number_of(PATCH_RELEASES[-1]))

    def fixed_after(self, release: str) -> str:
        """Return the first release with the fix that is newer than an affected one, empty for none."""
        return next((name for name in self.fixed if number_of(name) > number_of(release)), "")


def _without_successors(fixed: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the first release of every line whose line before was fixed from its first release on, too."""
    kept = list(fixed)
    while len(kept) > 1 and all(number_of(name)[-1] == 0 for name in kept[-2:]):
        kept.pop()
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class UnmodelledIssue:
    """A bug that the model cannot express."""

    number: str
    title: str
    affected: str
    """Affected releases as in a playbook: ``2.8-3.9.1, 4.0.0``."""
    fixed: str
    """Releases with the fix, comma-separated."""
    reason: str
    """Why the model cannot express it."""
