"""The page, the terminal and the files, made without Spark from a session whose names are out to harm."""

import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from spark_report.input.sessions import SkippedDirectory
from spark_report.model.comparison import all_tables
from spark_report.render import charts, client_tables, html, output, sections, tables, text
from spark_report.spark.errors import ReportError
from spark_report.tables.queries import clients
from spark_report.tables.registry import TABLES
from tests.spark_report.stories import HOSTILE, SPAN, story
from tests.support.wording import masked_text

pytestmark = pytest.mark.slow

ELECTIONS = [{"seq": 3, "leader": 1, "leader_epoch": 0, "isr": [1], "partition": "p-0", "election": "clean", "by": "b"}]
LOSS = {"seq": 9, "status": "lost", "partition": "p-0", "client": "c", "sequence": 0, "log_offset": 0, "count": 1,
        "committed": False, "leader_epoch": 0, "acks": 1, "cause": "it died"}  # fmt: skip
_LOADING = {"src", "href", "srcset", "action", "data", "poster", "background", "formaction"}


class Page(HTMLParser):
    """What a browser would make of a page: its scripts, what its elements would load, what its handlers would run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []
        self.text: list[str] = []
        self.styles: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        self.loads += [value or "" for name, value in attrs if name in _LOADING]
        self.handlers += [name for name, _value in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._inside == "style":
            self.styles.append(data)
        else:
            self.text.append(data)


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(html.html_page(story(tmp_path, HOSTILE, sessions=2)))


class Counted(dict[str, Any]):
    """A row that counts how often something is read of any such row."""

    reads = 0

    def __getitem__(self, key: str) -> Any:
        Counted.reads += 1
        return super().__getitem__(key)


def reads_of(tmp_path: Path, many: int) -> int:
    """How often a page, a text and a terminal read rows of a session with that many faults, each with a loss."""
    spans = [{**SPAN, "began_us": at * 9, "ended_us": at * 9 + 5} for at in range(many)]
    missing = [{**LOSS, "at_us": at * 9, "status": "missing", "log_offset": at, "sequence": at} for at in range(many)]
    felt = {"scope": "client", "client": "c", "acks": 1, "partition": "p-0", "duration_us": 5}
    told = story(
        tmp_path,
        faults=[{**row, "fault_id": at, "fault": "lag", "target": "t", "detail": ""} for at, row in enumerate(spans)],
        unavailability=[{**row, **felt} for row in spans],
        losses=[*missing, *({**row, "status": "lost"} for row in missing)],
        expectations=[{"at_us": 9, "seq": at, "rule": "r", "ok": True, "detail": ""} for at in range(many)],
        availability=[{"scope": "client", "partition": "p-0", "client": "c", "acks": 1, "intervals": many,
                       "unavailable_us": 9, "longest_unavailable_us": 9, "observed_us": 9 * many, "availability": 0.8,
                       "open": False}],
    )  # fmt: skip
    one = told.sessions[0]
    counted = {name: [Counted(row) for row in rows] for name, rows in one.tables.items()}
    one = replace(one, recorded=replace(one.recorded, end_us=9 * many), tables=counted)
    Counted.reads = 0
    html.html_page(replace(told, sessions=(one,)))
    text.markdown_text(replace(told, sessions=(one,)))
    text.show_in_terminal(Console(file=io.StringIO()), replace(told, sessions=(one,)))
    return Counted.reads


class TestPage:
    def test_the_work_for_very_many_faults_grows_as_they_do(self, tmp_path: Path) -> None:
        few, many = reads_of(tmp_path, 100), reads_of(tmp_path, 400)
        assert 1_000 < few < many < 4 * few

    def test_rows_that_no_page_shows_are_not_laid_out(self, tmp_path: Path) -> None:
        rows = [{**LOSS, "at_us": at, "log_offset": at} for at in range(tables.MOST_ROWS + 7)]
        found = tables.losses(story(tmp_path, losses=rows).sessions[0])
        assert (len(found.rows), found.left_out, found.count) == (tables.MOST_ROWS, 7, len(rows))
        assert f" {tables.MOST_ROWS} of {len(rows)} rows" in html.html_page(story(tmp_path, losses=rows))

    def test_nothing_in_it_is_loaded_from_anywhere(self, page: Page) -> None:
        assert all(re.fullmatch(r"data:,|#s[01](-[a-z_]+)?", each) for each in page.loads)
        assert not re.search(r"@import|url\(", "".join(page.styles))

    def test_it_forbids_itself_the_network(self, tmp_path: Path) -> None:
        assert "default-src 'none'" in html.html_page(story(tmp_path))

    def test_hostile_names_stay_text(self, page: Page) -> None:
        assert page.handlers == []
        # Our own few lines: no name has opened a script of its own.
        assert len(page.scripts) == 1
        assert any("</script><script>document.title=" in text for text in page.text)

    def test_control_characters_are_spelled_out(self, page: Page) -> None:
        text = "".join(page.text)
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert r"\x1b[2J\u202e" in text

    def test_every_chart_has_a_picture_and_a_table(self, tmp_path: Path) -> None:
        text = html.html_page(story(tmp_path))
        # And one of the lanes of the partition.
        assert text.count('class="chart scroll"') == text.count('<svg class="still"') == 5 + 1
        assert text.count("<summary>Data of ") == 2

    def test_the_verdict_is_the_heading(self, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
        heading = re.search(r"<h1[^>]*>(.*?)</h1>", html.html_page(story(tmp_path)))
        assert heading is not None
        assert heading[1] == snapshot

    def test_the_digest_is_there_whole(self, tmp_path: Path) -> None:
        assert f"<dd>{'5eed' * 8}</dd>" in html.html_page(story(tmp_path))

    def test_expectations_are_drawn_at_the_time_of_their_verdict(self, tmp_path: Path) -> None:
        told = story(tmp_path)
        one = told.sessions[0]
        name = one.tables["expectations"][0]["rule"]
        result = {"expectations": [{"text": name, "ok": False, "at_us": 3_210_000, "detail": ""}]}
        one = replace(one, recorded=replace(one.recorded, result=result))
        assert "3.210 s" in html.html_page(replace(told, sessions=(one,)))

    def test_damaged_sessions_are_marked_as_damaged(self, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
        told = story(tmp_path)
        one = replace(told.sessions[0], problems=("its table is damaged",))
        assert "<p>Damaged:" in html.html_page(replace(told, sessions=(one,)))
        stream = io.StringIO()
        text.show_in_terminal(Console(file=stream, width=100), replace(told, sessions=(one,)))
        assert [line for line in stream.getvalue().splitlines() if "damaged:" in line] == snapshot

    def test_the_worst_of_many_sessions_are_shown(self, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
        text = html.html_page(story(tmp_path, sessions=sections.MOST_SESSIONS + 2))
        assert text.count('class="session"') == sections.MOST_SESSIONS
        (rest,) = re.findall(r"<p[^>]*>(.*\b2 more .*?)</p>", text)
        assert rest == snapshot
        alone = html._page(story(tmp_path, sessions=3), html.Detail(10, 1, 1, 10), {})
        assert re.findall(r"<p[^>]*>(.*\b2 more .*?)</p>", alone) == snapshot

    def test_a_page_that_would_be_too_long_shows_less_of_each_session(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = story(tmp_path, elections=[{**row, "at_us": at} for at in range(60) for row in ELECTIONS])
        whole = html.html_page(told)
        monkeypatch.setattr(html, "MOST_BYTES", len(whole.encode()) - 1)
        shorter = html.html_page(told)
        assert len(shorter) < len(whole)
        assert "50 of 60" in shorter

    def test_a_page_of_as_many_rows_as_tables_have_stays_within_its_size(self, tmp_path: Path) -> None:
        second, many = 1_000_000, 20_000
        spans = [{**SPAN, "began_us": at * second, "ended_us": at * second + second // 2} for at in range(many)]
        state = {"leader_epoch": 3, "isr": [1, 2], "isr_size": 2, "min_isr": 2}
        told = story(
            tmp_path,
            faults=[{**row, "fault_id": at, "fault": "lag", "target": "t", "detail": "d"}
                    for at, row in enumerate(spans)],
            partition_states=[{**row, **state, "partition": f"p-{at % 3}", "leader": at % 4 - 1}
                              for at, row in enumerate(spans)],
            unavailability=[{**row, "scope": "client", "partition": "p-0", "client": "c", "acks": 1, "duration_us": 9}
                            for row in spans[:2_000]],
            losses=[{**LOSS, "at_us": row["began_us"]} for row in spans[:500]],
        )  # fmt: skip
        one = told.sessions[0]
        one = replace(one, recorded=replace(one.recorded, end_us=many * second))
        aside = tuple(SkippedDirectory(tmp_path / f"{place}", f"{place}: not found") for place in range(many))
        page = html.html_page(replace(told, sessions=(one,), set_aside=aside))
        assert len(page.encode()) <= html.MOST_BYTES
        assert "p-2 over time" in page

    def test_a_page_of_many_sessions_that_would_be_too_long_shows_fewer_of_them(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told = story(tmp_path, sessions=2)
        monkeypatch.setattr(html, "MOST_BYTES", 1)
        monkeypatch.setattr(html, "DETAILS", html.DETAILS[::6])
        assert html.html_page(told).count('class="session"') == 1

    def test_internal_partitions_without_incidents_are_left_out(self, tmp_path: Path) -> None:
        told = story(tmp_path, "__consumer_offsets-7").sessions[0]
        quiet = {name: [] for name in ("losses", "unavailability", "partitions")}
        quiet_one = replace(told, tables={**told.tables, **quiet})
        assert [len(html.drill_down(each, 40)[0]) for each in (told, quiet_one)] == [1, 0]
        assert html.drill_down(quiet_one, 40)[1] == 1


class TestCharts:
    def test_the_timeline_is_a_figure(self, tmp_path: Path) -> None:
        figure = charts.timeline_chart(story(tmp_path, HOSTILE).sessions[0])
        # The fault; leader, ISR, service as the cluster saw it, as clients did, and losses; HW and lag.
        assert [trace["type"] for trace in figure["data"]] == [*["bar"] * 5, "marks", "lines", "lines"]

    def test_faults_of_one_time_have_lanes_of_their_own(self, tmp_path: Path) -> None:
        named = [("crash", 5, 9), ("lag", 5, 9), ("crash", 6, 8), ("crash", 9, 10)]
        faults = [
            {**SPAN, "began_us": begin, "ended_us": end, "fault_id": 1, "fault": fault, "target": "b", "detail": ""}
            for fault, begin, end in named
        ]
        figure = charts.timeline_chart(story(tmp_path, faults=faults).sessions[0])
        assert figure["layout"]["yaxis"]["ticktext"][:3] == ["crash", "lag", "crash ·2"]
        assert [trace["base"] for trace in figure["data"][:3]] == [[5e-6, 9e-6], [5e-6], [6e-6]]

    def test_the_last_of_many_faults_share_a_lane(self, tmp_path: Path) -> None:
        faults = [
            {**SPAN, "fault_id": number, "fault": f"f{number}", "target": "b", "detail": ""}
            for number in range(charts.MOST_FAULT_LANES + 5)
        ]
        figure = charts.timeline_chart(story(tmp_path, faults=faults).sessions[0])
        labels = figure["layout"]["yaxis"]["ticktext"]
        assert labels.index(charts.OTHER_FAULTS) == charts.MOST_FAULT_LANES - 1
        assert len(figure["data"][charts.MOST_FAULT_LANES - 1]["y"]) == 6
        faults = [{**row, "fault": "lag", "ended_us": 99} for row in faults]
        figure = charts.timeline_chart(story(tmp_path, faults=faults).sessions[0])
        labels = figure["layout"]["yaxis"]["ticktext"]
        assert labels[:2] == ["lag", "lag ·2"]
        assert labels.index(charts.OTHER_FAULTS) == charts.MOST_FAULT_LANES - 1
        assert len(figure["data"][charts.MOST_FAULT_LANES - 1]["y"]) == 6

    def test_the_latencies_are_a_figure(self, tmp_path: Path) -> None:
        figure = charts.latency_chart(story(tmp_path, HOSTILE).sessions[0])
        assert figure is not None
        assert [(trace["type"], trace.get("yaxis", "y")) for trace in figure["data"]] == [
            *[("lines", "y")] * 2, ("lines", "y2")
        ]  # fmt: skip

    def test_losses_are_drawn_where_they_occurred(self, tmp_path: Path) -> None:
        figure = charts.timeline_chart(story(tmp_path).sessions[0])
        crosses = [trace["x"] for trace in figure["data"] if trace["type"] == "marks"]
        assert crosses == [[7e-6]]

    def test_the_busiest_of_many_partitions_get_lanes(self, tmp_path: Path) -> None:
        states = [
            {**row, "partition": f"p-{number}"}
            for number in range(20)
            for row in story(tmp_path / str(number)).sessions[0].tables["partition_states"] * (1 + number % 2)
        ]
        for row in states:
            row.pop("session_id")
        shown = charts.shown_partitions(
            story(tmp_path, partition_states=states, losses=[], unavailability=[]).sessions[0]
        )
        assert shown == [f"p-{number}" for number in range(1, 2 * charts.MOST_PARTITIONS, 2)]


class TestTerminal:
    def test_names_are_printed_as_they_are_spelled(self, tmp_path: Path) -> None:
        stream = io.StringIO()
        name = "[bold red]x[/] \x1b[2J"
        text.show_in_terminal(Console(file=stream, width=100), story(tmp_path, name, sessions=2))
        assert "\x1b" not in stream.getvalue()
        assert r"[bold red]x[/] \x1b[2J" in stream.getvalue()
        assert "Why: " in stream.getvalue()

    def test_it_fits_eighty_columns(self, tmp_path: Path) -> None:
        stream = io.StringIO()
        text.show_in_terminal(Console(file=stream, width=80), story(tmp_path, "a-rather-long-name-0", sessions=2))
        assert max(map(len, stream.getvalue().splitlines())) <= 80


class TestFiles:
    def test_every_table_is_a_file_and_in_the_document(self, tmp_path: Path) -> None:
        told = story(tmp_path / "sessions")
        tables = all_tables(told)
        output.write_parquet(tmp_path / "tables", tables)
        output.write_json(tmp_path / "report.json", told, tables)
        document = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
        written = {path.stem: pq.read_table(path) for path in (tmp_path / "tables").iterdir()}
        meta = written["losses"].schema.field("count").metadata
        assert meta == {b"unit": b"records", b"meaning": b"Number of records."}
        assert written.keys() == document["tables"].keys()
        assert {name: table.to_pylist() for name, table in written.items()} == document["tables"]
        assert written["sessions"].schema.equals(TABLES["sessions"].schema)

    def test_an_interrupted_job_leaves_the_report_before_it(self, tmp_path: Path) -> None:
        target = tmp_path / "report"
        target.mkdir()
        (target / "report.html").write_text("before", encoding="utf-8")
        told = story(tmp_path / "sessions")
        output.write_json(target / "report.json", told, {})

        def interrupted() -> None:
            with output.Staging(target) as staging:
                (staging.path / "report.html").write_text("half", encoding="utf-8")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert (target / "report.html").read_text(encoding="utf-8") == "before"
        assert [path.name for path in tmp_path.iterdir() if path.name != "sessions"] == ["report"]

    @pytest.mark.parametrize("name", ["report.html", "report.json"])
    @pytest.mark.parametrize("text", ["<title>mine</title>", '{"headline": "mine"}', ""])
    def test_a_file_of_somebody_elses_is_refused(
        self, tmp_path: Path, name: str, text: str, snapshot: SnapshotAssertion
    ) -> None:
        target = tmp_path / "report"
        target.mkdir()
        (target / name).write_text(text, encoding="utf-8")
        with pytest.raises(ReportError) as caught:
            output.Staging(target).__enter__()
        assert caught.value.code == "not_a_report"
        assert masked_text(caught.value, file=target / name) == snapshot
        assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == ["report", f"report/{name}"]
        assert (target / name).read_text(encoding="utf-8") == text

    def test_a_page_of_ours_alone_is_replaced(self, tmp_path: Path) -> None:
        target = tmp_path / "report"
        target.mkdir()
        html.write_html(target / "report.html", story(tmp_path / "sessions"))
        with output.Staging(target) as staging:
            (staging.path / "report.html").write_text("newer", encoding="utf-8")
            staging.publish()
        assert (target / "report.html").read_text(encoding="utf-8") == "newer"

    def test_other_files_in_the_target_directory_are_kept(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
        with output.Staging(tmp_path) as staging:
            (staging.path / "tables").mkdir()
            (staging.path / "tables" / "a.parquet").write_text("a", encoding="utf-8")
            staging.publish()
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.parquet", "mine.txt", "tables"]

    def test_a_file_in_the_way_is_named(self, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
        (tmp_path / "report").write_text("x", encoding="utf-8")
        with pytest.raises(ReportError) as caught:
            output.Staging(tmp_path / "report").__enter__()
        assert caught.value.code == "not_a_directory"
        assert masked_text(caught.value, target=tmp_path / "report") == snapshot


def opened(page: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Open a page in a browser; what is left of it at the end, and what the browser said."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on PATH: the page is not opened by a browser here")
    plain = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    quiet = ["--disable-background-networking", "--enable-logging=stderr", "--virtual-time-budget=10000000"]
    return subprocess.run(
        [browser, *plain, *quiet, *flags, f"--user-data-dir={page.parent / 'profile'}", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )


MEASURE = """<script>
// Without a timer virtual time would pass at once, on a busy machine before the frames that are waited for.
const waiting = setInterval(() => {}, 10);
addEventListener("load", () => {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  // What was folded is fitted in the frame after the one that shows it.
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(measure, 0)));
});
const measure = () => {
  const inside = (box) => box.getBoundingClientRect().right <= document.documentElement.clientWidth + 1;
  const seen = (box) => box.clientWidth > 0;
  const boxes = [...document.querySelectorAll(".scroll")].filter(seen);
  const wide = boxes.filter((box) => box.scrollWidth > box.clientWidth + 1);
  const reached = wide.filter((box) => { box.scrollLeft = 1e6; return box.scrollLeft > 0; });
  const ground = () => getComputedStyle(document.documentElement).backgroundColor;
  const before = ground();
  // One pixel of a picture is one of the screen, and none is wider than it needs to be.
  const fits = (svg) => Math.abs(svg.getBoundingClientRect().width - svg.viewBox.baseVal.width) < 1
    && (svg.viewBox.baseVal.width <= svg.parentElement.clientWidth || svg.viewBox.baseVal.width < 720);
  const ticks = (svg) => [...svg.querySelectorAll(":scope > .tick text")].filter((text) => !text.style.display);
  const overlapping = () => [...document.querySelectorAll("svg.still")].filter((svg) => {
    const boxes = ticks(svg).map((text) => text.getBoundingClientRect()).sort((one, other) => one.left - other.left);
    return boxes.some((box, place) => place && box.left < boxes[place - 1].right);
  }).length;
  const at = (element, kind, x, y, more) => element.dispatchEvent(
    new PointerEvent(kind, { bubbles: true, pointerType: "mouse", button: 0, clientX: x, clientY: y, ...more }));
  const tip = document.querySelector(".tip");
  const pointed = () => ["rect.bar", ".hit", "g[data-x]"].map((name) => {
    const element = document.querySelector(`svg.still ${name}`);
    const box = element.getBoundingClientRect();
    at(element, "pointermove", box.left + box.width / 2, box.top + box.height / 2);
    return !tip.hidden && tip.textContent.length > 3;
  });
  const zoomed = () => {
    const svg = document.querySelector("svg.still[data-range]");
    const words = () => ticks(svg).map((text) => text.textContent).join();
    const [box, whole, button] = [svg.getBoundingClientRect(), words(), svg.parentElement.querySelector(".whole")];
    at(svg.querySelector(".plot rect"), "pointerdown", box.right - 114, box.top + 20);
    at(window, "pointermove", box.right - 40, box.top + 20);
    at(window, "pointerup", box.right - 40, box.top + 20);
    const close = words();
    const shown = !button.hidden;
    button.click();
    return [shown, close !== whole, words() === whole, button.hidden];
  };
  document.getElementById("theme").click();
  document.title = JSON.stringify({
    page: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    outside: boxes.length - boxes.filter(inside).length,
    wide: wide.length,
    unreached: wide.length - reached.length,
    unhinted: wide.filter((box) => getComputedStyle(box).backgroundImage.split("linear-gradient").length !== 5).length,
    requests: performance.getEntriesByType("resource").filter((each) => !each.name.startsWith("data:")).length,
    drawn: document.querySelectorAll("svg.still").length,
    fitted: [...document.querySelectorAll("svg.still")].filter(fits).length,
    beside: overlapping(),
    said: pointed(),
    zoomed: zoomed(),
    switched: before !== ground(),
  });
  clearInterval(waiting);
};
</script>"""


@pytest.mark.browser
def test_a_browser_draws_it_on_a_telephone_and_complains_of_nothing(tmp_path: Path) -> None:
    """One start of a browser, with names that are out to harm."""
    page = tmp_path / "report.html"
    page.write_text(html.html_page(story(tmp_path, HOSTILE, sessions=2)) + MEASURE, encoding="utf-8")
    answer = opened(page, "--window-size=500,900")
    # Uncaught errors and refusals of the content security policy all go to the console.
    assert [line for line in answer.stderr.splitlines() if ":CONSOLE" in line] == []
    found = re.search(r"<title>(.*?)</title>", answer.stdout)
    assert found is not None
    sizes = json.loads(found[1])
    assert sizes.pop("wide") > 0
    # Per session the timeline, two charts around faults, latencies, lag, and the lanes of the partition.
    assert sizes == {
        **dict.fromkeys(("page", "outside", "unreached", "unhinted", "requests", "beside"), 0),
        "drawn": 2 * 6,
        "fitted": 2 * 6,
        "said": [True] * 3,
        "zoomed": [True] * 4,
        "switched": True,
    }


class TestClients:
    def test_lag_is_the_results_and_everything_else_the_events(self, tmp_path: Path) -> None:
        told = story(tmp_path).sessions[0]
        assert client_tables.groups(told).rows[0][:5] == ("orders-0", "4", "4", "", "4")
        with_lag = {"clients": {"groups": {"orders-0": {"lag": -12}, "other": {"lag": "much"}}}}
        result = {**told.recorded.result, **with_lag}
        known = replace(told, recorded=replace(told.recorded, result=result))
        assert client_tables.groups(known).rows[0][3] == "-12"
        assert client_tables.producers(told).rows[0] == ("orders-0", *["3"] * 15, "orders-0")
        plain = {**told.tables["producers"][0], **dict.fromkeys(clients.PRODUCER[8:], 0), "failure": ""}
        seldom = replace(told, tables={**told.tables, "producers": [plain]})
        assert client_tables.producers(seldom).rows[0] == ("orders-0", *["3"] * 8)
        assert client_tables.producers_short(seldom).rows[0] == ("orders-0", *["3"] * 8)
        assert client_tables.producers_short(told).rows[0] == ("orders-0", *["3"] * 8, "3 of 3")
        assert client_tables.groups_short(known).rows[0] == ("orders-0", "-12", *["4"] * 7)
        assert client_tables.members(told).rows[0][-1] == "orders-0"
        assert client_tables.errors(told).rows[0] == ("orders-0", "orders-0", "failed attempts", "3")

    def test_steps_taken_by_hand_have_no_clients(self, tmp_path: Path) -> None:
        told = story(tmp_path).sessions[0]
        timeless = replace(told, recorded=replace(told.recorded, end_us=0))
        assert not client_tables.producers(timeless)
        assert not client_tables.groups(timeless)

    @pytest.mark.parametrize("clients", [None, [], {"groups": []}, {"groups": {"orders-0": 3}}])
    def test_a_strange_result_has_no_lag(self, tmp_path: Path, clients: object) -> None:
        told = story(tmp_path).sessions[0]
        strange = replace(told, recorded=replace(told.recorded, result={"clients": clients}))
        assert client_tables.groups(strange).rows[0][3] == ""
