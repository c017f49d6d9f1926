"""What the rails of the timeline show: the branches of a session, each with what it has come to so far."""

from playbooks.timetravel.branches import Branch
from tui.session.session_controller import SimBridge
from tui.viewmodel.timeline import branch_list
from tui.viewmodel.timeline.branches import Rail


class Railing:
    """Looks at the branches; those that stand still are looked at once."""

    def __init__(self) -> None:
        self._known: dict[Branch, tuple[int, branch_list.Row]] = {}

    def rails(self, bridge: SimBridge) -> tuple[Rail, ...]:
        """In the order in which they began; none while there is only one."""
        branches = bridge.branches
        if len(branches) < 2:
            return ()
        undone = {each.undoes: each.left_us for each in branches if each.undoes is not None}
        return tuple(
            Rail(self._row(each, bridge), undone.get(each, -1) if each is not branches.current else -1)
            for each in branches
        )

    def _row(self, branch: Branch, bridge: SimBridge) -> branch_list.Row:
        shown, executed = branch is bridge.branches.current, branch.live.cluster.executed
        known = self._known.get(branch)
        if known is None or known[0] != executed or known[1].shown != shown:
            parent = branch.parent.letter if branch.parent is not None else ""
            view = bridge.view if shown and not branch.session.in_past else branch.live.cluster.view()
            row = branch_list.row(branch.letter, parent, branch.left_us, branch.began, view, shown=shown)
            known = self._known[branch] = (executed, row)
        return known[1]


def reach_us(rails: tuple[Rail, ...], present_us: int) -> int:
    """How far the one that has come farthest has come."""
    return max((each.branch.come_us for each in rails), default=present_us)
