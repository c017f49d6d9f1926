"""Includes: fragments give defaults and steps, their mistakes are told in them, and sessions keep their texts."""

import pickle
import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.engine.session_runner import start_session
from playbooks.engine.worker_pool import PlaybookJob, execute
from playbooks.errors import Problem
from playbooks.library import bundled
from playbooks.model.playbook import Playbook
from playbooks.parser.document.includes import is_fragment
from playbooks.parser.loader import changed, fragment_of, load, loads, read_fragment
from playbooks.parser.settings import SettingError
from tests.support.mistakes import keys, messages, mistakes_of, places
from tests.support.shop import BASE, COMMON, DARK, FILES, KEPT, MAIN, WRITTEN_OUT, alike, save


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files in a directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path)
    return tmp_path


def told(path: str | Path = "main.yaml") -> tuple[Problem, ...]:
    return mistakes_of(lambda: load(path))


@pytest.mark.slow
def test_a_playbook_with_includes_is_the_one_written_out(shop: Path) -> None:
    whole, plain = load("main.yaml"), loads(WRITTEN_OUT, "plain.yaml")
    assert alike(whole, plain)
    assert whole.fragments == KEPT
    assert set(whole.variables) == {"rate", "zone", "outage"}
    assert start_session(whole).finish().digest == start_session(plain).finish().digest


@pytest.mark.slow
def test_it_is_the_same_wherever_it_lies_and_in_another_process(shop: Path) -> None:
    whole = load("main.yaml")
    assert load(shop / "main.yaml").fragments == whole.fragments
    assert pickle.loads(pickle.dumps(whole)) == whole
    shutil.rmtree(shop / "parts")
    assert loads(whole.source, "elsewhere/x.yaml", whole.fragments).steps == whole.steps
    outcome = execute(PlaybookJob(whole.source, "gone/main.yaml", fragments=whole.fragments), lambda _progress: None)
    assert outcome.result is not None
    assert outcome.result.digest == start_session(whole).finish().digest


def test_a_mistake_in_a_fragment_is_reported_there(shop: Path, snapshot: SnapshotAssertion) -> None:
    (shop / "parts/dark.yaml").write_text(DARK.replace("inject: crash", "inject: crsh").replace("note: ", "nte: "))
    (shop / "parts/base.yaml").write_text(BASE.replace("latency: 5ms", "latency: 5"))
    found = told()
    assert places(found) == [
        "parts/base.yaml:16:53 steps[1].latency",
        "parts/dark.yaml:8:25 steps[1].inject",
        "parts/dark.yaml:9:14 steps[2].include",
        "parts/dark.yaml:10:12 steps[2].with",
    ]
    assert messages(found) == snapshot


def test_a_value_that_an_include_gave_is_reported_with_its_way(shop: Path, snapshot: SnapshotAssertion) -> None:
    (shop / "main.yaml").write_text(MAIN.replace("outage: 8s", "outage: 8"))
    found = told()
    assert places(found) == ["parts/dark.yaml:8:63 steps[1].for"]
    assert messages(found) == snapshot


def test_places_behind_an_include_are_those_of_the_file(shop: Path) -> None:
    (shop / "main.yaml").write_text(
        MAIN.replace("- heal: all", "- heal: al").replace("name: payments", "nme: payments")
    )
    assert places(told()) == ["main.yaml:7:6 topics[1].nme", "main.yaml:12:11 steps[3].heal"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "old", "new", "place"),
    [
        ("main.yaml", "parts/base", "parts/bse", "main.yaml:3:10 include"),
        ("main.yaml", "parts/dark.yaml", "az-los", "main.yaml:10:14 steps[2].include"),
        ("main.yaml", "parts/dark.yaml", "main.yaml", "main.yaml:10:14 steps[2].include"),
        ("main.yaml", "parts/dark.yaml", "parts/", "main.yaml:10:14 steps[2].include"),
        ("main.yaml", "parts/dark.yaml", "parts/base.yaml", "main.yaml:10:14 steps[2].include"),
        ("main.yaml", "    with", "    after: 5s\n    with", "main.yaml:11:5 steps[2].after"),
        ("main.yaml", "with: {", "with: [{", "main.yaml:12:3"),
        ("main.yaml", "include: parts/base.yaml", "include: [[]]", "main.yaml:3:11 include[1]"),
        ("parts/dark.yaml", "../common.yaml", "dark.yaml", "parts/dark.yaml:9:14 steps[2].include"),
        ("common.yaml", "fragment: common", "fragment: common\nexpct: []", "common.yaml:3:1 expct"),
        ("common.yaml", "steps: [", "steps: [[", "common.yaml:5:1"),
        ("common.yaml", "floodmark: 1", "floodmark: 2", "common.yaml:1:12 floodmark"),
        ("common.yaml", "vars: {note: }", "vars: {note: }\nvars: {}", "common.yaml:4:1 vars"),
    ],
)
def test_invalid_includes_are_reported(
    shop: Path, file: str, old: str, new: str, place: str, snapshot: SnapshotAssertion
) -> None:
    assert old in FILES[file]
    (shop / file).write_text(FILES[file].replace(old, new))
    problems = told()
    assert place in places(problems)
    assert messages(problems) == snapshot


def test_includes_in_a_circle_are_named(shop: Path, snapshot: SnapshotAssertion) -> None:
    (shop / "parts/base.yaml").write_text(BASE + "include: ../common.yaml\n")
    (shop / "common.yaml").write_text(COMMON + "include: parts/base.yaml\n")
    assert list(map(str, told())) == snapshot


def test_includes_nest_eight_deep_and_no_deeper(shop: Path, snapshot: SnapshotAssertion) -> None:
    for i in range(10):
        inner = f"steps: [{{include: f{i + 1}.yaml}}]" if i < 9 else "steps: [{heal: all}]"
        (shop / f"f{i}.yaml").write_text(f"floodmark: 1\nfragment: f{i}\n{inner}\n")
    head = "floodmark: 1\ntopics: [{name: orders, replication: 3}]\n"
    (shop / "main.yaml").write_text(head + "steps: [{include: f2.yaml}]\n")
    assert len(load("main.yaml").steps) == 1
    (shop / "main.yaml").write_text(head + "steps: [{include: f1.yaml}]\n")
    found = told()
    assert places(found)[0] == "f8.yaml:3:19 steps[1].include"
    assert messages(found) == snapshot


def test_fragments_do_not_grow_out_of_proportion(shop: Path, snapshot: SnapshotAssertion) -> None:
    for i in range(6):
        inner = ", ".join([f"{{include: f{i + 1}.yaml}}"] * 9) if i < 5 else "{heal: all}"
        (shop / f"f{i}.yaml").write_text(f"floodmark: 1\nfragment: f{i}\nsteps: [{inner}]\n")
    (shop / "main.yaml").write_text(
        "floodmark: 1\ntopics: [{name: orders, replication: 3}]\nsteps: [{include: f0.yaml}]\n"
    )
    found = told()
    assert {key.rpartition(".")[2] for key in keys(found)} == {"include"}
    assert {message.partition(" (included")[0] for message in messages(found)} == snapshot


def test_a_fragment_at_the_head_of_two_others_counts_once(shop: Path, snapshot: SnapshotAssertion) -> None:
    (shop / "main.yaml").write_text(MAIN.replace("parts/base.yaml", "[parts/base.yaml, one.yaml]"))
    (shop / "one.yaml").write_text("floodmark: 1\nfragment: one\ninclude: parts/base.yaml\ntags: []\n")
    assert list(map(str, told())) == snapshot
    (shop / "one.yaml").write_text("floodmark: 1\nfragment: one\ninclude: parts/base.yaml\nvars: {rate: 30/s}\n")
    playbook = load("main.yaml")
    assert [topic.name for topic in playbook.spec.topics] == ["orders", "payments"]
    assert playbook.spec.producers[0].interval_us == 33_333


def test_a_variable_of_a_fragment_at_the_head_must_be_given(shop: Path, snapshot: SnapshotAssertion) -> None:
    (shop / "parts/base.yaml").write_text(BASE.replace("rate: 20/s", "rate:"))
    missing = told()
    assert places(missing) == ["main.yaml:3:10 include"]
    assert messages(missing) == snapshot
    assert changed(load_with(shop, "rate: 7/s"), {"rate": "9/s"}).source.count("rate: 9/s") == 1


def load_with(shop: Path, variable: str) -> Playbook:
    (shop / "main.yaml").write_text(MAIN.replace("vars: {", f"vars: {{{variable}, "))
    return load("main.yaml")


def test_includes_inside_groups_know_the_round(shop: Path) -> None:
    text = """\
floodmark: 1
cluster: {brokers: [{id: 1, rack: z1}, {id: 2, rack: z2}, {id: 3}]}
topics: [{name: orders, replication: 3}]
steps:
  - repeat: 2
    steps:
      - include: az-loss
        with: {zone: "z${round}", outage: 5s}
"""
    steps = [step for step in loads(text, "x.yaml").steps if step.name == "power_loss"]
    assert [(step.target, step.note) for step in steps] == [
        (f"rack({zone})", f"zone {zone} loses power") for zone in ("z1", "z2")
    ]


@pytest.mark.parametrize("setting", ["producers.checkout.rate", "topics.orders.partitions", "topics.ordrs.partitions"])
def test_settings_cannot_change_a_fragments_own_values(shop: Path, setting: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(SettingError) as caught:
        changed(load("main.yaml"), {setting: "3"})
    assert str(caught.value) == snapshot


def test_settings_change_the_variables_of_a_fragment(shop: Path) -> None:
    playbook = changed(
        load("main.yaml"), {"steps.2.with.where": "c", "rate": "40/s", "outage": "3s", "cluster.kafka": "3.9"}
    )
    assert [step.target for step in playbook.steps if step.name == "crash"] == ["rack(c)"]
    assert playbook.spec.kafka == "3.9"
    assert playbook.spec.config == {"replica.lag.time.max.ms": 9000}


def test_a_fragment_is_no_playbook(shop: Path, snapshot: SnapshotAssertion) -> None:
    found = told("common.yaml")
    assert places(found) == ["common.yaml:2:1 fragment"]
    assert messages(found) == snapshot
    assert is_fragment(COMMON, "x")
    assert not is_fragment(MAIN, "x")
    assert not is_fragment("a: [", "x")


def test_a_fragment_alone_is_checked_as_far_as_it_goes(shop: Path, snapshot: SnapshotAssertion) -> None:
    fragment = read_fragment("parts/dark.yaml")
    assert (fragment.name, fragment.steps) == ("dark", 2)
    assert dict(fragment.variables) == {"where": "", "how_long": "30s", "zone": "unused here"}
    text = (
        DARK.replace("how_long: 30s", "how_long: 30")
        .replace("heal: all", "heal: al")
        .replace("where:", "where:\n  where:")
    )
    found = mistakes_of(lambda: fragment_of(text, "parts/dark.yaml"))
    assert places(found) == ["parts/dark.yaml:5:3 where", "parts/dark.yaml:9:63 steps[1].for"]
    assert messages(found) == snapshot


def test_a_fragment_may_be_of_steps_by_hand() -> None:
    text = (
        "floodmark: 1\nfragment: x\nvars: {b: }\nsteps:\n  - {crash: {broker: '${b}'}, then: {1: {leo: 2}}}\n  - show\n"
    )
    assert fragment_of(text, "x.yaml").steps == 2
    by_clock = text.replace("crash", "inject")
    assert all(key.startswith("steps") for key in keys(mistakes_of(lambda: fragment_of(by_clock, "x.yaml"))))


@pytest.mark.slow
@pytest.mark.parametrize("name", bundled.fragment_names())
def test_bundled_fragments_are_sound_and_run(name: str) -> None:
    fragment = read_fragment(bundled.FRAGMENTS / f"{name}.yaml")
    assert fragment.name == name
    assert fragment.title
    given = ", ".join(f"{each}: a" for each, value in fragment.variables.items() if not value)
    text = f"""\
floodmark: 1
name: with-{name}
cluster: {{brokers: [{{id: 1, rack: a}}, {{id: 2, rack: b}}, {{id: 3, rack: c}}]}}
topics: [{{name: orders, partitions: 3, replication: 3, config: {{min.insync.replicas: 2}}}}]
clients:
  producers: [{{name: checkout, topic: orders, rate: 20/s, config: {{acks: all}}}}]
steps:
  - {{include: {name}, with: {{{given}}}}}
settle: 30s
expect:
  - acked_lost() == 0
  - eventually: under_replicated() == 0
    since: heal
"""
    result = start_session(loads(text, "x.yaml")).finish()
    assert result.verdict == "pass"
    assert result.ledger.acked > 400
