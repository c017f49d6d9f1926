"""Sessions and campaigns on a file system that only Hadoop reaches: seen, refused and told as those on a disk are."""

import argparse
import html
import json
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from syrupy.assertion import SnapshotAssertion

from playbooks.campaign.runner import run_campaign
from playbooks.campaign.store import CampaignError, open_campaign
from playbooks.campaign.workloads.fuzz_workload import write_plan
from playbooks.session_format import session_files
from spark_report import __main__ as command
from spark_report.fleet.sources import identify_sources, runs_of
from spark_report.input.frames import read_events, read_final_reads, read_ledgers
from spark_report.input.sessions import ARROW_TYPES, LEDGER, SessionInput, SkippedDirectory, collect_sessions
from spark_report.job import local_directory, run
from spark_report.spark import hadoop_fs
from spark_report.spark.errors import ReportError
from spark_report.spark.hadoop_fs import Address, AnyPath, HadoopPath, parse_path, resolve_remote
from spark_report.spark.session import RunningSpark
from tests.spark_report.campaigns.test_campaigns import grid_at, plan_at
from tests.spark_report.conftest import ReportedSessions, tables_of
from tests.support.sessions import Row, leader_crash, reseal, tear, write_session
from tests.support.wording import masked_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
MOUNT = "fs.viewfs.mounttable.{}.link./there"

Behind = Callable[[str, Path], HadoopPath]


@pytest.fixture
def behind(spark: "SparkSession") -> Behind:
    """Puts a directory behind a view of Hadoop's with a name of its own, and looks at it through Spark."""

    def mount(name: str, directory: Path) -> HadoopPath:
        spark.conf.set(MOUNT.format(name), directory.as_uri())
        (path,) = resolve_remote(RunningSpark(spark, "given", None), [Address(f"viewfs://{name}/there")])
        assert isinstance(path, HadoopPath)
        return path

    return mount


def edit(path: Path, **values: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def kinds_of_trouble(parent: Path) -> None:
    """A session of each kind that a reader tells apart."""
    made = {name: write_session(parent, leader_crash(), session_id=name) for name in "abcdefghijklm"}
    empty = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in LEDGER.items()]).empty_table()
    pq.write_table(empty, made["a"] / session_files.LEDGER)
    reseal(made["a"], session_files.LEDGER)
    tear(made["b"])
    (made["c"] / session_files.EVENTS_PARQUET).write_bytes(b"PAR1 not really")
    (made["d"] / session_files.EVENTS_PARQUET).unlink()
    (made["e"] / session_files.EVENTS_PARQUET).write_bytes(b"x" * 100)
    reseal(made["e"], session_files.EVENTS_PARQUET)
    (made["e"] / session_files.EVENTS).unlink()
    edit(made["f"] / session_files.RESULT, verdict="pass")
    edit(made["g"] / session_files.START, format=99)
    (made["h"] / session_files.START).write_text("[]")
    (made["i"] / session_files.RESULT).unlink()
    edit(made["j"] / session_files.START, session_id="b")
    edit(made["j"] / session_files.MANIFEST, session_id="b")
    edit(made["k"] / session_files.MANIFEST, kinds={"appended": 5, "moon_rose": 1})
    seq = (made["l"] / session_files.EVENTS).read_bytes().count(b"\n")
    tear(made["l"], 0)
    with (made["l"] / session_files.EVENTS).open("a") as file:
        file.write(f'{{"seq":{seq},"kind":"moon_rose","at_us":99000000}}\n')
    (made["m"] / session_files.START).unlink()
    (parent / "session_id=n").mkdir()
    (parent / "session_id=n" / session_files.PLAYBOOK).write_text("x")
    (parent / "session_id=o").write_text("a file")


def told(found: SessionInput, *roots: AnyPath) -> list[str]:
    """All that is known of a session, but for where it is."""
    texts = [str(getattr(found, each.name)) for each in fields(SessionInput)]
    for root in roots:
        texts = [text.replace(str(root), "ROOT") for text in texts]
    return texts


@pytest.mark.spark
@pytest.mark.parametrize("tail", [hadoop_fs.TAIL_BYTES, 64])
def test_all_kinds_of_sessions_are_seen_as_on_a_disk(
    tail: int, behind: Behind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = tmp_path / "we[i]rd {a,b} 100%?*"
    kinds_of_trouble(parent)
    monkeypatch.setattr(hadoop_fs, "TAIL_BYTES", tail)
    there = behind(f"kinds{tail}", parent)
    here, aside_here = collect_sessions([parent])
    found, aside = collect_sessions([there])
    assert len(here) == 8
    assert len(aside_here) == 6
    assert [told(each, there, parent) for each in found] == [told(each, parent) for each in here]
    reasons = [each.reason.replace(str(parent), str(there)) for each in aside_here]
    assert [each.reason for each in aside] == reasons
    places: list[SessionInput | SkippedDirectory] = [*found, *aside]
    assert {type(each.path) for each in places} == {HadoopPath}
    assert [each.ledger is not None for each in found] == [each.session_id == "a" for each in found]


@pytest.mark.spark
def test_their_rows_are_those_on_a_disk(behind: Behind, spark: "SparkSession", tmp_path: Path) -> None:
    """Of two sessions in one directory, one of them torn, and of one that is given itself."""
    parent, alone = tmp_path / "we[i]rd {a,b} 100%?*", tmp_path / "alone"
    for name in ("one", "torn"):
        write_session(parent, leader_crash(), session_id=name)
    tear(parent / "session_id=torn")
    write_session(alone, leader_crash(), session_id="two")
    here, _aside = collect_sessions([parent, alone / "session_id=two"])
    there, aside = collect_sessions([behind("rows", parent), behind("row", alone) / "session_id=two"])
    assert aside == []
    for read in (read_events, read_ledgers, read_final_reads):
        rows, expected = (sorted(map(repr, read(spark, each).collect())) for each in (there, here))
        assert rows == expected
    assert len(read_events(spark, there).select("session_id").distinct().collect()) == 3


@pytest.mark.evening
@pytest.mark.spark
def test_a_report_over_them_has_the_tables_of_those_on_a_disk(
    spark: "SparkSession", known: ReportedSessions, tmp_path: Path
) -> None:
    """A directory that holds sessions, a session, one that is on a disk, and what cannot be read."""
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "session_id=one").symlink_to(known.sessions / "session_id=one")
    some, every = "viewfs://some/there", "viewfs://every/there"
    spark.conf.set(MOUNT.format("some"), (tmp_path / "some").as_uri())
    spark.conf.set(MOUNT.format("every"), known.sessions.as_uri())
    stages: list[str] = []
    paths: list[Path | Address] = [
        *(Address(some), known.sessions / "session_id=three", Address(f"{every}/session_id=torn")),
        Address("nosuch://h/x"),
    ]
    outcome = run(paths, out=tmp_path / "out", formats=("json", "markdown"), spark=spark, stage=stages.append)
    assert [str(each.path) for each in outcome.set_aside] == ["nosuch://h/x"]
    tables = tables_of(tmp_path / "out", some, every, known.sessions)
    tables["quarantine"] = [row for row in tables["quarantine"] if row["what"] != "directory"]
    assert tables == known.tables
    page = html.unescape((tmp_path / "out" / "report.md").read_text())
    copied = re.findall(rf"hadoop fs [^`<\n]*{some}/session_id=one[^`<|\n]*", page.replace("\\", ""))
    (line,) = {each.strip() for each in copied}
    assert line.split()[2:4] == ["-get", f"{some}/session_id=one"]
    assert line.endswith("&& floodmark open session_id=one")


@pytest.mark.evening
@pytest.mark.spark
def test_a_fleet_of_them_has_the_tables_of_those_on_a_disk(spark: "SparkSession", tmp_path: Path) -> None:
    kinds = ("storm", "grid", "sessions")
    for kind in kinds:
        folder = tmp_path / kind
        if kind == "sessions":
            write_session(folder, leader_crash(), session_id="one")
        else:
            work = plan_at(folder) if kind == "storm" else grid_at(folder)[1]
            campaign = open_campaign(folder, work, "small")
            run_campaign(campaign, work, 4, workers=1)
            write_plan(folder, work)
        spark.conf.set(f"fs.viewfs.mounttable.fleets.link./{kind}", folder.as_uri())
    there = resolve_remote(RunningSpark(spark, "given", None), [Address(f"viewfs://fleets/{kind}") for kind in kinds])
    roots = (str(tmp_path), "viewfs://fleets")
    here = fleets(spark, [tmp_path / kind for kind in kinds], roots)
    found = fleets(spark, there, roots)
    again = {row["fleet"]: row["again"] for row in found[1]}
    assert set(again) == set(kinds)
    assert again["sessions"].split() == [
        *("hadoop", "fs", "-get", "ROOT/sessions/session_id=one"), "&&",
        *("floodmark", "replay", "session_id=one"),
    ]  # fmt: skip
    for row in (*here[1], *found[1]):
        row.pop("again")
    assert found == here


def fleets(spark: "SparkSession", paths: Sequence[AnyPath], roots: Sequence[str]) -> tuple[list[str], list[Row]]:
    """All that a report on fleets is made from: what is said of each, and their runs."""
    sources, aside = identify_sources(paths)
    assert aside == []
    words = [f"{each.name} {each.words} {each.command} {each.path}" for each in sources]
    rows = [row.asDict(recursive=True) for each in sources for row in runs_of(spark, each).collect()]
    text = json.dumps([words, rows])
    for root in roots:
        text = text.replace(f"{root}/", "ROOT/")
    told = json.loads(text)
    return told[0], sorted(told[1], key=lambda row: (row["fleet"], row["run"]))


@pytest.mark.spark
def test_a_file_that_is_too_large_to_be_checked_is_set_aside_with_its_size(
    behind: Behind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    session = write_session(tmp_path / "s", leader_crash())
    (session / session_files.EVENTS).unlink()
    monkeypatch.setattr(hadoop_fs, "MOST_BYTES", 10_000)
    size = (session / session_files.EVENTS_PARQUET).stat().st_size
    with pytest.raises(ReportError) as caught:
        collect_sessions([behind("large", tmp_path / "s")])
    assert f" {size} " in str(caught.value)
    assert masked_text(caught.value, session=session.name, size=size) == snapshot


class TestWithoutSpark:
    @pytest.mark.parametrize(
        ("text", "meant"),
        [
            ("sessions", Path("sessions")),
            ("a:b/c", Path("a:b/c")),
            ("file:///a/b c", Path("/a/b c")),
            ("file:/a", Path("/a")),
            ("hdfs://n:8020/a/", Address("hdfs://n:8020/a")),
            ("hdfs:///a", Address("hdfs:///a")),
            ("s3a://bucket", Address("s3a://bucket")),
        ],
    )
    def test_paths_and_uris_are_parsed(self, text: str, meant: Path | Address) -> None:
        assert parse_path(text) == meant

    @pytest.mark.parametrize("text", ["hdfs://n/out", "hdfs:/n/out"])
    def test_output_directories_must_be_local(
        self,
        text: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        snapshot: SnapshotAssertion,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(argparse.ArgumentTypeError) as refused:
            local_directory(text)
        with pytest.raises(SystemExit) as stopped:
            command.main(["x", "--out", text])
        assert stopped.value.code == 2
        last = capsys.readouterr().err.splitlines()[-1]
        with pytest.raises(CampaignError) as campaign:
            open_campaign(Path(text), plan_at(tmp_path / "c"), "small")
        assert [str(refused.value), last, str(campaign.value)] == snapshot
        shutil.rmtree(tmp_path / "c")
        assert [path.name for path in tmp_path.iterdir()] == ["small.yaml"]

    @pytest.mark.parametrize(
        "text",
        [
            "java.net.ConnectException: Call From vm to h:1 failed on connection exception: refused\n\tat x(Y)",
            "java.io.IOException: org.apache.hadoop.X3Exception: odd",
            "org.apache.hadoop.security.AccessControlException: Permission denied: user=x",
        ],
        ids=["nobody there", "unknown", "not allowed"],
    )
    def test_javas_words_are_one_line_of_ours(self, text: str, snapshot: SnapshotAssertion) -> None:
        assert hadoop_fs._why(Exception(text)) == snapshot
