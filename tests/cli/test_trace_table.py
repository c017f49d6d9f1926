"""The worked table on the command line: readable at any width, and never in the way of a document."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from playbooks.engine.manual_session import ManualSession
from playbooks.parser.loader import loads
from tests.cli.running import Typed
from tests.cluster_model.tracing import CASES, run
from tests.playbooks.engine.test_manual_session import TWO
from tests.support.breadth import covering_cases
from tui.output.result import trace_lines

Type = Callable[..., Typed]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kafka", "width"), covering_cases(CASES, [80, 120]))
def test_no_line_is_wider_than_the_terminal(name: str, kafka: str, width: int) -> None:
    lines = run(name, kafka).table(width)
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)


def test_columns_are_aligned_with_their_headings() -> None:
    lines = trace_lines(run("kip-101-loss", "0.10.2").session.table.rows, 80)
    starts = [lines[0].index(head) for head in ("#", "event", "broker 1", "broker 2", "broker 3", "controller")]
    assert [
        index for index, sign in enumerate(lines[1]) if sign == "-" and lines[1][index - 1 : index] in ("", " ")
    ] == starts
    row = next(line for line in lines if line.startswith("3 "))
    assert [row[start:].split()[0] for start in starts[2:]] == ["1/1", "2/1*", "down", "2"]


def test_a_cell_says_what_a_broker_holds_and_believes() -> None:
    lines = trace_lines(run("zombie-leader-gc-pause", "3.9").session.table.rows, 120)
    at = lines[0].index("broker 1")
    begin = next(index for index, line in enumerate(lines) if line.startswith("8 "))
    cell = [line[at : at + 18].strip() for line in lines[begin : begin + 6]]
    assert cell == ["102/100* e0", "ISR {1,2,3}", "want {1}", "..99(0) q(0) p(0)", "[0@0]", "2:100 3:100"]


def test_a_follower_that_has_failed_is_marked() -> None:
    lines = trace_lines(run("kip-320-unfenced-follower", "2.1").session.table.rows, 80)
    assert any("failed" in line.split() for line in lines)


def test_several_partitions_have_a_block_each_where_they_change() -> None:
    session = ManualSession.start(loads(TWO, "two.yaml"))
    session.finish()
    lines = trace_lines(session.table.rows, 100)
    assert lines[0].split() == ["#", "event", "partition", "broker", "1", "broker", "2", "broker", "3", "controller"]
    at = lines[0].index("partition")
    blocks = [(line[:4].strip(), line[at : at + 9].strip()) for line in lines[2:] if line[at : at + 6] == "orders"]
    assert blocks == [
        ("1", "orders-0"), ("", "orders-1"), ("2", "orders-1"), ("3", "orders-0"), ("4", "orders-1"),
        ("5", "orders-0"), ("", "orders-1"),
    ]  # fmt: skip


def test_a_long_name_and_a_long_log_stay_in_their_cell() -> None:
    text = TWO.replace("names: [a]", f"names: [{'x' * 60}, {'y' * 40}]")
    session = ManualSession.start(loads(text.replace("1: {leo: 1,", "1: {leo: 2,"), "two.yaml"))
    assert session.finish().verdict == "pass"
    assert max(map(len, trace_lines(session.table.rows, 90))) <= 90


def test_run_prints_the_table_by_name_and_the_document_alone_on_stdout(
    typed: Type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    document = typed("run", "kip-101-loss", "--set", "cluster.kafka=3.9", "--json")
    assert json.loads(document.out)["profile"] == "3.9-kraft"
    done = typed("run", "kip-101-loss", "--set", "cluster.kafka=3.9")
    table = run("kip-101-loss", "3.9").table(80)
    assert "\n".join(table) in done.out
    assert "floodmark" not in document.out.splitlines()[0]


def test_rows_before_a_show_are_printed_before_it(typed: Type, here: Path) -> None:
    (here / "two.yaml").write_text(TWO.replace("  - crash", "  - show\n  - crash"))
    lines = typed("run", "two.yaml").out.splitlines()
    shown = [index for index, line in enumerate(lines) if line.startswith("state of orders-0 ")]
    rows = [index for index, line in enumerate(lines) if line[:2] in ("4 ", "5 ")]
    assert rows[0] < shown[0] < rows[1] < shown[1]
    assert sum(line.startswith("LEO/HW, * acts") for line in lines) == 1
