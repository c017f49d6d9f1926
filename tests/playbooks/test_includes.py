"""Includes: fragments give defaults and steps, their mistakes are told in them, and sessions keep their texts."""

import pickle
import shutil
from pathlib import Path

import pytest

from playbooks.engine.session_runner import start_session
from playbooks.engine.worker_pool import Job, perform
from playbooks.errors import PlaybookError
from playbooks.library import bundled
from playbooks.model.playbook import Playbook
from playbooks.parser.document.includes import is_fragment
from playbooks.parser.loader import changed, fragment_of, load, loads, read_fragment
from playbooks.parser.settings import SettingError
from tests.support.shop import BASE, COMMON, DARK, FILES, KEPT, MAIN, WRITTEN_OUT, alike, save


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files in a directory, which is the current one."""
    monkeypatch.chdir(tmp_path)
    save(tmp_path)
    return tmp_path


def told(path: str | Path = "main.yaml") -> list[str]:
    with pytest.raises(PlaybookError) as caught:
        load(path)
    return [str(problem) for problem in caught.value.problems]


def test_a_playbook_with_includes_is_the_one_written_out(shop: Path) -> None:
    whole, plain = load("main.yaml"), loads(WRITTEN_OUT, "plain.yaml")
    assert alike(whole, plain)
    assert whole.fragments == KEPT
    assert set(whole.variables) == {"rate", "zone", "outage"}
    assert start_session(whole).finish().digest == start_session(plain).finish().digest


def test_it_is_the_same_wherever_it_lies_and_in_another_process(shop: Path) -> None:
    whole = load("main.yaml")
    assert load(shop / "main.yaml").fragments == whole.fragments
    assert pickle.loads(pickle.dumps(whole)) == whole
    shutil.rmtree(shop / "parts")
    assert loads(whole.source, "elsewhere/x.yaml", whole.fragments).steps == whole.steps
    outcome = perform(Job(whole.source, "gone/main.yaml", fragments=whole.fragments), lambda _progress: None)
    assert outcome.result is not None
    assert outcome.result.digest == start_session(whole).finish().digest


NEEDED = (
    "parts/dark.yaml:9:14: steps[2].include: found no value for the variable 'note' of common.yaml, which must be "
    "given: with: {note: ...} (included by main.yaml:10)"
)


def test_a_mistake_in_a_fragment_is_told_there(shop: Path) -> None:
    (shop / "parts/dark.yaml").write_text(DARK.replace("inject: crash", "inject: crsh").replace("note: ", "nte: "))
    (shop / "parts/base.yaml").write_text(BASE.replace("latency: 5ms", "latency: 5"))
    found = told()
    assert [message.split(", allowed")[0] for message in found] == [
        "parts/base.yaml:16:53: steps[1].latency: found '5'",
        "parts/dark.yaml:8:25: steps[1].inject: found 'crsh'",
        NEEDED,
        "parts/dark.yaml:10:12: steps[2].with: found 'nte', which is no variable of common.yaml",
    ]
    assert found[0].endswith("(included by main.yaml:3)")
    assert found[1].endswith("(included by main.yaml:10)")


def test_a_value_that_an_include_gave_is_told_with_its_way(shop: Path) -> None:
    (shop / "main.yaml").write_text(MAIN.replace("outage: 8s", "outage: 8"))
    (found,) = told()
    assert found.startswith("parts/dark.yaml:8:63: steps[1].for: found '8', allowed is a duration")
    assert found.endswith("(from ${how_long}, line 11 of the playbook; included by main.yaml:10)")


def test_places_behind_an_include_are_those_of_the_file(shop: Path) -> None:
    (shop / "main.yaml").write_text(
        MAIN.replace("- heal: all", "- heal: al").replace("name: payments", "nme: payments")
    )
    places = [message.split(": found")[0] for message in told()]
    assert places == ["main.yaml:7:6: topics[1].nme", "main.yaml:12:11: steps[3].heal"]


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("main.yaml", "parts/base", "parts/bse", "main.yaml:3:10: include: found no file parts/bse.yaml"),
        ("main.yaml", "parts/dark.yaml", "az-los",
         "main.yaml:10:14: steps[2].include: found no bundled fragment 'az-los' (did you mean 'az-loss'?)"),
        ("main.yaml", "parts/dark.yaml", "main.yaml", "main.yaml:10:14: steps[2].include: found main.yaml, allowed"),
        ("main.yaml", "parts/dark.yaml", "parts/", "main.yaml:10:14: steps[2].include: found parts, which is no file"),
        ("main.yaml", "parts/dark.yaml", "parts/base.yaml",
         "main.yaml:10:14: steps[2].include: found parts/base.yaml with 'seed', allowed"),
        ("main.yaml", "    with", "    after: 5s\n    with", "main.yaml:11:5: steps[2].after: found 'after' beside"),
        ("main.yaml", "with: {", "with: [{", "main.yaml:12:3: not YAML"),
        ("main.yaml", "include: parts/base.yaml", "include: [[]]", "main.yaml:3:11: include[1]: found a list"),
        ("parts/dark.yaml", "../common.yaml", "dark.yaml",
         "parts/dark.yaml:9:14: steps[2].include: found 'parts/dark.yaml', which includes itself: parts/dark.yaml inc"),
        ("common.yaml", "fragment: common", "fragment: common\nexpct: []",
         "common.yaml:3:1: expct: found an unknown key 'expct' (did you mean 'expect'?) (included by parts/dark.yaml"),
        ("common.yaml", "steps: [", "steps: [[", "common.yaml:5:1: not YAML"),
        ("common.yaml", "floodmark: 1", "floodmark: 2", "common.yaml:1:12: floodmark: found '2', allowed is 1"),
        ("common.yaml", "vars: {note: }", "vars: {note: }\nvars: {}", "common.yaml:4:1: vars: found the key twice"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_include(shop: Path, file: str, old: str, new: str, message: str) -> None:
    assert old in FILES[file]
    (shop / file).write_text(FILES[file].replace(old, new))
    assert [each for each in told() if each.startswith(message)]


def test_includes_in_a_circle_are_named(shop: Path) -> None:
    (shop / "parts/base.yaml").write_text(BASE + "include: ../common.yaml\n")
    (shop / "common.yaml").write_text(COMMON + "include: parts/base.yaml\n")
    circle = "parts/base.yaml includes common.yaml includes parts/base.yaml"
    assert any(circle in message for message in told())


def test_includes_nest_eight_deep_and_no_deeper(shop: Path) -> None:
    for i in range(10):
        inner = f"steps: [{{include: f{i + 1}.yaml}}]" if i < 9 else "steps: [{heal: all}]"
        (shop / f"f{i}.yaml").write_text(f"floodmark: 1\nfragment: f{i}\n{inner}\n")
    head = "floodmark: 1\ntopics: [{name: orders, replication: 3}]\n"
    (shop / "main.yaml").write_text(head + "steps: [{include: f2.yaml}]\n")
    assert len(load("main.yaml").steps) == 1
    (shop / "main.yaml").write_text(head + "steps: [{include: f1.yaml}]\n")
    assert "f8.yaml:3:19: steps[1].include: found fragments included by each other more than 8 deep" in told()[0]


def test_fragments_do_not_grow_out_of_proportion(shop: Path) -> None:
    for i in range(6):
        inner = ", ".join([f"{{include: f{i + 1}.yaml}}"] * 9) if i < 5 else "{heal: all}"
        (shop / f"f{i}.yaml").write_text(f"floodmark: 1\nfragment: f{i}\nsteps: [{inner}]\n")
    (shop / "main.yaml").write_text(
        "floodmark: 1\ntopics: [{name: orders, replication: 3}]\nsteps: [{include: f0.yaml}]\n"
    )
    assert any("found more than 200 includes, the most allowed" in message for message in told())


def test_a_fragment_at_the_head_of_two_others_counts_once(shop: Path) -> None:
    (shop / "main.yaml").write_text(MAIN.replace("parts/base.yaml", "[parts/base.yaml, one.yaml]"))
    (shop / "one.yaml").write_text("floodmark: 1\nfragment: one\ninclude: parts/base.yaml\ntags: []\n")
    assert any("one.yaml:4:1: tags: found an unknown key" in message for message in told())
    (shop / "one.yaml").write_text("floodmark: 1\nfragment: one\ninclude: parts/base.yaml\nvars: {rate: 30/s}\n")
    playbook = load("main.yaml")
    assert [topic.name for topic in playbook.spec.topics] == ["orders", "payments"]
    assert playbook.spec.producers[0].interval_us == 33_333


def test_a_variable_of_a_fragment_at_the_head_must_be_given(shop: Path) -> None:
    (shop / "parts/base.yaml").write_text(BASE.replace("rate: 20/s", "rate:"))
    missing = "found no value for the variable 'rate' of parts/base.yaml, which must be given: vars: {rate: ...}"
    assert told() == [f"main.yaml:3:10: include: {missing}"]
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
        ("rack(z1)", "zone z1 loses power"), ("rack(z2)", "zone z2 loses power"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "producers.checkout.rate",
            "'clients.producers.checkout' is in the fragment parts/base.yaml, which --set does",
        ),
        ("topics.orders.partitions", "'topics.orders' is in the fragment parts/base.yaml, which --set does not reach"),
        ("topics.ordrs.partitions", "there is no 'ordrs' here, only payments"),
    ],
)
def test_what_a_fragment_has_is_not_set(shop: Path, setting: str, message: str) -> None:
    with pytest.raises(SettingError, match="--set") as caught:
        changed(load("main.yaml"), {setting: "3"})
    assert message in str(caught.value)


def test_what_the_file_gives_a_fragment_is_set(shop: Path) -> None:
    playbook = changed(
        load("main.yaml"), {"steps.2.with.where": "c", "rate": "40/s", "outage": "3s", "cluster.kafka": "3.9"}
    )
    assert [step.target for step in playbook.steps if step.name == "crash"] == ["rack(c)"]
    assert playbook.spec.kafka == "3.9"
    assert playbook.spec.config == {"replica.lag.time.max.ms": 9000}


def test_a_fragment_is_no_playbook(shop: Path) -> None:
    assert told("common.yaml") == [
        "common.yaml:2:1: fragment: found a fragment, which is no playbook by itself: one that includes it is"
    ]
    assert is_fragment(COMMON, "x")
    assert not is_fragment(MAIN, "x")
    assert not is_fragment("a: [", "x")


def test_a_fragment_alone_is_checked_as_far_as_it_goes(shop: Path) -> None:
    found = read_fragment("parts/dark.yaml")
    assert (found.name, found.steps) == ("dark", 2)
    assert dict(found.variables) == {"where": "", "how_long": "30s", "zone": "unused here"}
    text = (
        DARK.replace("how_long: 30s", "how_long: 30")
        .replace("heal: all", "heal: al")
        .replace("where:", "where:\n  where:")
    )
    with pytest.raises(PlaybookError) as caught:
        fragment_of(text, "parts/dark.yaml")
    assert [str(each).split(", allowed")[0] for each in caught.value.problems] == [
        "parts/dark.yaml:5:3: where: found the key twice",
        "parts/dark.yaml:9:63: steps[1].for: found '30'",
    ]


def test_a_fragment_may_be_of_steps_by_hand() -> None:
    text = (
        "floodmark: 1\nfragment: x\nvars: {b: }\nsteps:\n  - {crash: {broker: '${b}'}, then: {1: {leo: 2}}}\n  - show\n"
    )
    assert fragment_of(text, "x.yaml").steps == 2
    with pytest.raises(PlaybookError, match="steps"):
        fragment_of(text.replace("crash", "inject"), "x.yaml")


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
