"""What faults of applications have in common that are told to their client's books, and taken off them again."""

from faults.declarations.fault import Behaviour, Injury, Stage


class Lifted(Behaviour):
    """Healed by taking off each process all that this fault put on it."""

    def heal(self, stage: Stage, injury: Injury) -> None:
        """What comes from then on is as usual."""
        for node in injury.nodes:
            stage.cluster.clients.faults.lift(node, injury.id)
