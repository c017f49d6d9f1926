"""What is said of a safety property, in the manual and on the terminal: who promises it, and who is known for what."""

from typing import Final

from cluster_model.checker.invariants.promise import CIRCUMSTANCES, Promise
from cluster_model.protocol.versions import PROFILE_VERSIONS, Profile, modes_of

PROFILES: Final = tuple(Profile.of(version, mode) for version in PROFILE_VERSIONS for mode in modes_of(version))
"""Every version in every mode that it has, oldest first."""


def promised_words(promise: Promise, when: tuple[str, ...] = ()) -> str:
    """``every version``, ``2.1 and later``, ``3.3 and later in KRaft mode``."""
    first = next((each for each in PROFILES if promise.promised_by(each, when)), None)
    if first is None:
        return "no version"
    lacking = [each for each in PROFILES if each.number >= first.number and not promise.promised_by(each, when)]
    mode = " in KRaft mode" if lacking else ""
    return f"{first.version} and later{mode}" if first is not PROFILES[0] else f"every version{mode}"


def special_words(promise: Promise) -> list[tuple[str, str]]:
    """Where more is asked of a version than elsewhere: the circumstance and who promises it there."""
    kinds = dict.fromkeys(mend.when for mend in promise.mends if mend.when)
    told = [(CIRCUMSTANCES[kind], promised_words(promise, (kind,))) for kind in kinds]
    return [(where, words) for where, words in told if words != promised_words(promise)]


def mends_words(promise: Promise) -> list[str]:
    """What made it hold, rule by rule: ``KIP-101 in 0.11``."""
    return [
        f"{mend.by} in {mend.version}" + (f" ({CIRCUMSTANCES[mend.when]})" if mend.when else "")
        for mend in promise.mends
    ]


def known_words(promise: Promise, kafka: Profile) -> list[str]:
    """Why a version is known to break it, each circumstance once; empty for a version that promises all of it."""
    kinds = dict.fromkeys(("", *(mend.when for mend in promise.mends)))
    found = {kind: promise.known(kafka, (kind,) if kind else ()) for kind in kinds}
    told = [
        text + (f" ({CIRCUMSTANCES[kind]})" if kind else "")
        for kind, text in found.items()
        if text and (not kind or text != found[""])
    ]
    return list(dict.fromkeys(told))
