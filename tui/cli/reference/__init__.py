"""Commands that list reference data or check a file, without running anything.

library: the bundled playbooks and fragments, and ``floodmark check``.
catalogue: faults, profiles, configurations, and the keys of a playbook.

The texts come from the catalogues of ``faults``, ``playbooks`` and ``cluster_model``.
"""

__all__ = [
    "catalogue",
    "library",
]
