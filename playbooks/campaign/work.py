"""What a campaign has to do: numbered runs, each of which comes to a row wherever it is done."""

from typing import TYPE_CHECKING, Any, Final, Protocol

from playbooks.campaign.run_rows import Row

if TYPE_CHECKING:
    from playbooks.campaign.store import Campaign, Kept

STORM: Final = "storm"
GRID: Final = "grid"

Frame = tuple[tuple[str, ...], tuple[str, ...]]


class Work(Protocol):
    """All that decides what the runs come to, in plain values: it goes to other processes and machines."""

    @property
    def path(self) -> str:
        """Where its playbook comes from."""

    @property
    def seed(self) -> int:
        """The seed of the whole."""

    def row(self, run: int) -> Row:
        """What a run comes to, from 1; an error inside is something that it comes to, too. Never raises."""

    def frame(self) -> Frame:
        """The faults that may come, and the states that they may meet; nothing where nothing is drawn."""

    def head(self) -> dict[str, Any]:
        """What tells it from other work, by names that a person understands."""

    def document(self) -> dict[str, Any]:
        """All of it, as ``plan.json`` has it."""

    def keep(self, run: int, campaign: "Campaign") -> "Kept":
        """Do a run again and record its session, unless that was done before.

        Raises:
            CampaignError: it did not come to the same.
            RecordingError, OSError: something cannot be written.
        """
