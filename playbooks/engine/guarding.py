"""The board of a session with the guards that its playbook asks for."""

from cluster_model.cluster import Cluster
from faults.guardrails import Guards
from faults.injector import FaultBoard
from playbooks.engine.expectations import holds
from playbooks.model.playbook import Playbook


def board_for(playbook: Playbook, cluster: Cluster) -> FaultBoard:
    """A fresh board."""
    board = FaultBoard(cluster)
    if playbook.guards is not None:
        condition = playbook.guards.stop_when
        if condition is None:
            board.guards = Guards(playbook.guards.limits, board)
        else:
            board.guards = Guards(
                playbook.guards.limits, board, lambda: holds(condition, cluster.query), condition.text
            )
    return board


def alarmed(board: FaultBoard) -> bool:
    """Whether a guard has something to do now; looking changes nothing."""
    return board.guards is not None and board.guards.alarm()


def guard(board: FaultBoard) -> None:
    """Have it done."""
    if board.guards is not None and board.guards.alarm():
        board.guards.act()
