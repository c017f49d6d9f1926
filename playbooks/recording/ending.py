"""How a session of either kind ends: its result is drawn up, and its recording sealed."""

from dataclasses import replace
from typing import TYPE_CHECKING

from cluster_model.checker.ledger.per_client import accounts
from cluster_model.checker.ledger.record_ranges import Survey
from cluster_model.cluster import Cluster
from playbooks.model.playbook import Playbook
from playbooks.recording.recorder import Recorder
from playbooks.results.result import Checked, Findings, Result, conclude

if TYPE_CHECKING:
    from cluster_model.manual.cluster import ManualCluster


def conclude_session(
    playbook: Playbook,
    cluster: "Cluster | ManualCluster",
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
    books = accounts(cluster.world, cluster.checker.ledger)
    ledger = replace(
        view.ledger, undone=query.undone(), leaked=query.leaked(), books=books,
        unknown_written=sum(each.unknown_written for each in books),
    )  # fmt: skip
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
    result = replace(result, anomalies=cluster.checker.witness.found(view.now_us))
    result = replace(result, findings=cluster.checker.casebook.findings(cluster.now_us))
    if recorder is not None:
        recorder.seal(result, Survey(cluster.world, cluster.checker.ledger))
    return result
