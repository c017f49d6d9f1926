"""``python -m tests.determinism.driver SLICE NAME...``: a digest per bundled playbook, advanced in slices of one kind.

``whole``: to the end at once; ``event``: one kernel event at a time; ``slice``: 8 ms of virtual time;
``hour``: an hour of it.
"""

import json
import sys

from playbooks.engine.manual_session import ManualSession
from playbooks.engine.session import Session
from playbooks.engine.session_runner import start_session
from playbooks.library.bundled import path_of
from playbooks.parser.loader import load

TOLD = (
    "ledger",
    "ledger_by_partition",
    "clients",
    "violations",
    "liveness_violations",
    "stuck",
    "findings",
    "anomalies",
)
"""Parts of a result that the digest does not cover, or not as they are told."""
MOVES = {"event": (1 << 60, 1), "slice": (8_000, 0), "hour": (3_600_000_000, 0)}


def digest(name: str, slices: str) -> str:
    """Run a bundled playbook in such slices; its digest, its counters and what checker and clients saw, as text."""
    session = start_session(load(path_of(name)))
    if slices != "whole":
        advance(session, *MOVES[slices])
    result = session.finish()
    document = result.to_json()
    told = json.dumps({part: document[part] for part in TOLD})
    return f"{result.digest} {result.events} {session.cluster.executed} {result.virtual_us} {result.verdict} {told}"


def advance(session: Session | ManualSession, time_us: int, events: int) -> None:
    """Move on in equal steps; what was traced is drained at odd moments, which must not matter either."""
    turn = 0
    while session.advance(session.cluster.now_us + time_us, events):
        turn += 1
        if turn % 7 == 0:
            session.drain()


def main() -> None:
    """Print one JSON object: name → digest."""
    slices, *names = sys.argv[1:]
    print(json.dumps({name: digest(name, slices) for name in names}))


if __name__ == "__main__":
    main()
