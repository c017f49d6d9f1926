"""Text for the model coverage card and the safety invariants, for the manual and the terminal."""

from typing import Any, Final

from cluster_model.checker.invariants import CIRCUMSTANCES, InvariantDefinition
from cluster_model.fidelity import AREAS, Area
from cluster_model.protocol.releases import PATCHES, RELEASE_LINES, ReleaseRule, Version, line_of
from cluster_model.protocol.versions import FLAG_BY_NAME, Profile, modes_of
from cluster_model.util.quantities import listed

PROFILES: Final = tuple(Profile.of(version, mode) for version in RELEASE_LINES for mode in modes_of(version))
"""All versions in all their modes, oldest first."""


def guaranteed_versions_text(definition: InvariantDefinition, when: tuple[str, ...] = ()) -> str:
    """Return which versions guarantee an invariant: ``every version``, ``3.3 and later in KRaft mode``."""
    first = next((each for each in PROFILES if definition.guaranteed_by(each, when)), None)
    if first is None:
        return "no version"
    lacking = [each for each in PROFILES if each.number >= first.number and not definition.guaranteed_by(each, when)]
    mode = " in KRaft mode" if lacking else ""
    return f"{first.version} and later{mode}" if first is not PROFILES[0] else f"every version{mode}"


def stricter_guarantees(definition: InvariantDefinition) -> list[tuple[str, str]]:
    """Return the circumstances with a stricter guarantee, each with the versions that give it."""
    kinds = dict.fromkeys(fix.when for fix in definition.fixes if fix.when)
    stricter = [(CIRCUMSTANCES[kind], guaranteed_versions_text(definition, (kind,))) for kind in kinds]
    return [(where, words) for where, words in stricter if words != guaranteed_versions_text(definition)]


def fixes_text(definition: InvariantDefinition) -> list[str]:
    """Return the fixes that made an invariant hold: ``KIP-101 in 0.11``."""
    return [
        f"{fix.by} in {fix.version}" + (f" ({CIRCUMSTANCES[fix.when]})" if fix.when else "") for fix in definition.fixes
    ]


def known_violation_reasons(definition: InvariantDefinition, kafka: Profile) -> list[str]:
    """Return why a version is known to violate an invariant, by circumstance; empty if it guarantees all of it."""
    kinds = dict.fromkeys(("", *(fix.when for fix in definition.fixes)))
    found = {kind: definition.known(kafka, (kind,) if kind else ()) for kind in kinds}
    reasons = [
        text + (f" ({CIRCUMSTANCES[kind]})" if kind else "")
        for kind, text in found.items()
        if text and (not kind or text != found[""])
    ]
    return list(dict.fromkeys(reasons))


# The model coverage card as text, for the terminal, JSON and the page.


def versions(area: Area) -> str:
    """Return the releases that have an area at all: ``0.11+``, ``0.8.2-3.9 in ZooKeeper mode``."""
    mode = {"both": "", "kraft": " in KRaft mode", "zookeeper": " in ZooKeeper mode"}[area.modes]
    return f"{area.since}{f'-{area.until}' if area.until else '+'}{mode}"


def releases(flag: ReleaseRule) -> str:
    """Return the releases that follow a rule: ``2.1+``, ``2.4-2.5``, ``4.1.1+, also 3.9.2+ and 4.0.2+``.

    The part in front is as in a playbook's ``kafka``. A patch after it stands for the rest of its line.
    """
    first = _release_text(flag.since, 0)
    last = "" if flag.until is None else _release_text(flag.until, -1)
    text = f"{first}+" if not last else first if first == last else f"{first}-{last}"
    for word, patches in (("also", flag.backports), ("not", flag.fixes)):
        if patches:
            text += f", {word} {listed([f'{_release_text(each, 0)}+' for each in patches], 'and')}"
    return text


def _release_text(version: Version, end: int) -> str:
    """Return the name of a release; of the first (0) or last (-1) patch of a line, the name of the line."""
    name = ".".join(map(str, version))
    line = line_of(name)
    return line if name == PATCHES[line][end] else name


def changes(area: Area) -> list[tuple[str, str, str]]:
    """Return the rules of an area that only some releases follow: name, releases, description."""
    return [(name, releases(FLAG_BY_NAME[name]), FLAG_BY_NAME[name].meaning) for name in area.flags]


def areas_of(version: str | None) -> list[Area]:
    """Return the areas of a release line, or all areas without one."""
    if version is None:
        return list(AREAS)
    position = RELEASE_LINES.index(line_of(version))
    return [
        area
        for area in AREAS
        if RELEASE_LINES.index(area.since) <= position
        and (area.until is None or position <= RELEASE_LINES.index(area.until))
        and (area.modes == "both" or area.modes in modes_of(version))
    ]


def document(area: Area) -> dict[str, Any]:
    """Return an area as a JSON document."""
    return {
        "area": area.name,
        "what": area.what,
        "kafka": versions(area),
        "sources": area.sources,
        "rules": [{"rule": name, "kafka": kafka, "says": says} for name, kafka, says in changes(area)],
        "tests": list(area.test_ids),
        "not_modelled": list(area.left_out),
    }
