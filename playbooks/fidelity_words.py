"""The fidelity card in words, for the terminal, JSON and the page."""

from typing import Any

from cluster_model.fidelity import AREAS, Area
from cluster_model.protocol.versions import FLAGS, PROFILE_VERSIONS, Flag, Profile, modes_of

_MEANING = {flag.name: flag for flag in FLAGS}


def versions(area: Area) -> str:
    """The releases that have an area at all: ``0.11+``, ``0.8.2-3.9 in ZooKeeper mode``."""
    mode = {"both": "", "kraft": " in KRaft mode", "zookeeper": " in ZooKeeper mode"}[area.modes]
    return f"{area.since}{f'-{area.until}' if area.until else '+'}{mode}"


def releases(flag: Flag) -> str:
    """The releases that follow a rule, as a playbook's ``kafka`` writes them: ``2.1+``, ``2.4-2.5``."""
    having = [version for version in PROFILE_VERSIONS if flag.holds(Profile.of(version).number)]
    if having[-1] == PROFILE_VERSIONS[-1]:
        return f"{having[0]}+"
    return having[0] if len(having) == 1 else f"{having[0]}-{having[-1]}"


def changes(area: Area) -> list[tuple[str, str, str]]:
    """Rules of an area that only some releases follow: name, releases, what it says."""
    return [(name, releases(_MEANING[name]), _MEANING[name].meaning) for name in area.flags]


def areas_of(version: str | None) -> list[Area]:
    """The areas of a release line; all without one."""
    if version is None:
        return list(AREAS)
    position = PROFILE_VERSIONS.index(version)
    return [
        area
        for area in AREAS
        if PROFILE_VERSIONS.index(area.since) <= position
        and (area.until is None or position <= PROFILE_VERSIONS.index(area.until))
        and (area.modes == "both" or area.modes in modes_of(version))
    ]


def document(area: Area) -> dict[str, Any]:
    """An area for machines."""
    return {
        "area": area.name,
        "what": area.what,
        "kafka": versions(area),
        "sources": area.sources,
        "rules": [{"rule": name, "kafka": kafka, "says": says} for name, kafka, says in changes(area)],
        "tests": list(area.test_ids),
        "not_modelled": list(area.left_out),
    }
