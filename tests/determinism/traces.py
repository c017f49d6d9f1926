"""``python -m tests.determinism.traces STEPS``: a digest per worked trace, so many steps at a time, all when 0."""

import json
import sys

from playbooks.engine.manual_session import ManualSession
from tests.cluster_model.tracing import CASES, playbook_of


def digest(name: str, kafka: str, steps: int) -> str:
    """Play a trace; its digest and number of events as text."""
    session = ManualSession.start(playbook_of(name, kafka))
    while session.advance(0, steps):
        session.drain()
    result = session.finish()
    return f"{result.digest} {result.events}"


def main() -> None:
    """Print one JSON object: trace → digest."""
    print(json.dumps({f"{name}@{kafka}": digest(name, kafka, int(sys.argv[1])) for name, kafka in CASES}))


if __name__ == "__main__":
    main()
