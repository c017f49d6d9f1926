"""The pytest plugin: playbooks as tests, fixtures, and nothing at all for those who did not ask."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import playbooks.testing.harness
import playbooks.testing.playbook_case
from playbooks.session_format import session_files
from playbooks.testing import pytest_plugin
from playbooks.testing.playbook_case import cases_of, run_case
from tui.cli.main import app

pytestmark = pytest.mark.slow

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
PLAYBOOK = """\
# A comment, and an empty line.

floodmark: 1
title: What it is about
tags: [quick, leader-crash, skipif]
seed: 5
cluster: {kafka: "3.9", brokers: 3, config: {offsets.topic.num.partitions: 1}}
topics:
  - {name: orders, placement: [[1, 2, 3]]}
clients:
  producers:
    - {name: checkout, topic: orders, rate: 100/s, config: {acks: all}}
steps:
  - {at: 1s, inject: lag, target: broker(3), for: 1s}
settle: 1s
expect:
  - acked() > 0
"""
LOSES = PLAYBOOK.replace("acks: all", "acks: 1").replace(
    "  - {at: 1s, inject: lag, target: broker(3), for: 1s}\n",
    "  - {at: 1500ms, inject: gc_pause, target: followers(orders-0), for: 1500ms}\n"
    "  - {at: 2s, inject: crash, target: leader(orders-0)}\n"
    "  - {when: 'leader(orders-0) == 2 or leader(orders-0) == 3', within: 20s, heal: all}\n",
) + "  - acked_lost() == 0\n"  # fmt: skip
GRID = PLAYBOOK + "vary:\n  acks: [all, 1]\n  seed: [1, 2]\n"


@pytest.fixture
def inside(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs pytest in an empty directory with this plugin and no other."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("FLOODMARK_SESSIONS", raising=False)

    def run(*words: str, **files: str) -> pytest.RunResult:
        for name, text in files.items():
            (pytester.path / name.replace("__", ".")).write_text(text)
        return pytester.runpytest_inprocess(*words, "-p", "no:cacheprovider", plugins=[pytest_plugin])

    return run


def lines_of(done: pytest.RunResult, mark: str) -> list[str]:
    """What it printed that has this in it, each line once."""
    return list(dict.fromkeys(line.strip() for line in (*done.outlines, *done.errlines) if mark in line))


def report_of(done: pytest.RunResult) -> list[str]:
    """What it printed of the one failure, without what is another each time."""
    begins = next(number for number, line in enumerate(done.outlines) if line.startswith("____"))
    rest = done.outlines[begins + 1 :]
    report = rest[: next(number for number, line in enumerate(rest) if line.startswith("===="))]
    return [re.sub(r"^(digest   |session  kept/).*", r"\1<id>", line) for line in report]


def test_a_playbook_that_passes_is_a_test_that_passes(inside: Any) -> None:
    done = inside("-v", a__floodmark__yaml=PLAYBOOK, other__yaml=PLAYBOOK, b__floodmark__yaml="- 1\n")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["a.floodmark.yaml::a PASSED*"])


def test_a_failure_reports_what_why_and_how_to_see_it_again(
    inside: Any, pytester: pytest.Pytester, snapshot: SnapshotAssertion
) -> None:
    done = inside("--floodmark-sessions", "kept", lost__floodmark__yaml=LOSES)
    done.assert_outcomes(failed=1)
    text = done.stdout.str()
    done.stdout.fnmatch_lines(["*playbook lost*"])
    assert report_of(done) == snapshot
    assert "Traceback" not in text
    assert "testing.py" not in text
    (session,) = session_files.sessions_under(pytester.path / "kept")
    digest = session_files.read_manifest(session).digest  # type: ignore[union-attr]
    assert f"digest   {digest}" in text
    (case,) = cases_of(pytester.path / "lost.floodmark.yaml")
    with pytest.raises(playbooks.testing.playbook_case.Failed) as caught:
        run_case(case)
    assert caught.value.result.digest == digest


def test_inconclusive_playbooks_fail_with_a_reason(inside: Any, snapshot: SnapshotAssertion) -> None:
    text = PLAYBOOK.replace("{at: 1s,", "{when: acked() < 0, within: 1s,")
    done = inside(a__floodmark__yaml=text)
    done.assert_outcomes(failed=1)
    assert report_of(done)[0] == snapshot


def test_a_bad_file_is_an_error_of_the_collection(inside: Any, snapshot: SnapshotAssertion) -> None:
    done = inside(a__floodmark__yaml=PLAYBOOK.replace("inject: lag", "inject: lga").replace("brokers: 3", "brokers: x"))
    done.assert_outcomes(errors=1)
    told = lines_of(done, "a.floodmark.yaml:")
    assert [re.split(":| ", line)[1] for line in told] == ["7", "14"]
    assert told == snapshot
    assert "Traceback" not in done.stdout.str()


def test_files_are_chosen_by_their_names_or_named(inside: Any, pytester: pytest.Pytester) -> None:
    inside(drill__yaml=PLAYBOOK, values__yaml="a: 1\n", part__yaml="floodmark: 1\nfragment: part\n").assert_outcomes()
    inside("drill.yaml").assert_outcomes(passed=1)
    assert inside("values.yaml").ret != 0
    (pytester.path / "pytest.ini").write_text("[pytest]\nfloodmark_files = *.yaml chaos/*.yml\n")
    (pytester.path / "chaos").mkdir()
    (pytester.path / "chaos/more.yml").write_text(PLAYBOOK)
    inside().assert_outcomes(passed=2)


def test_tags_are_markers(inside: Any) -> None:
    files = {
        "a__floodmark__yaml": PLAYBOOK,
        "b__floodmark__yaml": PLAYBOOK.replace("[quick, leader-crash, skipif]", "[slow]"),
    }
    for word, count in (("leader-crash", 1), ("quick or slow", 2), ("floodmark and not slow", 1), ("nothing", 0)):
        done = inside("--strict-markers", "-m", word, **files)
        assert done.parseoutcomes().get("passed", 0) == count
    inside("--strict-markers", **files).assert_outcomes(passed=2)


def test_seed_and_settings_change_every_playbook(
    inside: Any, pytester: pytest.Pytester, snapshot: SnapshotAssertion
) -> None:
    options = ("--floodmark-seed", "9", "--floodmark-set", "producers.checkout.config.acks=1")
    done = inside(*options, "--junitxml", "out.xml", lost__floodmark__yaml=LOSES.replace("acks: 1", "acks: all"))
    done.assert_outcomes(failed=1)
    assert lines_of(done, "again ") == snapshot
    inside("--junitxml", "out.xml", "a.floodmark.yaml", a__floodmark__yaml=PLAYBOOK).assert_outcomes(passed=1)
    found = dict(re.findall(r'property name="floodmark_(\w+)" value="(\w+)"', (pytester.path / "out.xml").read_text()))
    (case,) = cases_of(pytester.path / "a.floodmark.yaml")
    assert found == {"digest": run_case(case).digest, "seed": "5", "verdict": "pass"}


def test_a_grid_with_an_axis_of_seeds_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "grid.floodmark.yaml"
    path.write_text(GRID)
    assert [case.seed for case in cases_of(path, 9)] == [1, 2, 1, 2]
    path.write_text(PLAYBOOK + "vary:\n  acks: [all, 1]\n")
    assert [case.seed for case in cases_of(path, 9)] == [9, 9]
    assert [case.seed for case in cases_of(path)] == [5, 5]


@pytest.mark.parametrize("options", [("--floodmark-set", "x"), ("--floodmark-seed", "-1")], ids=" ".join)
def test_bad_options_are_usage_errors(inside: Any, options: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    done = inside(*options, a__floodmark__yaml=PLAYBOOK)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert lines_of(done, options[0]) == snapshot


def test_a_setting_that_leads_nowhere_is_reported_with_the_file(inside: Any, snapshot: SnapshotAssertion) -> None:
    done = inside("--floodmark-set", "producers.nobody.rate=1/s", a__floodmark__yaml=PLAYBOOK)
    done.assert_outcomes(errors=1)
    (told,) = lines_of(done, "nobody")
    assert "a.floodmark.yaml: " in told
    assert told == snapshot


def test_variables_and_fragments_are_read(inside: Any, pytester: pytest.Pytester) -> None:
    text = PLAYBOOK.replace("seed: 5", "seed: 5\nvars: {pace: 100/s}\ninclude: part.yaml").replace(
        "100/s, c", "'${pace}', c"
    )
    part = "floodmark: 1\nfragment: part\nexpect:\n  - sent() < 150\n"
    inside(a__floodmark__yaml=text, part__yaml=part).assert_outcomes(failed=1)
    inside("--floodmark-set", "pace=50/s").assert_outcomes(passed=1)


def test_a_grid_is_a_test_for_each_cell(inside: Any, pytester: pytest.Pytester) -> None:
    done = inside("-v", grid__floodmark__yaml=GRID)
    done.assert_outcomes(passed=4)
    done.stdout.fnmatch_lines(["*::grid?acks=all seed=1? PASSED*", "*::grid?acks=1 seed=2? PASSED*"])
    cases = cases_of(pytester.path / "grid.floodmark.yaml")
    assert [(case.seed, case.playbook.spec.producers[0].config["acks"]) for case in cases] == [
        *((1, "all"), (2, "all"), (1, "1"), (2, "1")),
    ]
    assert cases[2].command.split()[-5:] == [
        *("--seed", "1"),
        *("--set", "clients.producers.checkout.config.acks=1", "--no-vary"),
    ]
    typed = CliRunner().invoke(app, [*cases[2].command.split()[1:], "--json"])
    assert (typed.exit_code, json.loads(typed.stdout)["digest"]) == (0, run_case(cases[2]).digest)


TESTS = """\
import pytest
from playbooks.testing.harness import HarnessError

def test_default(cluster):
    assert cluster.run(until="2s").inject("lag", target="broker(3)", for_="1s").ask("acked()") > 0
    assert cluster.settle().ask("acked_lost()") == 0

@pytest.mark.floodmark(brokers=5, seed=4)
def test_marked(cluster):
    assert cluster.ask("[1, 2, 3, 4, 5]") == [1, 2, 3, 4, 5]
    assert cluster.result.seed == 4

def test_made(floodmark_cluster):
    one = floodmark_cluster(topics={"a": {"partitions": 2, "replication": 1}})
    other = floodmark_cluster("leader-crash")
    assert (one.result.seed, other.playbook.name) == (0, "leader-crash")
    with pytest.raises(HarnessError):
        floodmark_cluster(brokers=0)

def test_fails(cluster):
    cluster.expect("acked() > 0")
"""


def test_the_fixtures(inside: Any, pytester: pytest.Pytester, snapshot: SnapshotAssertion) -> None:
    done = inside("--strict-markers", test_it__py=TESTS)
    done.assert_outcomes(passed=3, failed=1)
    raised = [line for line in lines_of(done, "AssertionError: ") if line.startswith("E ")]
    assert [line.partition("Error: ")[2] for line in raised] == snapshot
    assert not (pytester.path / "sessions").exists()
    inside("--floodmark-sessions", "kept", "-k", "default or made")
    assert len(session_files.sessions_under(pytester.path / "kept")) == 3
    assert all(session_files.read_manifest(each) for each in session_files.sessions_under(pytester.path / "kept"))


UNSEALED = """\
def test_two(floodmark_cluster):
    one, other = floodmark_cluster(), floodmark_cluster()
    BROKEN.settle = lambda: 1 / 0
"""


def test_a_cluster_that_cannot_be_sealed_leaves_the_others_to_be(inside: Any, pytester: pytest.Pytester) -> None:
    for broken in ("one", "other"):
        test = UNSEALED.replace("BROKEN", broken)
        inside("--floodmark-sessions", f"kept-{broken}", test_it__py=test).assert_outcomes(passed=1, errors=1)
        sealed = [
            session_files.read_manifest(each) for each in session_files.sessions_under(pytester.path / f"kept-{broken}")
        ]
        assert [each is None for each in sealed].count(False) == 1


def test_the_pytest_plugin_imports_nothing_until_used() -> None:
    program = (
        "import sys, playbooks.testing.pytest_plugin\n"
        "rooms = ('playbooks', 'cluster_model', 'faults', 'yaml')\n"
        "print(sorted(m for m in sys.modules if m.partition('.')[0] in rooms))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    packages = ["playbooks", "playbooks.library", "playbooks.testing"]  # nothing but a docstring and a list
    read = [*packages, "playbooks.library.suffixes", "playbooks.testing.pytest_plugin"]
    assert done.stdout.strip() == str(sorted(read))


def test_the_package_offers_it_by_name() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'\[project\.entry-points\.pytest11\]\nfloodmark = "playbooks\.testing\.pytest_plugin"\n', text)


def test_floodmarks_own_tests_do_not_collect_its_playbooks() -> None:
    done = subprocess.run(
        [
            # Where it is installed it is there by itself, under another name.
            *(sys.executable, "-m", "pytest", "-p", "no:floodmark", "-p", "playbooks.testing.pytest_plugin"),
            *("--collect-only", "-q", "playbooks", "tests/docs/test_ci.py"),
        ],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "test_ci" in done.stdout
    assert re.findall(r"^\S*\.yaml", done.stdout, re.MULTILINE) == []
