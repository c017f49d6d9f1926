"""The branches of a session: a list to change over, and to compare two of them."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType

from playbooks.timetravel.branches import Branch
from tui.keybindings.keymap import KEYS, Key, key_of
from tui.keybindings.scopes import bindings_of
from tui.screens.choice import ChoiceScreen, Piece
from tui.session.session_controller import SimBridge
from tui.terminal import glyphs
from tui.terminal.theme import Look
from tui.viewmodel.timeline import branch_list


class BranchesScreen(ChoiceScreen):
    """``switch`` and ``compare`` are told what was chosen, after the list is gone."""

    TITLE_WORDS = "Branches"
    KEYS_WORDS = (
        f"{{branch_take}}: change over {glyphs.NOTHING} {{branch_compare}}: compare with the one on the screen"
        f" {glyphs.NOTHING} esc"
    )
    SCOPE = "branch"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("branch")

    def __init__(
        self, look: Look, bridge: SimBridge, switch: Callable[[Branch], None], compare: Callable[[Branch], None],
        keys: Sequence[Key] = KEYS,
    ) -> None:  # fmt: skip
        super().__init__(look)
        self._keys = keys
        self._bridge = bridge
        self._switch = switch
        self._compare = compare
        self._known: dict[Branch, branch_list.Row] = {}
        self.chosen = list(bridge.branches).index(bridge.branches.current)

    def head(self, width: int) -> list[Piece]:
        """Names of the columns."""
        return branch_list.heading(width)

    def lines(self, width: int) -> list[list[Piece]]:
        """A branch each."""
        return [branch_list.line(row, width, chosen=at == self.chosen) for at, row in enumerate(self._rows())]

    def foot(self, width: int) -> str:
        """What the chosen one is."""
        rows = self._rows()
        if len(rows) == 1:
            what_if, undo = key_of("what_if", self._keys), key_of("undo", self._keys)
            return f"only {rows[0].letter} so far: {what_if} begins a branch, and so does {undo} or acting in the past"
        return branch_list.about(rows[self.chosen], width)

    def action_take(self) -> None:
        """Change over."""
        branch = self._branch()
        self.dismiss()
        self._switch(branch)

    def action_compare(self) -> None:
        """Compare it with the one on the screen."""
        branch = self._branch()
        if branch is self._bridge.branches.current:
            self.notify("this one is on the screen: choose another one to compare it with", severity="warning")
            return
        self.dismiss()
        self._compare(branch)

    def _branch(self) -> Branch:
        return list(self._bridge.branches)[self.chosen]

    def _rows(self) -> list[branch_list.Row]:
        return [self._row(each) for each in self._bridge.branches]

    def _row(self, branch: Branch) -> branch_list.Row:
        """Those that stand still are looked at once."""
        shown = branch is self._bridge.branches.current
        known = self._known.get(branch)
        if known is None or shown:
            parent = branch.parent.letter if branch.parent is not None else ""
            view = branch.live.cluster.view()
            known = branch_list.row(branch.letter, parent, branch.left_us, branch.began, view, shown=shown)
            self._known[branch] = known
        return known
