"""``floodmark cluster risks``: the partitions that each loss of brokers or racks takes away."""

from dataclasses import dataclass
from typing import Final

from rich.console import Console

from cluster_model.util.quantities import counted
from playbooks.cluster_risks import (
    HEADS,
    SIMULATED_HEAD,
    Placement,
    Risk,
    SimulatedRisk,
    named,
    risks_json,
    rows,
    simulate,
)
from playbooks.errors import BAD_INPUT, FAILED, OK, shown
from playbooks.parser.loader import load_cluster
from tui.output.command_end import exit_code_of, to_text
from tui.output.console import (
    ProgressLine,
    print_document,
    print_error,
    print_line,
    stderr_console,
    stdout_console,
    table,
)

LOSSES: Final = {
    "none": (),
    "broker": ("broker",),
    "rack": ("broker", "rack"),
    "two-racks": ("broker", "rack", "two racks"),
}
"""Loss to be survived → kinds of failures after which no partition may be offline or below min ISR."""


@dataclass(frozen=True, slots=True)
class RisksRequest:
    """Arguments of the command."""

    file: str
    survive: str = "broker"
    simulate: bool = False
    json: bool = False


def run_risks(request: RisksRequest) -> int:
    """Print the risks; return 0, 1 if a loss that has to be survived is not, or 2 for bad input."""
    if request.survive not in LOSSES:
        print_error(f"found --survive {shown(request.survive)}, expected one of {', '.join(LOSSES)}")
        return BAD_INPUT
    return exit_code_of(lambda: _run(request))


def _run(request: RisksRequest) -> int:
    playbook = load_cluster(request.file)
    placement = Placement(playbook.spec, playbook.seed)
    kinds = LOSSES[request.survive]
    if len(kinds) > 1 and len(placement.racks) < len(kinds):
        have = counted(len(placement.racks), "rack")
        print_error(
            f"found --survive {request.survive} for a cluster with {have}, expected at least {len(kinds)} racks"
        )
        return BAD_INPUT
    risks = placement.risks()
    simulated = _simulated(placement, risks) if request.simulate else {}
    if request.json:
        print_document(to_text(risks_json(placement, risks, simulated)))
    else:
        _print(stdout_console(), request.file, placement, risks, simulated)
    failed = [risk for risk in risks if risk.failure.kind in kinds and risk.has_effect]
    if not request.json and kinds:
        labels = [risk.failure.label for risk in failed]
        text = (
            f"not survived: the loss of {named(labels)}" if failed else f"survived: any loss of one {request.survive}"
        )
        print_line(stdout_console(), text.replace("one two-racks", "two racks"))
    return FAILED if failed else OK


def _simulated(placement: Placement, risks: list[Risk]) -> dict[str, SimulatedRisk]:
    found: dict[str, SimulatedRisk] = {}
    with ProgressLine(stderr_console()) as progress:
        for number, risk in enumerate(risks, 1):
            progress.update(lambda number=number: f"loss {number} of {len(risks)}")  # type: ignore[misc]
            found[risk.failure.label] = simulate(placement, risk.failure)
    return found


def _print(
    console: Console, file: str, placement: Placement, risks: list[Risk], simulated: dict[str, SimulatedRisk]
) -> None:
    spec = placement.spec
    racks = f" in {counted(len(placement.racks), 'rack')}" if placement.racks else ", no racks"
    size = f"{counted(len(placement.brokers), 'broker')}{racks}, {counted(len(placement.partitions), 'partition')}"
    print_line(console, f"{file}: Kafka {spec.kafka} ({spec.mode}), {size}")
    if any(not topic.placement for topic in spec.topics):
        print_line(console, "Topics without a placement in the file are placed as Kafka places new topics.")
    cells = rows(risks, simulated)
    if cells:
        print_line(console, "")
        table(console, HEADS if not simulated else (*HEADS, SIMULATED_HEAD), cells)
    harmless = sum(not risk.has_effect for risk in risks)
    if harmless and not simulated:
        print_line(console, f"{counted(harmless, 'other loss', 'other losses')}: no partition offline or below min ISR")
    print_line(console, "")
    alone = [partition.name for partition in placement.single_points_of_failure()]
    if alone:
        print_line(console, f"single points of failure (one replica, or all in one rack): {named(alone)}")
    short = [partition.name for partition in placement.always_below_min_isr()]
    if short:
        print_line(console, f"never writable with acks=all (fewer replicas than min.insync.replicas): {named(short)}")
    _print_restart(console, placement)


def _print_restart(console: Console, placement: Placement) -> None:
    order = placement.restart_order()
    if order.rounds:
        print_line(console, "rolling restart that keeps min ISR, with all replicas in sync between two rounds:")
        for number, brokers in enumerate(order.rounds, 1):
            print_line(console, f"  round {number}: {', '.join(map(str, brokers))}")
    for broker, partitions in order.blocked.items():
        print_line(console, f"broker {broker} cannot be restarted without {named(partitions)} below min ISR or offline")
