"""Classification of expectations by whether they allow the loss of acknowledged records."""

import re
from collections.abc import Sequence
from typing import Final

_ABOUT_LOSSES: Final = re.compile(r"\b(?:acked_lost|committed_lost|missing)\s*\(")
"""Functions of conditions that count losses."""
_NONE_LOST: Final = re.compile(r"(?:==|<=)\s*0[\s)]*$|(?<!<)<\s*1[\s)]*$|^[^=<>]*\b(?:0\s*(?:==|>=)|1\s*>(?!=))")
"""A comparison that only holds where nothing is lost."""


_BOUND: Final = re.compile(r"\s+within\s.*$")
"""The deadline after a condition."""


def about_losses(rules: Sequence[str]) -> list[str]:
    """Return the conditions that count lost acknowledged records."""
    return [rule for rule in rules if _ABOUT_LOSSES.search(rule)]


def allowing_losses(rules: Sequence[str]) -> list[str]:
    """Return the conditions that hold although acknowledged records are lost: not ``committed_lost() == 0``."""
    return [rule for rule in about_losses(rules) if _allows_losses(rule)]


def unexpected_loss_text(rules: Sequence[str]) -> str:
    """Describe losses that no expectation allows."""
    return f"none of them {'expects the loss' if about_losses(rules) else 'checks for losses'}"


def _allows_losses(rule: str) -> bool:
    """Return whether a comparison in the condition counts losses and also holds with some."""
    counting = [each for each in re.split(r"\b(?:and|or)\b", _BOUND.sub("", rule)) if _ABOUT_LOSSES.search(each)]
    return any(re.search(r"\bnot\b", each) or not _NONE_LOST.search(each) for each in counting)
