"""Sessions side by side, still pictures, Markdown: what a report says in every form."""

import io
import math
import random
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from spark_report.model import report
from spark_report.model.comparison import BY_NAME, MEASURES, compare, regressions
from spark_report.model.report import ReportModel
from spark_report.render import charts, html, output, sections, svg
from spark_report.render import text as markdown
from spark_report.spark.errors import ReportError
from spark_report.tables import registry
from spark_report.tables.registry import TABLES
from tests.spark_report.stories import HOSTILE, SPAN, story
from tests.support.wording import masked_text


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> ReportModel:
    return story(tmp_path_factory.mktemp("hostile"), HOSTILE, sessions=2)


def with_counts(told: ReportModel, *counts: dict[str, Any]) -> ReportModel:
    """The same sessions with other totals."""
    changed = [replace(one, counts={**one.counts, **each}) for one, each in zip(told.sessions, counts, strict=True)]
    return replace(told, sessions=tuple(changed))


class TestComparison:
    @pytest.mark.slow
    def test_a_row_for_every_session_and_measure(self, tmp_path: Path) -> None:
        rows = compare(story(tmp_path, sessions=2))
        assert len(rows) == 2 * len(MEASURES)
        assert set(rows[0]) == set(TABLES["comparison"].columns)
        # Alike, so neither is best, and without a baseline nothing is judged.
        assert {(row["rank"], row["judged"]) for row in rows} == {("", "")}

    @pytest.mark.slow
    def test_the_least_lost_is_best_and_the_most_served_is(self, tmp_path: Path) -> None:
        told = with_counts(story(tmp_path, sessions=3), {"acked_lost": 0}, {"acked_lost": 7}, {"acked_lost": 3})
        assert [row["rank"] for row in compare(told) if row["measure"] == "acked_lost"] == ["best", "worst", ""]
        one = told.sessions[0]
        better = [{**row, "availability": 0.9} for row in one.tables["availability"]]
        told = replace(told, sessions=(replace(one, tables={**one.tables, "availability": better}), *told.sessions[1:]))
        ranks = [row["rank"] for row in compare(told) if row["measure"] == "worst_availability"]
        assert ranks == ["best", "worst", "worst"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("measure", "base", "now", "judged", "said"),
        [
            ("acked_lost", 0, 3, "regression", "+3"),
            ("acked_lost", 100, 80, "improvement", "−20 (−20 %)"),
            ("acked_lost", 100, 104, "same", "+4 (+4.0 %)"),
            ("acked_lost", 3, 3, "same", "±0"),
            ("acks_p99", 10_000, 250_000, "regression", "+240 ms (+2,400 %)"),
            ("acks_p99", 1_000, 1_900, "same", "+900 us (+90 %)"),
            ("worst_availability", 0.999, 0.99, "regression", "−0.90 points"),
            ("worst_availability", 0.99, 0.9902, "same", "+0.02 points"),
            ("throughput", 100, 120, "improvement", "+20.0/s (+20 %)"),
        ],
    )
    def test_a_change_has_a_sign_a_size_and_a_judgement(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measure: str, base: float, now: float, judged: str,
        said: str,
    ) -> None:  # fmt: skip
        values = {"s0": base, "s1": now}
        chosen = BY_NAME[measure]._replace(of=lambda one: values[one.session_id])
        monkeypatch.setattr("spark_report.model.comparison.MEASURES", (chosen,))
        first, second = compare(replace(story(tmp_path, sessions=2), baseline="s0"))
        assert (first["judged"], second["judged"]) == ("", judged)
        assert chosen.change(second) == said
        assert bool(regressions([first, second])) == (judged == "regression")

    @pytest.mark.slow
    def test_the_baseline_is_reported_first_and_regressions_are_named(
        self, tmp_path: Path, snapshot: SnapshotAssertion
    ) -> None:
        told = with_counts(story(tmp_path, sessions=2), {"acked_lost": 0}, {"acked_lost": 7})
        told = replace(told, baseline="s0")
        compared = compare(told)
        view = sections.comparison_changes(told, compared)
        assert view.rows[0] == snapshot
        assert view.tones[0, 5] == "regression"
        assert sections.comparison_baseline(told, compared) == snapshot
        text = html.html_page(told)
        assert "A (baseline)" in text
        assert '<td class="n regression">+7</td>' in text

    @pytest.mark.slow
    def test_a_matrix_marks_best_and_worst_and_many_sessions_have_a_list(self, tmp_path: Path) -> None:
        lost = [{"acked_lost": count} for count in range(sections.MOST_SIDE_BY_SIDE + 1)]
        told = with_counts(story(tmp_path, sessions=len(lost)), *lost)
        assert not sections.comparison_matrix(told, compare(told))
        assert sections.comparison_extremes(told, compare(told)).rows == (
            ("Acknowledged records lost", "0", "A", "6", "G"),
        )
        few = replace(told, sessions=told.sessions[:3])
        view = sections.comparison_matrix(few, compare(few))
        assert view.rows[0] == ("Acknowledged records lost", "0 ▲", "1", "2 ▼")
        assert (view.tones[0, 1], view.tones[0, 3]) == ("best", "worst")


class TestPhases:
    def test_service_is_counted_as_long_before_and_after_as_the_fault_was(self, tmp_path: Path) -> None:
        second = 1_000_000
        fault = {**SPAN, "fault_id": 1, "fault": "crash", "target": "b", "detail": "", "began_us": 4 * second,
                 "ended_us": 6 * second}  # fmt: skip
        out = {**SPAN, "scope": "partition", "partition": "p-0", "client": "", "acks": None, "duration_us": second,
               "began_us": 5 * second, "ended_us": 6 * second + second // 2}  # fmt: skip
        seen = {"scope": "partition", "partition": "p-0", "client": "", "acks": None, "observed_us": 9 * second}
        told = story(tmp_path, faults=[fault], unavailability=[out], availability=[seen]).sessions[0]
        told = replace(told, recorded=replace(told.recorded, end_us=10 * second))
        found = {row["phase"]: row["availability"] for row in report.served(told, "partition")}
        assert found == {"before": 1.0, "during": 0.5, "after": 0.75}

    def test_service_is_that_of_all_whose_records_waited_each_by_itself(self, tmp_path: Path) -> None:
        dice = random.Random(30)
        faults = [
            {
                **SPAN,
                "fault_id": at,
                "fault": "lag",
                "target": "b",
                "detail": "",
                "began_us": (begin := dice.randrange(9_000_000)),
                "ended_us": begin + dice.randrange(900_000),
            }
            for at in range(20)
        ]
        whose = [{"scope": "client", "partition": f"p-{at}", "client": "c", "acks": 1} for at in range(3)]
        out = [
            {
                **SPAN,
                **dice.choice(whose),
                "duration_us": 9,
                "began_us": (begin := dice.randrange(9_000_000)),
                "ended_us": begin + dice.randrange(900_000),
            }
            for _at in range(30)
        ]
        seen = [{**one, "observed_us": at * 4_000_000 + 1_000_000} for at, one in enumerate(whose)]
        told = story(tmp_path, faults=faults, unavailability=out, availability=seen).sessions[0]
        told = replace(told, recorded=replace(told.recorded, end_us=10_000_000))
        since = {row["partition"]: 10_000_000 - row["observed_us"] for row in seen}
        found = {(row["fault_id"], row["phase"]): row["availability"] for row in report.served(told, "client")}
        for fault in faults:
            for phase, (begin, end) in report.windows(fault, 10_000_000).items():
                time = sum(max(0, end - max(begin, first)) for first in since.values())
                lacking = sum(
                    max(0, min(end, row["ended_us"]) - max(begin, since[row["partition"]], row["began_us"]))
                    for row in out
                )
                assert found.pop((fault["fault_id"], phase), None) == (1 - lacking / time if time else None)
        assert not found

    def test_windows_stay_within_the_session(self) -> None:
        assert report.windows({"began_us": 5, "ended_us": 9}, 20) == {
            "before": (0, 5),
            "during": (5, 9),
            "after": (9, 20),
        }


def picture(figure: charts.Figure, label: str = "") -> ET.Element:
    """The picture of a figure, without its legend."""
    return ET.fromstring(str(svg.svg(figure, label)).partition("</ul>")[2] or str(svg.svg(figure, label)))


class TestPictures:
    def test_neighbouring_bars_are_merged_in_the_worst_colour(self) -> None:
        count = 1_000
        colours = [charts.CALM] * count
        colours[505] = charts.ALARM
        bars = {"type": "bar", "base": list(range(count)), "x": [0.5] * count, "y": [2] * count, "width": 0.74,
                "color": colours, "text": ["t"] * count, "hovertext": ["h"] * count}  # fmt: skip
        band = {"type": "rect", "fillcolor": charts.WARNING, "opacity": 0.1}
        bands = [{**band, "x0": at, "x1": at + 0.5} for at in range(count)]
        figure = {"data": [bars], "layout": {"shapes": bands}}
        assert svg.downsampled(figure, count, count) == figure
        few = svg.downsampled(figure, count, 100)
        (trace,), shapes = few["data"], few["layout"]["shapes"]
        assert (trace["base"], trace["x"]) == (list(range(0, count, 10)), [9.5] * 100)
        assert [place for place, colour in enumerate(trace["color"]) if colour == charts.ALARM] == [50]
        assert [(shape["x0"], shape["x1"]) for shape in shapes] == [(at, at + 9.5) for at in range(0, count, 10)]
        assert len(colours) == len(bars["base"]) == count

    def test_a_minimum_that_is_not_known_is_no_number_in_the_tooltip(self, tmp_path: Path) -> None:
        state = {**SPAN, "partition": "p-0", "leader": 1, "leader_epoch": 0, "isr": [1], "isr_size": 1, "min_isr": None}
        figure = charts.timeline_chart(story(tmp_path, partition_states=[state]).sessions[0])
        assert figure is not None
        hovers = [words for trace in figure["data"] for words in trace.get("hovertext", ()) if "ISR [1]" in words]
        assert [("not known" in words, "None" in words) for words in hovers] == [(True, False)]

    def test_a_picture_is_xml_whatever_the_names_are(self, hostile: ReportModel) -> None:
        one = hostile.sessions[0]
        for figure in (
            charts.timeline_chart(one),
            charts.availability_around_faults(one),
            charts.latency_around_faults(one),
        ):
            assert figure is not None
            root = picture(figure, HOSTILE)
            assert {each.tag for each in root.iter()} <= {"svg", "g", "path", "rect", "circle", "text", "title"}
            assert root.get("viewBox") == f"0 0 960 {figure['layout']['height']}"
            assert all(not name.startswith("on") for each in root.iter() for name in each.attrib)

    def test_bars_are_positioned_by_time(self, tmp_path: Path) -> None:
        one = story(tmp_path).sessions[0]
        bars = [each for each in picture(charts.timeline_chart(one)).iter("rect") if each.get("class") == "bar"]
        # Every interval of the story is from 5 to 9 of 20 us.
        spans = {(float(bar.get("x", 0)), float(bar.get("width", 0))) for bar in bars}
        assert len(bars) == 5
        assert len(spans) == 1
        begin, width = spans.pop()
        right = 960 - 14
        left = right - width * 5
        assert begin == pytest.approx(left + (right - left) / 4, abs=0.5)

    def test_a_gap_begins_a_new_line(self) -> None:
        trace = {"x": [0, 1, 2, 3], "y": [1, None, 1, 1]}
        scale = svg.Scale({"range": [0, 4]}, [], 0, 400)
        assert svg.path_of(trace, scale, scale, "linear") == "M0 100h.8M200 100h.8L300 100"
        assert svg.path_of(trace, scale, scale, "hv").endswith("H300V100")

    def test_a_line_has_its_values_where_its_points_are(self, tmp_path: Path) -> None:
        figure = charts.latency_chart(story(tmp_path).sessions[0])
        assert figure is not None
        lines = [each for each in picture(figure).iter("path") if each.get("class") == "line"]
        # A bin of 10 us from 0 on has the point in its middle, a quarter of the session's 20 us.
        left, right = (float(each) for each in (picture(figure).get("data-plot") or "").split()[:2])
        assert [line.get("data-says") for line in lines] == ["2 us", "4 us", "1,000,000 records/s"]
        places = [float(line.get("data-xs") or 0) for line in lines]
        assert places == [pytest.approx(left + (right - left) / 4, abs=0.1)] * 3

    def test_a_long_label_leaves_room_for_the_plot(self, hostile: ReportModel) -> None:
        plots = [picture(charts.timeline_chart(one)).get("data-plot") for one in hostile.sessions]
        assert all(float((plot or "").split()[0]) < svg.WIDTH / 2 for plot in plots)

    def test_log_axes_have_decade_marks(self) -> None:
        scale = svg.Scale({"type": "log", "range": [0, 2]}, [], 100, 0)
        assert [scale(value) for value in (1, 10, 100)] == [100, 50, 0]
        assert math.isclose(scale.inside(1e9), 0)


class TestMarkdown:
    def test_nothing_in_a_name_means_anything(self, hostile: ReportModel) -> None:
        text = markdown.markdown_text(hostile)
        assert text.startswith(markdown.MARKDOWN_FIRST_LINE)
        tags = set(re.findall(r"</?[a-z]+", text))
        assert tags <= {"<details", "</details", "<summary", "</summary", "<code", "</code"}
        assert "http:" not in text
        assert "\x1b" not in text

    def test_it_says_what_the_page_says(self, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
        text = markdown.markdown_text(story(tmp_path))
        assert "## ✗ floodmark: FAIL" in text
        assert re.findall(r"^#+ .*|<summary>.*?</summary>", text, re.MULTILINE) == snapshot
        assert "<code>floodmark open s0</code>" in text

    @pytest.mark.slow
    def test_it_fits_into_a_comment(self, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
        text = markdown.markdown_text(story(tmp_path, "orders-and-payments-0" * 8, sessions=12))
        assert len(text) < 65_536
        (rest,) = [line for line in text.splitlines() if "`report.html`" in line]
        assert re.sub(r"^\d+", "N", rest) == snapshot


@pytest.mark.slow
def test_a_terminal_of_80_columns_holds_it_without_colour(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    stream = io.StringIO()
    told = replace(story(tmp_path, sessions=3), baseline="s0")
    markdown.show_in_terminal(Console(file=stream, width=80, no_color=True), told)
    text = stream.getvalue()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert [line.strip(" │") for line in text.splitlines() if "floodmark open" in line] == snapshot
    assert "Alerts fired" in text


def test_the_key_figures_say_where_they_come_from(tmp_path: Path) -> None:
    one = story(tmp_path).sessions[0]
    names = {section.name for section in sections.sections(one)}
    found = sections.key_figures(one)
    assert [figure.value for figure in found] == ["1", "4 us", "4 us", "3 us", "2 us", "1"]
    assert {figure.at for figure in found} <= names


def test_the_data_dictionary_covers_every_table(tmp_path: Path) -> None:
    output.write_dictionary(tmp_path / output.DICTIONARY)
    text = (tmp_path / output.DICTIONARY).read_text(encoding="utf-8")
    assert text.startswith(registry.DICTIONARY_TITLE)
    assert "python -m" not in text
    assert all(f"## `{name}`" in text for name in TABLES if name != "counts")


@pytest.mark.parametrize("name", [output.MARKDOWN, output.DICTIONARY])
def test_texts_of_somebody_elses_are_refused_and_ours_are_not(
    tmp_path: Path, name: str, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / name).write_text("# My notes\n", encoding="utf-8")
    with pytest.raises(ReportError) as caught:
        output.Staging(tmp_path).__enter__()
    assert caught.value.code == "not_a_report"
    assert masked_text(caught.value, out=tmp_path) == snapshot
    output.write_dictionary(tmp_path / output.DICTIONARY)
    (tmp_path / output.MARKDOWN).write_text(markdown.MARKDOWN_FIRST_LINE, encoding="utf-8")
    with output.Staging(tmp_path) as staging:
        assert staging.path.is_dir()
