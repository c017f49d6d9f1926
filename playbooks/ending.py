"""How a session of either kind ends: its result is drawn up, and its recording sealed."""

from dataclasses import replace

from cluster_model.checker.record_ranges import Survey
from cluster_model.cluster import Cluster
from cluster_model.stepping.cluster import ManualCluster
from playbooks.model import Playbook
from playbooks.recorder import Recorder
from playbooks.result import Checked, Findings, Result, conclude


def conclude_session(
    playbook: Playbook,
    cluster: Cluster | ManualCluster,
    recorder: Recorder | None,
    findings: Findings,
    *,
    checked: tuple[Checked, ...],
    broken: bool,
    reason: str,
) -> Result:
    """The result of a session whose books are closed; ``broken`` and ``reason`` as :func:`conclude` takes them.

    Raises:
        RecordingError: the recording cannot be sealed.
    """
    view, query = cluster.view(), cluster.query
    ledger = replace(view.ledger, undone=query.undone(), leaked=query.leaked())
    result = conclude(
        playbook=playbook.name,
        title=playbook.title,
        seed=cluster.seed,
        checked=checked,
        broken=broken,
        reason=reason,
        digest=cluster.digest(),
        session=str(recorder.path) if recorder else "",
        findings=findings,
        view=replace(view, ledger=ledger),
    )
    if recorder is not None:
        recorder.seal(result, Survey(cluster.world, cluster.checker.ledger))
    return result
