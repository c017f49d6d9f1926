"""Imports go downwards only: tui, gateway and spark_report, then playbooks, then faults, then cluster_model."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.tree import ROOMS, ROOT, imports, module_of, modules, room_of

BELOW = {
    "cluster_model": (),
    "faults": ("cluster_model",),
    "playbooks": ("faults", "cluster_model"),
    "gateway": ("playbooks", "faults", "cluster_model"),
    "kafka_logs": ("gateway", "playbooks", "faults", "cluster_model"),
    "tui": ("kafka_logs", "gateway", "playbooks", "faults", "cluster_model"),
    "spark_report": ("playbooks", "cluster_model"),
}
REPORT_MAY_USE = (
    "cluster_model.protocol.events",
    "cluster_model.protocol.errors",
    "cluster_model.util.latency",
    "cluster_model.util.quantities",
    "playbooks.results.expected_losses",
    "playbooks.session_format.format_1",
    "playbooks.session_format.session_finder",
    "playbooks.session_format.session_files",
    "playbooks.text",
    "playbooks.version",
)
CAMPAIGNS = ("spark_report.campaigns", "spark_report.fleet")
"""Parts of the report that run playbooks, or read what a storm has kept."""
HEAVY = {"pyspark", "py4j", "spark_report"}
WALL_CLOCK_AND_CHANCE = {"time", "os", "random", "threading", "asyncio", "datetime", "secrets", "uuid", "socket", "sys"}


@cache
def uses() -> tuple[tuple[str, str, int], ...]:
    """(module, what it imports, line) over the whole product."""
    return tuple((name, imported, line) for name, tree in modules().items() for imported, line in imports(tree))


def test_there_is_something_in_every_room() -> None:
    assert {room_of(name) for name in modules()} == set(ROOMS)
    assert len(uses()) > 100


def test_arrows_go_downwards_only() -> None:
    upward = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in uses()
        if room_of(imported) in ROOMS and room_of(imported) not in (room_of(name), *BELOW[room_of(name)])
    ]
    assert upward == []


def test_the_product_needs_nothing_of_a_checkout() -> None:
    """Manual, tests and benchmarks are beside the product, and not installed with it."""
    foreign = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in uses()
        if room_of(imported) in ("docs", "tests", "benchmarks")
    ]
    assert foreign == []


def test_the_report_knows_only_the_words_of_the_record() -> None:
    strange = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in uses()
        if room_of(name) == "spark_report"
        and not name.startswith(CAMPAIGNS)
        and room_of(imported) in ROOMS
        and room_of(imported) != "spark_report"
        and module_of(imported) not in REPORT_MAY_USE
    ]
    assert strange == []


def test_the_words_of_the_record_lead_to_nothing_that_runs_a_session() -> None:
    found = reachable(*REPORT_MAY_USE)
    ours = {name for name in found if room_of(name) in ROOMS and "." in name}
    # Packages are loaded with their modules; these import nothing themselves.
    packages = {"cluster_model.protocol", "cluster_model.util", "playbooks.results", "playbooks.session_format"}
    assert [line for name in packages for line in imports(modules()[name])] == []
    events = {name for name in ours if name.startswith("cluster_model.protocol.events.")}
    assert ours - {*REPORT_MAY_USE} - packages - events == {
        "playbooks.session_format.bundle",
        "playbooks.session_format.filesystem",
    }


def test_the_model_is_pure() -> None:
    impure = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in uses()
        if room_of(name) == "cluster_model" and room_of(imported) != "cluster_model"
        and (room_of(imported) not in sys.stdlib_module_names or room_of(imported) in WALL_CLOCK_AND_CHANCE)
    ]  # fmt: skip
    assert impure == []


def test_faults_need_nothing_but_the_model() -> None:
    foreign = [
        f"{name}:{line} imports {imported}"
        for name, imported, line in uses()
        if room_of(name) == "faults"
        and room_of(imported) not in (*sys.stdlib_module_names, "faults", "cluster_model")
    ]  # fmt: skip
    assert foreign == []


def reachable(*begin: str) -> dict[str, str]:
    """Every module, ours or not, that the imports of rooms or modules lead to → who imports it."""
    known = modules()
    found = {name: "itself" for name in known if name in begin or room_of(name) in begin}
    waiting = list(found)
    while waiting:
        name = waiting.pop()
        for imported, _ in imports(known[name]):
            module = module_of(imported)
            for each in (module, *([module.rpartition(".")[0]] if "." in module else [])):
                if each not in found:
                    found[each] = name
                    if each in known:
                        waiting.append(each)
    return found


def test_no_spark_within_reach_of_the_screen() -> None:
    heavy = {name: by for name, by in reachable("tui").items() if room_of(name) in HEAVY}
    assert heavy == {}


@pytest.mark.slow
def test_importing_a_whole_room_loads_no_spark() -> None:
    """One room after the other in one process, the lower first: the first that shows something has loaded it."""
    rooms = ("cluster_model", "faults", "playbooks", "gateway", "kafka_logs", "tui")
    program = "import sys, importlib\n"
    for room in rooms:
        names = [name for name in modules() if room_of(name) == room and not name.endswith("__main__")]
        program += "".join(f"importlib.import_module({name!r})\n" for name in names)
        program += f"print({room!r}, *sorted({{m.partition('.')[0] for m in sys.modules}} & {HEAVY!r}))\n"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == list(rooms)


def test_a_short_command_does_not_pay_for_what_it_does_not_use() -> None:
    heavy = ("pyarrow", "textual", "pandas", "faker", "kio", "asyncio", "re2", "tomlkit")
    program = f"import sys, tui.cli.main\nprint([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_recorded_run_does_not_pay_for_pandas(tmp_path: Path) -> None:
    program = f"""import sys
from tui.cli.main import app
try:
    app(["run", "leader-crash", "--out", {str(tmp_path)!r}])
except SystemExit as ended:
    print(ended.code, "pandas" in sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "0 False", done.stderr
    assert list(tmp_path.glob("*/events.parquet"))
