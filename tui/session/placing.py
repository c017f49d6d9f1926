"""What a typed line can speak of in a session at the instant that is looked at."""

from cluster_model.observation.views import ClusterView
from faults.declarations.fault import FaultError
from playbooks.parser.steps.live import facts_in
from playbooks.timetravel.looking_back import LookingBack
from tui.session.typed_commands import Place, facts_now


def place_in(session: LookingBack, view: ClusterView, *, aimed: str = "", ahead_us: int = 0) -> Place:
    """``view`` is that of the instant, ``aimed`` what a fault strikes that is typed without a target.

    ``ahead_us`` is how far beyond the present times may be gone to.
    """

    def is_down(target: str) -> bool:
        """Whether all that a target means is down; what means nobody is not."""
        down = [each.id for each in view.brokers if each.state == "down"]
        down += [each.node for each in view.controllers if each.role == "down"]
        down += [each.node for each in view.clients if each.state == "down"]
        try:
            nodes = session.board.targets(target)
        except FaultError:
            return False
        return bool(nodes) and all(node in down for node in nodes)

    return Place(
        facts_now(facts_in(session.cluster), view), tuple(each.name for each in view.clients), is_down, aimed,
        session.timeline.first_us, session.present_us + ahead_us,
    )  # fmt: skip
