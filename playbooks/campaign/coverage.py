"""Which fault met which state of the protocol, over all runs of a campaign, and what was never reached."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from playbooks.campaign.run_rows import Met, Row
from playbooks.fuzz.protocol_states import NOTHING


@dataclass(frozen=True, slots=True)
class Coverage:
    """A table: faults by states."""

    faults: tuple[str, ...]
    """All that may come."""
    states: tuple[str, ...]
    """All that there are for what the clients are."""
    met: Met = field(default_factory=dict)

    def count(self, fault: str, state: str) -> int:
        """How many strikes with a fault met a state."""
        return self.met.get(fault, {}).get(state, 0)

    @property
    def reached(self) -> int:
        """Pairs that were met at least once."""
        return sum(self.count(fault, state) > 0 for fault in self.faults for state in self.states)

    @property
    def pairs(self) -> int:
        """All that there are."""
        return len(self.faults) * len(self.states)

    def never(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Each state with the faults that never met it; a state that nothing met has all of them."""
        missed = [
            (state, tuple([each for each in self.faults if not self.count(each, state)])) for state in self.states
        ]
        return tuple([(state, faults) for state, faults in missed if faults])


def coverage_of(rows: Iterable[Row], faults: tuple[str, ...], states: tuple[str, ...]) -> Coverage:
    """The table of all these runs."""
    met: Met = {fault: {} for fault in faults}
    for row in rows:
        for fault, counts in row.coverage.items():
            for state, count in counts.items():
                of_fault = met.setdefault(fault, {})
                of_fault[state] = of_fault.get(state, 0) + count
    return Coverage(faults, (NOTHING, *states), met)
