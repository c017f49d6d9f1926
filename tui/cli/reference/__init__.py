"""Commands that list reference data or check a file, without running anything.

library: the bundled playbooks and fragments, and ``floodmark check``.
catalogue: faults, configurations, and the keys of a playbook.
releases: Kafka's releases, their rules and known issues, and the fidelity card.

The texts come from the catalogues of ``faults``, ``playbooks`` and ``cluster_model``.
"""

__all__ = [
    "catalogue",
    "library",
    "releases",
]
