"""Playbooks: scripted experiments on a simulated cluster, from their YAML to results and recordings.

version, errors (playbook errors with line and column, exit codes), text (Markdown, commands), units (durations, sizes,
rates), event_text (events as text), reference_text (fidelity and invariants) and release_changes (differences of two
Kafka releases) are what every package below may use. The packages, lowest first:
session_format, conditions, model, library: session files, conditions, a checked playbook, the bundled ones.
parser, model_checking: parse YAML to a playbook, or to a list of all its errors.
results, recording, engine, timetravel: run a session, record it, replay it, go back to an earlier time.
diff, export, metrics, fuzz, campaign: compare two sessions, turn one into a playbook, its metrics and alerts, random
faults, many runs.
cluster_import, cluster_risks: a cluster file of an existing cluster, and what its placement can stand.
diagnosis, safety_check, upgrade, shrink, testing: why records were lost, "is it safe?", what an upgrade changes,
minimal playbooks, pytest.

This file imports nothing, so that `floodmark --help`, pytest and Spark start without the rest.
"""

__all__ = [
    "errors",
    "event_text",
    "reference_text",
    "release_changes",
    "text",
    "units",
    "version",
]
