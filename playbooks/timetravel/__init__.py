"""Time travel in a session: views of the past, branches from there, and forks.

timeline      keyframes of a running session, and any past time rebuilt from the last keyframe before it
history_view  a session as viewed, now or at a past time; reopened recordings
branches      branches that share a past, what-if settings from the start, and forks: a session brought to any past
   time, to act there and continue

Builds on `playbooks.engine` and `recording`. Recordings are never changed.
"""

__all__ = [
    "branches",
    "history_view",
]
