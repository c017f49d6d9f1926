"""Options, arguments and help of the commands; loaded at every start, so nothing of the model is imported here.

options: options that several commands share, and the names that a shell completes.
run: ``run``, ``live`` and ``serve``.
analysis: ``ask``, ``why``, ``explore``, ``storm`` and ``shrink``.
report: ``report``, ``fleet`` and ``spark``.
cluster: ``cluster import``, ``cluster risks`` and ``new``.
reference: library, faults, invariants, profiles, configs, keys and settings.

Each command imports its work from a neighbouring package when it is called.
"""

__all__ = [
    "analysis",
    "cluster",
    "options",
    "reference",
    "report",
    "run",
]
