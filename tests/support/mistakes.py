"""Mistakes in playbooks: where each is, and apart from that what is said of it."""

from collections.abc import Callable, Iterable

import pytest

from playbooks.errors import PlaybookError, Problem


def mistakes_of(read: Callable[[], object]) -> tuple[Problem, ...]:
    """The mistakes for which a playbook is refused, in the order of its file."""
    with pytest.raises(PlaybookError) as caught:
        read()
    return caught.value.problems


def keys(problems: Iterable[Problem]) -> list[str]:
    """The way to each value: ``steps[2].for``."""
    return [each.key for each in problems]


def places(problems: Iterable[Problem]) -> list[str]:
    """File, line, column and key of each: ``main.yaml:3:10 steps[2].for``."""
    return [f"{each.path}:{each.line}:{each.column} {each.key}".rstrip() for each in problems]


def messages(problems: Iterable[Problem]) -> list[str]:
    """What is said of each, without its place."""
    return [each.message for each in problems]
