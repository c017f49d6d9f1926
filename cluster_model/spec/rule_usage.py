"""Record of the versioned rules that a cluster reads, to know which rules cannot matter to a run.

While rules are recorded, :attr:`~cluster_model.spec.cluster_spec.ClusterSpec.profile` is a profile that notes every
rule that is read. A run that never reads a rule is the same with this rule switched on or off.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from typing import Any, Final

from cluster_model.protocol.versions import CLIENT_RULES, FLAGS, ClientProfile, Profile

_BROKER_RULES: Final = frozenset(flag.name for flag in FLAGS)
_READ: Final[ContextVar[set[str] | None]] = ContextVar("rules read", default=None)


@contextmanager
def recorded_rules() -> Iterator[set[str]]:
    """Record the rules that are read within the block; the set grows while it runs."""
    names: set[str] = set()
    token = _READ.set(names)
    try:
        yield names
    finally:
        _READ.reset(token)


def observed(profile: Profile) -> Profile:
    """Return a profile with the same rules that notes which of them are read, or the same one outside a recording."""
    names = _READ.get()
    return profile if names is None else _around(profile, names)


class _ObservedProfile(Profile):
    """A profile whose rules are noted as they are read; equal to itself alone, so that no cache hides a read."""

    __slots__ = ("_clients", "_names", "_plain", "_views")
    _plain: Profile
    _names: set[str]
    _views: dict[str, Profile]
    _clients: dict[str, ClientProfile]

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute; note it if it is a rule."""
        if name in _BROKER_RULES:
            object.__getattribute__(self, "_names").add(name)
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        """Return whether it is the very same object."""
        return self is other

    def __hash__(self) -> int:
        """Return a hash by identity."""
        return object.__hash__(self)

    def client_of(self, version: str) -> ClientProfile:
        """Return the profile of the clients of a release, which is observed, too."""
        if version not in self._clients:
            plain = self._plain.client_of(version)
            values = (getattr(plain, each.name) for each in fields(ClientProfile))
            client = _ObservedClientProfile(*values)
            object.__setattr__(client, "_names", self._names)
            self._clients[version] = client
        return self._clients[version]

    def for_client(self, version: str) -> Profile:  # type: ignore[override]
        """Return the rules between this cluster and a client of another release, which are observed, too."""
        if not version:
            return self
        if version not in self._views:
            self._views[version] = _around(self._plain.for_client(version), self._names)
        return self._views[version]


class _ObservedClientProfile(ClientProfile):
    """A client's profile whose rules are noted as they are read."""

    __slots__ = ("_names",)
    _names: set[str]

    def __getattribute__(self, name: str) -> Any:
        """Return an attribute; note it if it is a rule."""
        if name in CLIENT_RULES:
            object.__getattribute__(self, "_names").add(name)
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        """Return whether it is the very same object."""
        return self is other

    def __hash__(self) -> int:
        """Return a hash by identity."""
        return object.__hash__(self)


def _around(profile: Profile, names: set[str]) -> Profile:
    found = _ObservedProfile(*(getattr(profile, each.name) for each in fields(Profile)))
    for name, value in (("_plain", profile), ("_names", names), ("_views", {}), ("_clients", {})):
        object.__setattr__(found, name, value)
    return found
