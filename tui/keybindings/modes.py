"""The modes of the screen: one digit each, always the same, so that fingers learn where things are."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Mode:
    """A page over the whole terminal."""

    digit: str
    name: str
    title: str
    words: str
    """What it shows, for the help page and the palette."""
    where: str = ""
    """``module:class`` of its screen, read when it is first wanted; empty for the main screen underneath."""


CLUSTER: Final = Mode("1", "cluster", "Cluster", "the whole cluster at a glance")

MODES: Final = (
    CLUSTER,
    Mode("2", "log", "Log", "the logs of one partition under the microscope", "tui.screens.modes.log:LogScreen"),
    Mode("3", "clients", "Clients", "producers, groups, members, their books", "tui.screens.modes.clients:ClientsScreen"),
    Mode("4", "timeline", "Timeline", "what happened when, and the way there", "tui.screens.modes.timeline:TimelineScreen"),
    Mode(
        "5", "playbooks", "Playbooks", "the library, steps as they run, recorded sessions",
        "tui.screens.modes.playbooks:PlaybooksScreen",
    ),
    Mode("6", "report", "Report", "what it has come to so far", "tui.screens.modes.report:ReportScreen"),
)  # fmt: skip


def mode_of(name: str) -> Mode:
    """The mode of a name; KeyError: no such mode."""
    return {mode.name: mode for mode in MODES}[name]
