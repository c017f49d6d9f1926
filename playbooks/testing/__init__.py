"""Playbooks as tests, and a simulated cluster for Python code.

harness: `Laboratory`: a deterministic cluster for Python code, with faults and conditions.
playbook_case: a playbook as a test case for any test runner.
pytest_plugin: pytest plugin: playbook files as tests, and fixtures.

`pytest_plugin` is loaded by every pytest run, so it imports the rest only on use, and this file imports
nothing. `playbook_case` and `harness` do not import pytest.
"""

__all__ = [
    "harness",
    "playbook_case",
    "pytest_plugin",
]
