"""``python -m tests.determinism.struck SLICE PLANE/FAULT...``: a digest per fault, advanced in such slices."""

import json
import sys

from faults.catalogue import CATALOGUE
from faults.declarations.fault import Fault, FaultError
from tests.faults.rigs import begun
from tests.faults.whole import SECOND, action_of, whole_cluster

STEPS = {"whole": 3_600 * SECOND, "slice": 23_000, "odd": 1_234_567}


def digest(plane: str, fault: Fault, step: int) -> str:
    """Strike twice, one over the other, heal, and go on; faults of one plane strike after the same eight seconds."""
    cluster, board = begun(8 * SECOND, whole_cluster, plane=plane)

    def run_to(until: int) -> None:
        while cluster.now_us < until:
            cluster.run(min(until, cluster.now_us + step))

    action = action_of(fault)
    if fault.name == "restart":
        board.inject(action_of(CATALOGUE["crash"], "broker(5)"))
        action = action_of(fault, "broker(5)")
        run_to(9 * SECOND)
    board.inject(action)
    run_to(10 * SECOND)
    refused = ""
    try:
        board.inject(action)
    except FaultError as error:
        refused = str(error)
    run_to(11 * SECOND)
    board.heal("all")
    run_to(13 * SECOND)
    return f"{cluster.digest()} {cluster.executed} {refused}"


def main() -> None:
    """Print one JSON object: plane and fault → digest."""
    slices, *struck = sys.argv[1:]
    named = {each: each.split("/") for each in struck}
    print(json.dumps({each: digest(plane, CATALOGUE[name], STEPS[slices]) for each, (plane, name) in named.items()}))


if __name__ == "__main__":
    main()
