"""Going back in a session, and going on from there another way.

timeline      keyframes of a running session, and any time of its past made again from the last keyframe before
              it
history_view  a session as somebody looks at it, now or at a past time; recorded sessions reopened
branches      branches that share a past and differ from there on, what-if settings from the start, and forks: a
              session brought to any time of its past, to act there and run on

Builds on `playbooks.engine` and `recording`. Nothing here changes the recording it looks at.
"""

__all__ = [
    "branches",
    "history_view",
]
