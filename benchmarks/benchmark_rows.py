"""Rows of the benchmark table: what is measured, and its limit."""

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks import startup_programs
from benchmarks.clients import CROWDS, FEW, Crowd, crowd_per_cpu
from benchmarks.cluster_load import SECOND, cluster_under, keyframe_ms, megabytes_per_second, simulated_per_cpu
from benchmarks.kernel import floodmark_rate, simpy_rate
from benchmarks.measure import best_of
from benchmarks.model_checker import states_per_cpu_second
from benchmarks.recorded_session import recorded_per_cpu
from benchmarks.shrink import ACTS, shrunk
from benchmarks.startup import started
from benchmarks.storm import runs_per_cpu_second
from benchmarks.time_travel import remembered, seeks_ms
from benchmarks.tui_frames import SIZE, screen

TRIES = 3


class Row(NamedTuple):
    """Row of the table; ``ratio`` is to SimPy's timers with 100 pending, for a bare kernel with as many pending."""

    what: str
    figure: str
    ratio: str
    floor: str
    held: bool


class Load(NamedTuple):
    """Cluster and its load, the simulated duration, and its floor in simulated seconds per CPU second."""

    brokers: int
    partitions: int
    batches: float
    batch: int
    simulated_us: int
    floor: float

    @property
    def name(self) -> str:
        records = self.batches * self.batch
        size = f"batches of {self.batch}" if self.batch > 1 else "single-record batches"
        return f"{self.brokers} brokers x {self.partitions:,} partitions, {records:,.10g} records/s, {size}"


LOADS = (
    Load(3, 12, 1_000, 10, 4 * SECOND, 40),
    Load(12, 1_000, 1_000, 10, 2 * SECOND, 35),
    Load(12, 1_000, 10_000, 1, SECOND // 2, 3),
    Load(12, 1_000, 0.2, 1, 600 * SECOND, 8_000),
)
KEYFRAMES = (Load(3, 12, 1_000, 10, SECOND, 0.1), Load(12, 1_000, 1_000, 10, SECOND, 3))
MEMORY = Load(3, 12, 1_000, 10, SECOND, 0.25)
SEEKS = (Load(3, 12, 1_000, 10, 600 * SECOND, 100), Load(12, 1_000, 1_000, 10, 600 * SECOND, 250))
SEEK_MB = 64


def rows() -> Iterator[Row]:
    """Yield each row when it has been measured."""
    base = 0.0
    for pending in (100, 10_000):
        simpy = best_of(TRIES, lambda pending=pending: simpy_rate(pending))  # type: ignore[misc]
        base = base or simpy
        own = best_of(TRIES, lambda pending=pending: floodmark_rate(pending))  # type: ignore[misc]
        what = f"bare kernel, {pending:,} pending"
        figure = f"{own:,.0f} events/s (SimPy {simpy:,.0f})"
        yield Row(what, figure, f"{own / simpy:.2f}", "ratio 2", own >= 2 * simpy)
    for load in LOADS:
        yield _model(load, base)
        yield _recorded(load)
    for crowd in CROWDS:
        yield _crowd(crowd)
    for load in KEYFRAMES:
        cluster = cluster_under(load.brokers, load.partitions, load.batches, load.batch)
        cluster.run(2 * SECOND)
        spent = min(keyframe_ms(cluster) for _ in range(TRIES))
        what = f"keyframe, {load.brokers} x {load.partitions:,}"
        yield Row(what, f"{spent:.3f} ms", "", f"{load.floor:g} ms", spent <= load.floor)
    kept = megabytes_per_second(
        lambda: cluster_under(MEMORY.brokers, MEMORY.partitions, MEMORY.batches, MEMORY.batch), 4
    )
    yield Row("memory kept, 1,000 batches/s", f"{kept:.2f} MB per simulated s", "", "0.25 MB", kept <= MEMORY.floor)
    for load in SEEKS:
        yield _seek(load)
    yield from _exploring()
    yield from storm_rows()
    yield from shrinking_rows()
    yield from screen_rows()
    yield from gateway_rows()


def _exploring() -> Iterator[Row]:
    distinct, rate = states_per_cpu_second(symmetry=False)
    what = f"exploring {distinct:,} states of the model's replicas"
    yield Row(what, f"{rate:,.0f} distinct states/s", "", "25,000", rate >= 25_000)
    distinct, rate = states_per_cpu_second(symmetry=True)
    yield Row(
        f"the same with symmetry reduction, {distinct:,} states", f"{rate:,.0f} distinct states/s", "", "", held=True
    )


STORMS = ((12, 200, 30, 5), (6, 100, 10, 20))
"""Partitions on 3 brokers, batches per second, virtual seconds, and the floor in runs per second of one core."""


def storm_rows() -> Iterator[Row]:
    """Yield the cost of random storms."""
    for partitions, rate, seconds, floor in STORMS:
        speed = runs_per_cpu_second(partitions, rate, seconds, 4 * floor)
        what = f"storms, 3 x {partitions}, {rate} batches/s, {seconds} simulated s"
        yield Row(what, f"{speed:.1f} runs/s", "", f"{floor}", speed >= floor)


def shrinking_rows() -> Iterator[Row]:
    """Yield the time to shrink a storm, on all cores."""
    found = shrunk()
    what = f"shrinking a storm of {ACTS} steps, {found.workers} cores"
    yield Row(
        what, f"{found.seconds:.0f} s, {found.runs} runs, {found.steps} steps left", "", "120 s", found.seconds <= 120
    )


def gateway_rows() -> Iterator[Row]:
    """Yield the cost of sockets, compared with librdkafka's mock cluster in the same run."""
    from benchmarks.gateway import beside, produce_us  # noqa: PLC0415 - loads real clients, which the rest does not need

    spent = produce_us()
    yield Row("gateway: a Produce of 16 KB, without the model", f"{spent:.0f} us", "", "100 us", spent <= 100)
    found = beside()
    figure = f"{found.ours:,.0f} messages/s, mock {found.mock:,.0f}: {found.ratio:.2f} of it"
    yield Row("gateway: stock producer, 1 KB, acks=all", figure, "", "0.3 of it", found.ratio >= 0.3)
    added = found.ours_ms - found.mock_ms
    figure = f"{found.ours_ms:.1f} ms, mock {found.mock_ms:.1f} ms"
    yield Row("gateway: p99 produce latency, idle", figure, "", "5 ms more", added <= 5)


STARTS = (
    ("floodmark --version", startup_programs.version, 300),
    ("floodmark --help", startup_programs.help_page, 300),
    ("the welcome page", startup_programs.welcome, 500),
    ("imports of a session", startup_programs.reading, 650),
    ("the first frame of a session", startup_programs.session, 800),
)
"""What a new process does, and its limit in milliseconds."""


def screen_rows() -> Iterator[Row]:
    """Yield the cost of the TUI. A frame of 10 ms is 15 % of a core at 15 frames per second."""
    for name, what, floor in STARTS:
        start = started(what, TRIES)
        figure = f"{start.ms:.0f} ms, {start.modules:,} modules, {start.own} of them floodmark's"
        yield Row(f"start: {name}", figure, "", f"{floor} ms", start.ms <= floor)
    brokers, partitions = 12, 60
    found = screen(brokers, partitions)
    where = f"TUI: {brokers} x {partitions} at {SIZE[0]}x{SIZE[1]}"
    figure = f"{found.frame_ms:.1f} ms, {found.frame_bytes:,} bytes"
    yield Row(f"{where}, a frame", figure, "", "10 ms", found.frame_ms <= 10)
    figure = f"{100 * found.share:.0f} %"
    yield Row(f"{where}, share of a core, with the model", figure, "", "30 %", found.share <= 0.3)
    yield Row(f"{where}, full repaint", f"{found.whole_bytes:,} bytes", "", "30,000", found.whole_bytes <= 30_000)
    yield Row(f"{where}, a key", f"{found.key_ms:.1f} ms", "", "60 ms", found.key_ms <= 60)
    yield Row(f"{where}, a jump back", f"{found.jump_ms:.0f} ms", "", "120 ms", found.jump_ms <= 120)


def _model(load: Load, base: float) -> Row:
    cluster = cluster_under(load.brokers, load.partitions, load.batches, load.batch)
    cluster.run(SECOND // 5)
    best = max(simulated_per_cpu(cluster, load.simulated_us) for _ in range(TRIES))
    figure = f"{best[0]:,.4g} simulated s, {best[1]:,.0f} events/s"
    return Row(load.name, figure, f"{best[1] / base:.2f}", f"{load.floor:,g} simulated s", best[0] >= load.floor)


def _crowd(crowd: Crowd) -> Row:
    """Return the row of a crowd, compared with few clients and the same load in the same run."""
    few = crowd_per_cpu(FEW, min(FEW, crowd.members), TRIES)
    best = crowd_per_cpu(crowd.producers, crowd.members, TRIES)
    figure = f"{best:,.4g} simulated s, {best / few:.2f} of that with {FEW}"
    held = best >= crowd.floor and best >= crowd.least * few
    return Row(crowd.name, figure, "", f"{crowd.floor:g} simulated s, {crowd.least:g}", held)


def _recorded(load: Load) -> Row:
    spec = cluster_under(load.brokers, load.partitions, load.batches, load.batch).spec
    best = recorded_per_cpu(spec, load.simulated_us, TRIES)
    return Row("the same, recorded", f"{best:,.4g} simulated s", "", f"{load.floor:,g} simulated s", best >= load.floor)


def _seek(load: Load) -> Row:
    timeline = remembered(
        cluster_under(load.brokers, load.partitions, load.batches, load.batch).spec, load.simulated_us
    )
    spent = seeks_ms(timeline, TRIES)
    kept = timeline.bytes / 2**20
    what = f"seek anywhere in {load.simulated_us // SECOND // 60} minutes, {load.brokers} x {load.partitions:,}"
    figure = (
        f"{spent[len(spent) // 2]:.0f} ms, {spent[-1]:.0f} ms the worst of {len(spent)}, "
        f"{kept:.1f} MiB in {timeline.keyframes} keyframes"
    )
    held = spent[-1] <= load.floor and kept <= SEEK_MB
    return Row(what, figure, "", f"{load.floor:g} ms, {SEEK_MB} MiB", held)
