"""Processes that end by themselves, and are to be there again."""

from faults.declarations.fault import Stage


def back_again(stage: Stage, node: int) -> None:
    """Start a process that has ended itself, or have it start as soon as it has: a consumer takes its time to close.

    One that was told to end as well is for whoever told it.
    """
    lives = stage.cluster.lives
    if not stage.cluster.is_up(node):
        stage.restart(node)
    elif not lives.is_leaving(node):
        lives.start_again(node)
