"""The worked traces of the bundled library under the versions that differ, and their tables as text."""

from dataclasses import dataclass
from functools import cache
from typing import Final

from playbooks.engine.manual_session import ManualSession
from playbooks.library.bundled import path_of
from playbooks.model.playbook import Playbook
from playbooks.parser.loader import loads
from playbooks.parser.settings import apply_settings
from playbooks.results.result import SessionResult
from tui.output.result import ledger_text, legend_lines, loss_lines, trace_lines

TRACES: Final[dict[str, tuple[str, ...]]] = {
    "two-round-hw": ("0.10.2", "2.5", "3.9"),
    "two-round-hw-failover": ("0.10.2", "2.1", "3.9"),
    "kip-101-loss": ("0.10.2", "1.1", "2.6", "3.9"),
    "kip-101-loss-two-brokers": ("0.10.2", "1.1", "3.9"),
    "power-loss-divergence": ("0.10.2", "1.1", "2.6", "3.9"),
    "kip-279-fast-failovers": ("0.10.2", "1.1", "2.0", "3.9"),
    "kip-320-unfenced-follower": ("0.10.2", "1.0", "2.0", "2.1", "3.9"),
    "kafka-7128-early-isr-join": ("0.10.2", "1.1", "2.0", "3.9"),
    "unclean-election": ("0.10.2", "2.0", "3.9"),
    "unclean-election-off": ("3.9",),
    "last-replica-standing": ("3.4", "3.6", "3.9", "4.1"),
    "zombie-leader-gc-pause": ("0.10.2", "2.3", "3.9"),
    "expand-race": ("2.3", "3.4", "3.9"),
    "lost-tail-same-epoch": ("2.1", "2.2"),
}
"""Bundled playbook → the versions whose tables differ in what the trace is about."""

CASES: Final = [(name, kafka) for name, versions in TRACES.items() for kafka in versions]
WIDTH: Final = 80


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A trace that was run."""

    session: ManualSession
    result: SessionResult

    def table(self, width: int) -> list[str]:
        """As ``floodmark run`` prints it."""
        return [*legend_lines(width), *trace_lines(self.session.table.rows, width)]

    def ends(self) -> dict[int, str]:
        """LEO/HW per broker at the end, an asterisk for who acts as leader, ``down`` behind who is down."""
        state = self.session.cluster.state()
        return {
            int(
                who
            ): f"{each['leo']}/{each['hw']}{'*' if each['role'] == 'leader' else ''}{'' if each['up'] else ' down'}"
            for who, each in state.items()
            if who.isdigit()
        }

    def broken(self) -> set[str]:
        """Names of the invariants that did not hold."""
        return {violation.invariant for violation in self.result.violations}


def playbook_of(name: str, kafka: str) -> Playbook:
    """A bundled trace under a version."""
    source = apply_settings(path_of(name).read_text(encoding="utf-8"), {"cluster.kafka": kafka})
    return loads(source, f"{name}.yaml")


@cache
def run(name: str, kafka: str) -> RunTrace:
    """Run it to its end."""
    session = ManualSession.start(playbook_of(name, kafka))
    return RunTrace(session, session.finish())


def as_text(name: str, kafka: str) -> str:
    """The whole golden file: the command, the steps, the table, and what it came to."""
    told = run(name, kafka)
    lines = [f"$ floodmark run {name} --set cluster.kafka={kafka}", told.result.title, ""]
    for row in told.session.table.rows:
        lines.append(f"{row.number:<4} {row.event}")
        lines += [f"       {words}{f'  -> {error}' if error else ''}" for words, error in row.steps]
    lines += told.table(WIDTH)
    lines.append(f"verdict  {told.result.verdict} ({told.result.profile})")
    lines.append(f"ledger   {ledger_text(told.result)}")
    lines += [f"lost     {line}" for line in loss_lines(told.result.losses)]
    lines.append(f"broken   {', '.join(sorted(told.broken())) or 'nothing'}")
    return "\n".join(lines) + "\n"
