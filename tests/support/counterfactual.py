"""Check whether a finding disappears without a step that it names."""

import re
from collections.abc import Iterator

from cluster_model.checker.root_cause.findings import Finding
from playbooks.model.playbook import Playbook
from playbooks.results.result import SessionResult
from playbooks.shrink.candidate import Draft, drafted
from playbooks.shrink.oracle import judged

NAMED = re.compile(r"\bstep (\d+)\b")


class Counterfactual:
    """Run of a timed playbook, and runs with one of its steps left out and the others at their times."""

    def __init__(self, playbook: Playbook) -> None:
        verdict, result = judged(playbook, (), seed=playbook.seed)
        assert result is not None
        self.result: SessionResult = result
        self._draft: Draft = drafted(playbook, playbook.seed, verdict.acted, exact=False, expect=False)
        self._without: dict[int, SessionResult] = {}

    def without(self, step: int) -> SessionResult:
        """Return the result of the run without a step."""
        known = self._without.get(step)
        if known is None:
            draft = self._draft.without([step])
            _verdict, known = judged(draft.playbook(), (), seed=draft.seed)
            assert known is not None
            self._without[step] = known
        return known

    def named(self) -> Iterator[tuple[Finding, int]]:
        """Yield every step that a finding's sentence names."""
        for finding in self.result.findings:
            for step in steps_of(finding):
                yield finding, step

    def blamed_in_vain(self) -> list[tuple[str, str, int]]:
        """Return (kind, cause, step) of steps without which the finding remains."""
        return [
            (finding.kind, finding.cause, step)
            for finding, step in self.named()
            if any(_overlap(finding, other) for other in self.without(step).findings)
        ]


def steps_of(finding: Finding) -> list[int]:
    """Return the steps that a finding's sentence names."""
    return sorted({int(number) for number in NAMED.findall(finding.sentence)})


def _overlap(one: Finding, other: Finding) -> bool:
    """Return whether two findings have the same kind and cause, and share records."""
    same = (one.kind, one.cause, one.group_id) == (other.kind, other.cause, other.group_id)
    return same and bool(_records(one) & _records(other))


def _records(finding: Finding) -> set[tuple[str, str, int]]:
    return {
        (place.partition, place.client, (place.log_offset if place.sequence < 0 else place.sequence) + index)
        for place in finding.blocks
        for index in range(place.count)
    }
