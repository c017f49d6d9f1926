"""``floodmark serve``: a gateway for real clients, with events printed and faults read from stdin."""

import asyncio
import ipaddress
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from cluster_model.protocol.errors import ModelError
from cluster_model.util.quantities import compact_duration, listed
from faults.declarations import FaultError
from gateway.server import Gateway
from playbooks.engine.session import Session
from playbooks.errors import BAD_INPUT, INTERRUPTED, OK, PlaybookError, shown
from playbooks.model import Playbook
from playbooks.parser.loader import changed, loads
from playbooks.parser.steps import facts_in
from playbooks.recording.recorder import Recorder, RecordingError
from playbooks.session_format.filesystem import Fsync
from playbooks.session_format.session_files import sessions_root
from tui.cli.sessions.live import LinePrinter, lines_of, status_lines
from tui.output.command_end import report_internal_error
from tui.output.console import print_error, print_line, print_problems, stderr_console, stdout_console
from tui.output.session_end import seal, verdict_text
from tui.screen_choice import ScreenChoice, ScreenChoiceError, check
from tui.session.playbook_choice import read
from tui.session.typed_commands import ActionCommand, CommandContext, KeyCommand, TypedError, facts_now, read_line

BARE: Final = """\
floodmark: 1
name: gateway
title: Three brokers without any load, for real clients
seed: 1
cluster:
  brokers: 3
  config: {num.partitions: 3, default.replication.factor: 3}
topics:
  - {name: orders, partitions: 3, replication: 3, config: {min.insync.replicas: 2}}
settle: 10s
"""
"""Default playbook."""
WAIT_S: Final = 0.05
"""Seconds between two checks of stdin."""
COMPLAINTS: Final = 20
"""Number of bad requests that are printed, per broker."""
HERE: Final = ("help", "status", "heal", "quit")
HELP: Final = (
    "a fault with its target: crash b2, gc_pause leader(orders-0) 8s, lag b1 latency=300ms; all: floodmark faults",
    "client(outside) stands for all real clients: partition client(outside) to=b1 5s",
    "an operation: elect_leaders orders-0; heal, heal 2 or heal all; status; quit",
)


class Listening(NamedTuple):
    """Addresses to listen on."""

    host: str
    port: int
    metrics: int | None = None
    """Port for scrapes of Prometheus, None for none."""


def serve(
    playbook: str | None, listening: Listening, *, kafka: str | None, seed: int | None, out: Path | None, tui: bool,
    fsync: Fsync,
) -> int:  # fmt: skip
    """Serve until ``quit`` or a signal; return 0 sealed, 2 bad input, 70 internal error, 130 interrupted."""
    settings = {"cluster.kafka": f'"{kafka}"'} if kafka else {}
    recorder = Recorder(out or sessions_root(), live=True, settings=settings, fsync=fsync)
    try:
        chosen = changed(_read(playbook), settings)
        if chosen.spec.manual:
            print_error(
                f"{chosen.path}: a manual playbook has no clock to serve clients by; run it with: floodmark run"
            )
            return BAD_INPUT
        _check_host(listening.host)
        screen = check(None, None, None) if tui else None
        session = Session.start(chosen, seed=seed, recorder=recorder, open_ended=True)
        if screen is None:
            interrupted = asyncio.run(GatewaySession(session, stdout_console()).run(listening))
        else:
            interrupted = _on_screen(session, screen, listening)
        print(_goodbye(session))
    except PlaybookError as error:
        print_problems(error)
    except (ModelError, RecordingError, ScreenChoiceError, ValueError) as error:
        print_error(str(error))
    except OSError as error:
        print_error(f"--port {listening.port}: cannot listen on {listening.host}: {error.strerror or error}")
    except KeyboardInterrupt:
        print_error("sealing interrupted; the events recorded so far can be read")
        return INTERRUPTED
    except Exception as error:
        return report_internal_error(error, recorder)
    else:
        return INTERRUPTED if interrupted else OK
    with suppress(RecordingError):
        recorder.discard()
    return BAD_INPUT


def _on_screen(session: Session, screen: ScreenChoice, listening: Listening) -> bool:
    """Serve with the TUI; return False, because the TUI is never interrupted. Raises the error that stopped it."""
    from tui.gateway_session import show_serving  # noqa: PLC0415 - plain output needs no Textual

    failure = show_serving(session, screen, listening.host, listening.port, listening.metrics)
    if failure is not None:
        raise failure
    return False


def _read(playbook: str | None) -> Playbook:
    return read(playbook) if playbook is not None else loads(BARE, "the default playbook")


def _check_host(host: str) -> None:
    """Check that ``--host`` is an IP address, and warn if it is not a loopback address.

    Raises:
        ValueError: it is no address.
    """
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise ValueError(f"--host: found {host}, expected an address such as 127.0.0.1") from None
    if not address.is_loopback:
        print_line(
            stderr_console(),
            f"warning: {host} is open to the network without authentication; clients have full access",
        )


def _goodbye(session: Session) -> str:
    text = verdict_text(seal(session))
    return "\n".join(line for line in text.splitlines() if not line.startswith("export "))


class GatewaySession:
    """A gateway with its event output and its commands from stdin."""

    def __init__(self, session: Session, console: Console) -> None:
        self._session = session
        self._printer = LinePrinter(console)
        self._left = asyncio.Event()
        self._interrupted = False
        self._complaints: Counter[int] = Counter()
        self._gateway: Gateway

    async def run(self, listening: Listening) -> bool:
        """Serve until the user quits; return whether that was by Ctrl-C. Raises OSError if it cannot listen."""
        self._gateway = gateway = Gateway(self._session, host=listening.host)
        gateway.on_events = self._printer.events
        gateway.listeners.on_error = self._complain
        metrics = None
        if listening.metrics is None:
            await gateway.open(listening.port)
        else:
            from gateway.metrics_server import open_gateway  # noqa: PLC0415 - few gateways have metrics

            metrics = await open_gateway(gateway, listening.host, listening.port, listening.metrics)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._left.set)
        self._greet()
        if metrics is not None:
            self._say(f"metrics={metrics.url}")
        reading = loop.create_task(self._listen())
        over = loop.create_task(self._await_end())
        await self._left.wait()
        for task in (reading, over):
            task.cancel()
        await gateway.close()
        if metrics is not None:
            metrics.close()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        if gateway.engine.failure is not None:
            raise gateway.engine.failure
        if gateway.engine.permanent_lag_us:
            self._say(
                "this machine was too slow: virtual time fell "
                f"{compact_duration(gateway.engine.permanent_lag_us)} behind real time"
            )
        return self._interrupted

    def _interrupt(self) -> None:
        self._interrupted = True
        self._left.set()

    async def _await_end(self) -> None:
        """Stop serving when the playbook ends its session."""
        while not self._gateway.engine.over:
            await asyncio.sleep(WAIT_S)
        self._left.set()

    def _greet(self) -> None:
        cluster = self._session.cluster
        playbook = self._session.playbook
        self._say(f"{playbook.name}, seed {cluster.seed}, Kafka {cluster.profile.version}; help lists the commands")
        self._say(f"bootstrap.servers={self._gateway.bootstrap}")

    # -- what is typed ----------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Execute typed commands. The end of the input does not stop serving: a service may have no input."""
        lines = lines_of(sys.stdin)
        while True:
            if lines.empty():
                await asyncio.sleep(WAIT_S)
                continue
            line = lines.get()
            if line is None:
                return
            if line.strip():
                self._receive(line.strip().removeprefix(":").strip())

    def _receive(self, line: str) -> None:
        own: dict[str, Callable[[], None]] = {"status": self._status, "help": self._help, "quit": self._left.set}
        try:
            if line in own:
                own[line]()
                return
            typed = read_line("heal all" if line == "heal" else line, self._context())
            if isinstance(typed, ActionCommand):
                for action in typed.actions:
                    self._say(f"done: {self._gateway.act(action)}")
            elif isinstance(typed, KeyCommand) and typed.id == "quit":
                self._left.set()
            else:
                self._say(f"refused: found {shown(line)}, allowed here are faults, operations, {listed(HERE, 'and')}")
        except (TypedError, FaultError) as error:
            self._say(f"refused: {error}")

    def _context(self) -> CommandContext:
        view = self._session.cluster.view()
        facts = facts_now(facts_in(self._session.cluster), view)
        return CommandContext(facts, tuple(each.name for each in view.clients), self._is_down)

    def _is_down(self, target: str) -> bool:
        try:
            nodes = self._session.board.targets(target)
        except FaultError:
            return False
        return bool(nodes) and not any(self._session.cluster.is_up(node) for node in nodes)

    # -- output -----------------------------------------------------------------------------------------------------

    def _complain(self, broker: int, text: str) -> None:
        self._complaints[broker] += 1
        if self._complaints[broker] <= COMPLAINTS:
            self._say(f"broker {broker} closed a connection: {text}"[:300])

    def _status(self) -> None:
        view = self._session.cluster.view()
        states = ", ".join(f"broker {each.id} {each.state}" for each in view.brokers)
        connections = f"{self._gateway.listeners.count} connections"
        self._say(states, connections, *status_lines(view, self._session.board))

    def _help(self) -> None:
        self._say(*HELP)

    def _say(self, *texts: str) -> None:
        self._printer.say(self._session.cluster, *texts)
