"""Which expectations allow acknowledged records to be lost: a session that passes with losses says whether it may."""

import re
from collections.abc import Sequence
from typing import Final

_ABOUT_LOSSES: Final = re.compile(r"\b(?:acked_lost|committed_lost|missing)\s*\(")
"""Functions of conditions that count losses."""
_NONE_LOST: Final = re.compile(r"(?:==|<=)\s*0[\s)]*$|(?<!<)<\s*1[\s)]*$|^[^=<>]*\b(?:0\s*(?:==|>=)|1\s*>(?!=))")
"""A comparison that only holds where nothing is lost."""


_BOUND: Final = re.compile(r"\s+within\s.*$")
"""What stands behind a condition that has to hold in time."""


def about_losses(rules: Sequence[str]) -> list[str]:
    """The conditions that are about acknowledged records that are lost."""
    return [rule for rule in rules if _ABOUT_LOSSES.search(rule)]


def allowing_losses(rules: Sequence[str]) -> list[str]:
    """The conditions that hold although acknowledged records are lost: ``committed_lost() == 0`` is none."""
    return [rule for rule in about_losses(rules) if _allows_losses(rule)]


def unexpected_words(rules: Sequence[str]) -> str:
    """What to say of losses that no expectation allows."""
    return f"none of them {'expects the loss' if about_losses(rules) else 'about losses'}"


def _allows_losses(rule: str) -> bool:
    """Whether one of the comparisons in a condition counts losses, and holds with some."""
    counting = [each for each in re.split(r"\b(?:and|or)\b", _BOUND.sub("", rule)) if _ABOUT_LOSSES.search(each)]
    return any(re.search(r"\bnot\b", each) or not _NONE_LOST.search(each) for each in counting)
