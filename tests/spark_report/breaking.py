"""Transforms that are broken on purpose: a module's source with one piece of it put otherwise."""

import inspect
from types import ModuleType
from typing import Any

import pytest

from spark_report.tables.queries import alerts, availability, clients, fault_effects, latency, progress, timeline

MODULES = (alerts, availability, clients, fault_effects, latency, progress, timeline)


def broken(patch: pytest.MonkeyPatch, module: ModuleType, piece: str, other: str) -> None:
    """Have every transform use the module with ``other`` in place of ``piece``, which it has exactly once."""
    source = inspect.getsource(module)
    assert source.count(piece) == 1, f"{module.__name__} has {source.count(piece)} times: {piece}"
    made: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(source.replace(piece, other), f"broken {module.__name__}", "exec"), made)
    for name, function in vars(module).copy().items():
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            _everywhere(patch, function, made[name])


def _everywhere(patch: pytest.MonkeyPatch, function: Any, other: Any) -> None:
    for module in MODULES:
        for name, value in vars(module).copy().items():
            if value is function:
                patch.setattr(module, name, other)
