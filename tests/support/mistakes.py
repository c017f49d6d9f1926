"""Helpers for mistakes in playbooks: their places and, separately, their messages."""

from collections.abc import Callable, Iterable

import pytest

from playbooks.errors import PlaybookError, Problem


def mistakes_of(read: Callable[[], object]) -> tuple[Problem, ...]:
    """Return the mistakes for which a playbook is rejected, in the order of its file."""
    with pytest.raises(PlaybookError) as caught:
        read()
    return caught.value.problems


def keys(problems: Iterable[Problem]) -> list[str]:
    """Return the path of each value: ``steps[2].for``."""
    return [each.key for each in problems]


def places(problems: Iterable[Problem]) -> list[str]:
    """Return file, line, column and key of each: ``main.yaml:3:10 steps[2].for``."""
    return [f"{each.path}:{each.line}:{each.column} {each.key}".rstrip() for each in problems]


def messages(problems: Iterable[Problem]) -> list[str]:
    """Return the message of each, without its place."""
    return [each.message for each in problems]
