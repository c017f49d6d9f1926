"""Who controls, who is counted on, who believes what: words, marks, keys and clicks."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from cluster_model.controller.cluster_parts import ControllerView
from cluster_model.observation.views import CachedMetadataView
from faults.catalogue import CATALOGUE
from tests.tui import fake_views
from tests.tui.driving import driving, in_feed
from tui.terminal import glyphs
from tui.viewmodel import log_view, partition_matrix, side_panes, status_bar

QUORUM = (
    ControllerView(1001, "controller 1001", "zombie", 3, 40, 38),
    ControllerView(1002, "controller 1002", "active", 4, 52, 51),
    ControllerView(1003, "controller 1003", "down", 3, 38, 38),
)
ENSEMBLE = (
    ControllerView(1501, "zookeeper 1", "leader", 1, -1, -1),
    ControllerView(1502, "zookeeper 2", "looking", 1, -1, -1),
    ControllerView(2, "broker 2", "active", 7, -1, -1),
)


def line(view, width=120):
    return "".join(text for text, _role in status_bar.bar(view, width).fields)


def words(row):
    return "".join(text for text, _role in row.pieces)


def split_view():
    """Broker 1 was replaced by broker 2 and has not heard of it; broker 3 has not either."""
    torn = replace(
        fake_views.partition(leader=2, isr=(2, 3)),
        leader_epoch=4,
        partition_epoch=7,
        replicas=(fake_views.replica(1, "diverged"), fake_views.replica(2, "leader"), fake_views.replica(3)),
        leaders=(1, 2),
        beliefs=(CachedMetadataView(1, 1, 3, 6, (1, 2, 3)), CachedMetadataView(3, -1, -1, -1, ())),
        elr=(1,),
        recovering=True,
        adding=(4,),
        removing=(3,),
    )
    brokers = fake_views.view().brokers
    return replace(
        fake_views.view(partitions=(torn,)),
        brokers=(
            replace(brokers[0], stale=1, fenced=True, epoch=12, controller=1001),
            replace(brokers[1], shutting_down=True, controller=1002),
            replace(brokers[2], stale=1),
        ),
        controllers=QUORUM,
        controller_epoch=4,
    )


def test_the_line_names_the_controller_and_its_epoch_and_every_node(snapshot):
    zookeeper = fake_views.view(controllers=ENSEMBLE, controller_epoch=7)
    assert [line(split_view()), line(split_view(), 80), line(zookeeper)] == snapshot


def test_without_an_active_controller_the_line_says_so(snapshot):
    gone = fake_views.view(controllers=tuple(replace(each, role="down") for each in QUORUM), controller_epoch=4)
    text, role = status_bar.bar(gone, 120).fields[0]
    assert (len(text), role) == (28, "bar_alarm")
    assert text.rstrip() == snapshot


def test_troubles_stand_behind_the_nodes_the_worst_first(snapshot):
    assert [text for text, _role in status_bar.problems(split_view())] == snapshot
    assert status_bar.problems(fake_views.view()) == ()


def test_the_line_never_grows_beyond_its_width_but_for_the_nodes():
    torn = split_view()
    for width in range(20, 201):
        assert cell_len(line(torn, width)) <= max(width, 44), width


def test_a_node_is_found_where_its_name_stands():
    built = status_bar.bar(split_view(), 120)
    text = line(split_view())
    for node, name in ((1001, "☆c1001"), (1002, "★c1002"), (1003, "✕c1003")):
        at = text.index(name)
        assert built.node_at(at) == built.node_at(at + len(name) - 1) == node
        assert built.node_at(at + len(name)) == -1


@pytest.mark.parametrize(
    ("role", "faults", "glyph"),
    [("active", (), "★"), ("active", ("gc_pause",), "‖"), ("down", ("gc_pause", "crash"), "✕"), ("follower", (), "●")],
)
def test_a_paused_node_looks_paused_whatever_it_believes(role, faults, glyph):
    assert status_bar.glyph_of(ControllerView(1001, "controller 1001", role, 1, 0, 0, faults))[0] == glyph


def test_every_role_has_a_look():
    assert set(status_bar.ROLE) == set(ControllerView.__annotations__["role"].__args__)


def test_the_pane_has_a_row_for_each_node_with_its_log(snapshot):
    rows = status_bar.rows(split_view())
    assert [(words(row), row.end) for row in rows] == snapshot
    assert status_bar.rows(fake_views.view(controllers=ENSEMBLE))[0].end == ("", "quiet")


# -- marks ----------------------------------------------------------------------------------------------------------


def test_marks_behind_a_broker_say_fenced_leaving_and_how_stale():
    broker = replace(fake_views.view().brokers[0], fenced=True, shutting_down=True, stale=12)
    assert partition_matrix.marks(broker, 8) == " ⊘↓?12"
    assert partition_matrix.marks(broker, 5) == "⊘↓?12"
    assert partition_matrix.marks(broker, 4) == " ⊘↓?"
    assert partition_matrix.marks(broker, 2) == ""
    assert partition_matrix.marks(fake_views.view().brokers[0], 8) == ""


@pytest.mark.parametrize("brokers", [3, 12])
def test_marks_never_make_a_heading_wider_than_its_column(brokers):
    view = fake_views.view(brokers=brokers)
    view = replace(view, brokers=tuple(replace(each, fenced=True, stale=60) for each in view.brokers))
    head = partition_matrix.build_matrix(view, width=80, height=10, cursor=(0, 0)).head
    assert all(len(cell.text) < head.columns.broker for cell in head.brokers)
    assert all(glyphs.FENCED in cell.text or len(cell.text) + 2 > head.columns.broker - 1 for cell in head.brokers)


def test_a_second_leader_has_a_glyph_of_its_own_in_matrix_and_lanes(snapshot):
    view = split_view()
    row = partition_matrix.build_matrix(view, width=80, height=10, cursor=(0, 0)).rows[0]
    assert [(cell.text, cell.role) for cell in row.cells[:2]] == [("☆=", "alarm"), ("★100", "leader")]
    built = log_view.build_lanes(view, view.partitions[0], fake_views.log(), 1)
    zombie = next(each for each in built.rows if isinstance(each, log_view.LogLane) and each.broker == "b1")
    assert (zombie.glyph, zombie.word) == ("☆", "zombie")
    assert zombie.odd.endswith("?b1 e3")
    assert built.title == snapshot


def test_under_the_cursor_stands_who_knows_what(snapshot):
    assert [words(row) for row in side_panes.replica(split_view(), 0, 0)] == snapshot
    assert not any("controller" in words(row) for row in side_panes.replica(split_view(), 0, 1))


# -- keys and clicks ------------------------------------------------------------------------------------------------


NODES = ["b1", "b2", "b3", "c1001", "c1002", "c1003", "checkout", "clicks", "billing/0", "billing/1"]


@pytest.mark.slow
async def test_the_key_for_the_controller_opens_the_sheet_on_it(snapshot):
    async with driving() as driver:
        await driver.seconds(1)
        await driver.press("C")
        assert driver.sheet() == ("faults", "c1001")
        expected = driver.main.expected("crash")
        assert expected.controller_moves
        assert expected.sentence in " ".join(driver.shown("#whichkey"))
        assert expected.sentence == snapshot
        await driver.press("c")
        await driver.seconds(4)
        assert [(fault.name, fault.target) for fault in driver.session_controller.view.faults] == [
            ("crash", "controller 1001")
        ]
        assert "✕c1001" in driver.text()
        assert driver.session_controller.session.cluster.query.controller() in (1002, 1003)
        changed = driver.happened("controller_changed")[-1]
        assert changed.node == f"controller {driver.session_controller.session.cluster.query.controller()}"
        assert in_feed(changed) in driver.text()
        await driver.press("f")
        assert driver.sheet() == ("faults", "b1")


@pytest.mark.slow
async def test_arrows_aim_beyond_the_brokers_at_the_quorum_and_round():
    async with driving() as driver:
        await driver.press("f")
        seen = []
        for _ in range(11):
            seen.append(driver.sheet()[1])
            await driver.press("right")
        assert seen == [*NODES, "b1"]


@pytest.mark.slow
async def test_a_fault_for_brokers_alone_says_so_of_a_controller(snapshot):
    place, fault = next((at, each) for at, each in enumerate(CATALOGUE.values()) if each.accepts == "brokers")
    async with driving() as driver:
        await driver.press("C", *["down"] * place)
        told = driver.main.expected(fault.name).sentence
        assert told in " ".join(driver.shown("#whichkey"))
        assert told == snapshot
        await driver.press(fault.letter)
        assert driver.session_controller.view.faults == ()


@pytest.mark.slow
async def test_a_click_on_a_node_opens_its_sheet():
    async with driving() as driver:
        await driver.seconds(1)
        at = driver.text().split("\n")[1].index("c1003")
        await driver.pilot.click("#status", offset=(at, 1))
        await driver.settle()
        assert driver.sheet() == ("faults", "c1003")


@pytest.mark.slow
async def test_a_click_beside_the_nodes_does_nothing():
    async with driving() as driver:
        await driver.seconds(1)
        await driver.pilot.click("#status", offset=(3, 1))
        await driver.settle()
        assert not driver.main.query_one("#whichkey-pane").display


async def test_the_palette_knows_every_node():
    async with driving() as driver:
        await driver.settle()
        names = [name for _node, name in driver.main.operator.targets()]
        assert names == NODES
