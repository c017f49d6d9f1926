"""Benchmark of the same load as a recorded session: with findings, and every event in a file."""

import tempfile
from pathlib import Path

from benchmarks.cluster_load import SECOND
from benchmarks.measure import cpu_seconds
from cluster_model.spec.cluster_spec import ClusterSpec
from playbooks.engine.session import SLICE_US, Session
from playbooks.model.playbook import Playbook
from playbooks.recording.recorder import Recorder


def recorded_per_cpu(spec: ClusterSpec, simulated_us: int, tries: int) -> float:
    """Return the most simulated seconds per CPU second of a recorded session, without its start and sealing."""
    playbook = Playbook("", "load", "Steady load", "", 1, spec, (), SECOND, (), (), "")
    with tempfile.TemporaryDirectory() as parent:
        recorder = Recorder(Path(parent))
        session = Session.start(playbook, recorder=recorder, open_ended=True)
        _advance(session, SECOND // 5)
        best = max(simulated_us / cpu_seconds(lambda: _advance(session, simulated_us)) for _ in range(tries))
        recorder.close()
    return best / SECOND


def _advance(session: Session, duration_us: int) -> None:
    until = session.cluster.now_us + duration_us
    while session.cluster.now_us < until:
        session.advance(min(session.cluster.now_us + SLICE_US, until))
        session.drain()
