"""What a run of a storm came to, as a row of its campaign."""

from cluster_model.cluster import Cluster
from playbooks.campaign.run_rows import Met, Row, counts_of, found_in
from playbooks.fuzz.runner import Driven
from playbooks.fuzz.swarm import Swarm


def row_of(swarm: Swarm, driven: Driven, cluster: Cluster, listed: tuple[str, ...]) -> Row:
    """The row of a run that came to its end; ``listed`` are keys that the playbook expects."""
    coverage: Met = {}
    for strike in driven.strikes:
        met = coverage.setdefault(strike.action.name, {})
        for state in strike.states:
            met[state] = met.get(state, 0) + 1
    counts = {
        "strikes": len(driven.strikes),
        "refused": driven.refused,
        "waited": driven.waited,
        "met": driven.met,
        "settled_us": driven.settled_us,
        "recovery_us": driven.recovery_us,
        **counts_of(driven.result),
    }
    found = found_in(driven.result, cluster, listed)
    return Row(swarm.run, swarm.seed, swarm.to_json(), driven.result.digest, found, coverage, counts)
