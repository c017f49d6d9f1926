"""Runs playbooks: sessions in virtual time or by hand, replay, dry run, and pools of processes.

session, manual_session  the two engines: timed, and one protocol action a step with its worked table
session_runner           starts the right engine, brings a rerun to a point, and says how far a session is
step_scheduler           which step is next, what its operation answers, and what steps and expectations came to
expectations             watches `expect` while a session runs
replay                   runs a recording again, compares event by event, and seals sessions that crashed
dry_run                  the timeline of a playbook, and what each fault is about to do
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
