"""Runs playbooks: timed and manual sessions, replay, dry run, and pools of processes.

session, manual_session  the two engines: timed, and one protocol action per step with its table
session_runner           starts the right engine, brings a rerun to a position, and reports progress
step_scheduler           the next step, responses to operations, and verdicts of steps and expectations
expectations             evaluates `expect` while a session runs
replay                   replays a recording, compares it event by event, and seals crashed sessions
dry_run                  the timeline of a playbook, and the expected impact of each fault
worker_pool              sessions as jobs for other processes

Builds on `playbooks.model`, `parser`, `results` and `recording`, and on the injector of `faults`.
"""

__all__ = [
    "dry_run",
    "expectations",
    "manual_session",
    "replay",
    "session",
    "session_runner",
    "step_scheduler",
    "worker_pool",
]
