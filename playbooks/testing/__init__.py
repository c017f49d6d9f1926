"""Playbooks as tests, and a simulated cluster for Python code.

harness: `Laboratory`: build a cluster, break it, ask it; the same every time.
playbook_case: a playbook as a test case for any test runner.
pytest_plugin: what floodmark adds to pytest: playbook files as tests, and fixtures.

`pytest_plugin` is loaded by every pytest run, so it imports the rest only when it is used, and this file imports
nothing. `playbook_case` and `harness` do not import pytest.
"""

__all__ = [
    "harness",
    "playbook_case",
    "pytest_plugin",
]
