"""``vary`` and ``given``: how they are read, what their cells are, and that each cell is a playbook of its own."""

from functools import partial
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from playbooks.campaign.workloads.grid_workload import GridRun, jobs_of, run_jobs
from playbooks.engine.replay import replay
from playbooks.engine.worker_pool import run_all
from playbooks.errors import Problem
from playbooks.model.playbook import Grid, GridAxis, Playbook, cell_label
from playbooks.parser.document.grid import AxisError, paths_of
from playbooks.parser.document.yaml_source import Mapping, compose
from playbooks.parser.loader import load, loads
from playbooks.parser.settings import cell_text, settings_of, without_grid
from playbooks.recording.reader import read_session
from playbooks.results.sweep_matrix import SweepMatrix, to_json
from tests.support.mistakes import keys, messages, mistakes_of, places

HERE = partial(run_all, workers=1)
HEAD = """floodmark: 1
name: grid
title: A grid
seed: 7
cluster: {kafka: "3.9"}
topics:
  - {name: orders, partitions: 1, replication: 3, config: {min.insync.replicas: 2}}
  - name: bills.eu
    partitions: 1
    replication: 3
clients:
  producers:
    - {name: checkout, topic: orders, rate: 20/s, config: {acks: all}}
    - {name: clicks, topic: orders, rate: 20/s}
"""
TAIL = """
steps:
  - at: 3s
    inject: crash
    target: leader(orders-0)
    for: 2s
settle: 15s
expect:
  - acked() > 0
"""


MANY = f"  settle: [{', '.join(f'{n}s' for n in range(1, 202))}]\n"


def playbook(vary: str, tail: str = TAIL) -> Playbook:
    return loads(f"{HEAD}vary:\n{vary}{tail}", "grid.yaml")


def problems(vary: str, tail: str = TAIL) -> tuple[Problem, ...]:
    return mistakes_of(lambda: playbook(vary, tail))


def root_of(text: str) -> Mapping:
    node, _problems = compose(text, "grid.yaml")
    assert isinstance(node, Mapping)
    return node


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        ("seed", ()),
        ("kafka", ("cluster.kafka",)),
        ("mode", ("cluster.mode",)),
        ("acks", ("clients.producers.checkout.config.acks", "clients.producers.clicks.config.acks")),
        ("min.insync.replicas", ("topics.orders.config.min.insync.replicas", "topics.2.config.min.insync.replicas")),
        ("replica.lag.time.max.ms", ("cluster.config.replica.lag.time.max.ms",)),
        (
            "producers.config.linger.ms",
            tuple(f"clients.producers.{n}.config.linger.ms" for n in ("checkout", "clicks")),
        ),
        ("cluster.brokers", ("cluster.brokers",)),
        ("steps.1.for", ("steps.1.for",)),
    ],
)
def test_axis_names_expand_to_paths(name: str, paths: tuple[str, ...]) -> None:
    assert paths_of(name, root_of(HEAD)) == paths


def test_a_variable_comes_before_all_else() -> None:
    root = root_of(HEAD + "vars: {kafka: x, pause: 3s}\n")
    assert paths_of("pause", root) == ("vars.pause",)
    assert paths_of("kafka", root) == ("vars.kafka",)


@pytest.mark.parametrize(
    "name", ["akcs", "", "topics..x", "isolation.level", "groups.config.isolation.level", "name.x"]
)
def test_a_name_that_leads_nowhere(name: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(AxisError) as caught:
        paths_of(name, root_of(HEAD))
    assert str(caught.value) == snapshot


def test_cells_come_with_the_last_axis_fastest() -> None:
    grid = playbook("  acks: [1, all]\n  kafka: ['3.9', 4.0]\n  seed: [1..2, 9]\n").grid
    assert grid is not None
    assert (grid.size, grid.names) == (12, ("acks", "kafka", "seed"))
    cells = [cell_label(cell) for cell in grid.cells()]
    assert cells[:4] == [f"acks=1 kafka={kafka}" for kafka in ("3.9 seed=1", "3.9 seed=2", "3.9 seed=9", "4.0 seed=1")]
    assert len(set(cells)) == 12


def test_cases_are_crossed_with_the_axes_beside_them() -> None:
    grid = playbook("  cases: [{acks: 1, min.insync.replicas: 1}, {acks: all, min.insync.replicas: 2}]\n"
                    "  kafka: [3.8, 3.9]\n").grid  # fmt: skip
    assert grid is not None
    assert [cell_label(cell) for cell in grid.cells()] == [
        f"acks={acks} min.insync.replicas={least} kafka={kafka}"
        for acks, least in (("1", "1"), ("all", "2")) for kafka in ("3.8", "3.9")
    ]  # fmt: skip


def test_an_empty_grid_is_none() -> None:
    assert loads(HEAD + "vary: {}\n" + TAIL, "grid.yaml").grid is None
    assert loads(HEAD + "vary:\n" + TAIL, "grid.yaml").grid is None


@pytest.mark.parametrize(
    ("vary", "key"),
    [
        ("  seed: 1..2000\n", "vary.seed"),
        ("  seed: [1..600, 700..1200]\n", "vary"),
        ("  seed: 5..4\n", "vary.seed"),
        (MANY, "vary"),
        ("  cases: [{acks: 1}]\n  acks: [1]\n", "vary.acks"),
        ("  cases: [{seed: 1..3}]\n", "vary.cases[1].seed"),
        ("  cases: []\n", "vary.cases"),
    ],
    ids=["seeds", "cells", "backwards", "cells-apart-from-seeds", "twice", "range-in-a-case", "no-case"],
)
def test_grids_that_are_refused(vary: str, key: str, snapshot: SnapshotAssertion) -> None:
    found = problems(vary)
    assert keys(found) == [key]
    assert messages(found) == snapshot


def test_a_value_that_fails_only_in_company_is_reported_as_the_cell(snapshot: SnapshotAssertion) -> None:
    """4.0 has no ZooKeeper: each of the two values is in a cell that runs."""
    told = problems("  kafka: ['3.9', '4.0']\n  mode: [zookeeper, kraft]\n")
    assert places(told) == ["grid.yaml:16:3 vary"]
    assert messages(told) == snapshot


def test_the_order_of_a_version_and_its_mode_does_not_matter() -> None:
    """A cell is checked whole: 0.10.2 does not do with KRaft, and need not."""
    text = HEAD.replace('kafka: "3.9"', 'kafka: "3.9", mode: kraft')
    cases = "vary:\n  cases: [{kafka: 0.10.2, mode: zookeeper}, {kafka: 3.9, mode: kraft}]\n"
    grid = loads(text + cases + TAIL, "grid.yaml").grid
    assert grid is not None
    assert grid.size == 2


def test_anchors_of_the_grid_cannot_be_used_outside_it() -> None:
    told = problems("  acks: [&level 1, all]\n", TAIL.replace("acked() > 0", "*level"))
    assert told


EXPECT = """
expect:
  - end: acked_lost() == 0
    given: {acks: all}
  - end: acked() > 0
    given: {acks: [1, 0], kafka: ["3.9", "4.0"]}
  - end: sent() > 0
    given: {mode: kraft, min.insync.replicas: 2}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("acks", "kafka", "least", "texts"),
    [
        ("all", "3.9", "2", ["acked_lost() == 0", "sent() > 0"]),
        ("1", "3.9", "2", ["acked() > 0", "sent() > 0"]),
        ("1", "2.8", "2", []),
        ("0", "4.0", "1", ["acked() > 0"]),
    ],
)
def test_given_counts_where_the_file_says_so(acks: str, kafka: str, least: str, texts: list[str]) -> None:
    axes = f"vary: {{acks: [all, {acks}], kafka: ['3.9', '{kafka}'], min.insync.replicas: [2, {least}]}}\n"
    text = HEAD + axes.replace(f"[all, {acks}]", f"[{acks}]").replace(f"['3.9', '{kafka}']", f"['{kafka}']").replace(
        f"[2, {least}]", f"[{least}]") + EXPECT  # fmt: skip
    root = root_of(text)
    (cell,) = list(loads(text, "grid.yaml").grid.cells())  # type: ignore[union-attr]
    read = loads(cell_text(text, settings_of(cell, root)), "grid.yaml")
    assert [each.text for each in read.expectations] == texts


def test_given_looks_at_the_file_and_not_at_the_grid() -> None:
    """All producers must have the value: clicks says nothing, and so it does not count."""
    assert [each.text for each in loads(HEAD + EXPECT, "grid.yaml").expectations] == []
    both = HEAD.replace("rate: 20/s}", "rate: 20/s, config: {acks: all}}").replace("bills.eu", "bills")
    expect = EXPECT.replace(", min.insync.replicas: 2", "")
    assert [each.text for each in loads(both + expect, "g.yaml").expectations] == ["acked_lost() == 0"] + (
        [] if loads(both, "g.yaml").spec.mode != "kraft" else ["sent() > 0"]
    )


def test_a_step_counts_in_some_cells_only() -> None:
    tail = TAIL.replace("    for: 2s", "    for: 2s\n    given: {kafka: '4.0'}")
    assert playbook("  kafka: ['3.9', '4.0']\n", tail).steps == ()
    read = loads(cell_text(HEAD + "vary: {kafka: ['4.0']}" + tail, {"cluster.kafka": "4.0"}), "grid.yaml")
    assert len(read.steps) == 1


@pytest.mark.slow
@given(st.lists(st.sampled_from(["1", "all", "0"]), min_size=1, max_size=3, unique=True), st.booleans(), st.booleans())
def test_a_cell_without_its_grid_keeps_every_line(values: list[str], flow: bool, comments: bool) -> None:
    note = "  # why\n" if comments else ""
    listed = f"  acks: [{', '.join(values)}]\n" if flow else "  acks:\n" + "".join(f"    - {each}\n" for each in values)
    vary = f"vary: {{acks: [{', '.join(values)}]}}\n" if flow and not comments else f"vary:\n{note}{listed}"
    text = HEAD + vary + note + TAIL
    plain = without_grid(text)
    assert loads(plain, "grid.yaml").grid is None
    assert plain.count("\n") == text.count("\n")
    assert plain.index("steps:") - plain.rindex("\n", 0, plain.index("steps:")) == 1
    assert loads(plain, "grid.yaml").steps == loads(text, "grid.yaml").steps
    assert without_grid(plain) == plain
    assert yaml.safe_load(plain) == {**yaml.safe_load(text), "vary": {}}


def test_axes_are_added_and_replaced() -> None:
    grid = Grid((GridAxis("acks", ("1",)),))
    assert grid.with_axis(GridAxis("acks", ("all", "1"))).size == 2
    assert grid.with_axis(GridAxis("seed", ("1", "2"))).names == ("acks", "seed")
    assert grid.with_axis(GridAxis("seed", ("1", "2"))).without("seed") == grid


@pytest.mark.slow
def test_every_cell_is_recorded_with_its_settings_and_replays_alone(tmp_path: Path) -> None:
    read = playbook("  acks: [1, all]\n  seed: [3]\n")
    assert read.grid is not None
    varying = GridRun(read, read.grid, 7, {"settle": "15s"}, tmp_path)
    matrix, outcomes = run_jobs(varying, HERE)
    assert [outcome.error for outcome in outcomes] == ["", ""]
    levels = []
    assert [row.result.seed for row in matrix.rows if row.result] == [3, 3]
    for (_cell, job), outcome in zip(jobs_of(varying), outcomes, strict=True):
        assert job.settings["settle"] == "15s"
        kept = loads((Path(outcome.session) / "playbook.yaml").read_text(), "kept.yaml")
        assert kept.grid is None
        assert outcome.result is not None
        assert replay(read_session(Path(outcome.session))).digest == outcome.result.digest
        levels.append({str(each.config["acks"]) for each in kept.spec.producers})
    assert levels == [{"1"}, {"all"}]


@pytest.mark.slow
def test_cells_differ_only_in_what_is_varied(tmp_path: Path) -> None:
    read = playbook("  acks: [1, all]\n")
    assert read.grid is not None
    matrix, _outcomes = run_jobs(GridRun(read, read.grid, 7, {}), HERE)
    alone = [
        loads(cell_text(read.source, {f"clients.producers.{n}.config.acks": acks for n in ("checkout", "clicks")}), "x")
        for acks in ("1", "all")
    ]
    assert alone[0].spec.topics == alone[1].spec.topics
    assert alone[0].spec.producers != alone[1].spec.producers
    document = to_json(matrix, "")
    assert [cell["settings"] for cell in document["cells"]] == [{"acks": "1"}, {"acks": "all"}]
    assert {cell["result"]["seed"] for cell in document["cells"]} == {7}
    assert isinstance(matrix, SweepMatrix)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_axis_may_be_a_variable_of_the_file_or_of_a_fragment(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "load.yaml").write_text(
        "floodmark: 1\nfragment: load\nvars: {rate: 10/s}\nclients:\n  producers:\n"
        "    - {name: more, topic: orders, rate: '${rate}', config: {acks: all}}\n"
    )
    tail = TAIL.replace("for: 2s", "for: ${pause}") + "  - end: acked() > 1\n    given: {pause: 3s}\n"
    path = tmp_path / "grid.yaml"
    path.write_text(
        HEAD + "include: load.yaml\nvars: {pause: 1s}\nvary: {pause: [1s, 3s], rate: [10/s, 40/s]}\n" + tail
    )
    read = load(path)
    assert read.grid is not None
    jobs = jobs_of(GridRun(read, read.grid, 7, {}))
    cells = [loads(job.text, job.path, job.fragments) for _cell, job in jobs]
    assert [(each.steps[0].for_us, each.spec.producers[0].interval_us) for each in cells] == [
        (1_000_000, 100_000), (1_000_000, 25_000), (3_000_000, 100_000), (3_000_000, 25_000),
    ]  # fmt: skip
    assert [len(each.expectations) for each in cells] == [1, 1, 2, 2]
    path.write_text(path.read_text().replace("10/s, 40/s", "fast"))
    found = mistakes_of(lambda: load(path))
    assert keys(found) == ["vary.rate[1]"]
    assert [each.replace(str(path), "grid.yaml") for each in messages(found)] == snapshot


def test_given_takes_a_variable_that_a_fragment_brings(tmp_path: Path) -> None:
    (tmp_path / "load.yaml").write_text(
        "floodmark: 1\nfragment: load\nvars: {rate: 10/s}\nclients:\n  producers:\n"
        "    - {name: more, topic: orders, rate: '${rate}'}\n"
    )
    path = tmp_path / "grid.yaml"
    path.write_text(
        f"{HEAD}include: load.yaml\nvary: {{rate: [10/s, 40/s]}}\n{TAIL}"
        "  - end: acked() > 1\n    given: {rate: 40/s}\n"
    )
    read = load(path)
    assert read.grid is not None
    jobs = jobs_of(GridRun(read, read.grid, 7, {}))
    cells = [loads(job.text, job.path, job.fragments) for _cell, job in jobs]
    assert [len(each.expectations) for each in cells] == [1, 2]


def test_given_is_a_use_of_a_variable(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    path = tmp_path / "grid.yaml"
    inner = "  - repeat: 2\n    every: 2s\n    steps:\n      - {heal: all, given: {loud: 'yes'}}\nsettle"
    path.write_text(f"{HEAD}vars: {{loud: 'yes'}}\n{TAIL.replace('settle', inner)}")
    assert [step.verb for step in load(path).steps].count("heal") == 2
    path.write_text(f"{HEAD}vars: {{calm: 'yes'}}\n{TAIL}  - end: acked() > 1\n    given: {{calm: 'no'}}\n")
    assert len(load(path).expectations) == 1
    path.write_text(f"{HEAD}vars: {{calm: 'yes'}}\n{TAIL}")
    found = mistakes_of(lambda: load(path))
    assert keys(found) == ["vars"]
    assert messages(found) == snapshot


QUOTED = ["@octocat", "[x](..) | <b>", "[1, 2]", "010", "yes", "# no comment", "a: b", '"said"', "'", "~", "plain"]


@pytest.mark.slow
def test_a_text_in_quotes_stays_what_it_is() -> None:
    values = yaml.safe_dump(QUOTED, default_style='"').replace("\n- ", "\n    - ").replace("- ", "    - ", 1)
    read = playbook(
        f"  word:\n{values}", "vars: {word: none}\n" + TAIL.replace("for: 2s", "for: 2s\n    note: ${word}")
    )
    assert read.grid is not None
    jobs = jobs_of(GridRun(read, read.grid, 7, {}))
    assert [loads(job.text, job.path).steps[0].note for _cell, job in jobs] == QUOTED
    assert [cell_label(cell) for cell, _job in jobs] == [f"word={text}" for text in QUOTED]


@pytest.mark.slow
def test_a_text_in_quotes_stays_what_it_is_where_none_has_to_be_put_in() -> None:
    read = playbook("  steps.1.note: ['@octocat', \"[1, 2]\"]\n  acks: ['1', 'all']\n  kafka: ['3.9']\n")
    assert read.grid is not None
    assert [axis.values for axis in read.grid.axes] == [('"@octocat"', '"[1, 2]"'), ("1", "all"), ("3.9",)]
    jobs = jobs_of(GridRun(read, read.grid, 7, {}))
    assert [loads(job.text, job.path).steps[0].note for _cell, job in jobs] == ["@octocat"] * 2 + ["[1, 2]"] * 2
