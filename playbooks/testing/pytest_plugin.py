"""Pytest plugin of floodmark: playbooks as tests, and a cluster as a fixture.

Nothing happens unless requested: a file is a test only if its name matches ``floodmark_files`` or it is named on the
command line, and it begins with ``floodmark:``; the fixtures act only in tests that use them. Other modules are
imported on use. ``-p no:floodmark`` disables the plugin.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from playbooks.library.suffixes import SUFFIXES

if TYPE_CHECKING:
    from playbooks.testing.harness import SimulatedCluster
    from playbooks.testing.playbook_case import PlaybookCase

MARKER: Final = "floodmark"
PYTEST_OWN: Final = ("skipif", "parametrize", "usefixtures", "filterwarnings")
"""Markers with a meaning in pytest; tags of these names are not converted to markers."""
LOOKED_AT: Final = 4096
"""Characters at a file's beginning that must contain its first key."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and the ini key."""
    parser.addini(
        "floodmark_files", "Names of playbooks that are tests.", type="args", default=["*.floodmark.yaml"]
    )  # fmt: skip
    group = parser.getgroup("floodmark", "playbooks as tests")
    group.addoption("--floodmark-seed", type=int, metavar="N", help="Seed of every playbook, instead of its own.")
    group.addoption(
        "--floodmark-set", action="append", default=[], metavar="KEY=VALUE",
        help="Change a value of every playbook, as floodmark run --set does.",
    )  # fmt: skip
    group.addoption("--floodmark-sessions", metavar="DIR", help="Record sessions in this directory.")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and check the options."""
    config.addinivalue_line("markers", f"{MARKER}: a playbook; on a test that takes `cluster`, what to build")
    seed = config.getoption("--floodmark-seed")
    if seed is not None and seed < 0:
        raise pytest.UsageError(f"--floodmark-seed: found {seed}, expected 0 or more")
    given = config.getoption("--floodmark-set")
    if given:
        from playbooks.parser.settings import SettingError, parse_setting  # noqa: PLC0415

        try:
            dict(parse_setting(text) for text in given)
        except SettingError as error:
            raise pytest.UsageError(str(error).replace("--set", "--floodmark-set", 1)) from None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "PlaybookFile | None":
    """Collect a playbook that is a test."""
    if file_path.suffix.lower() not in SUFFIXES:
        return None
    wanted = any(file_path.match(pattern) for pattern in parent.config.getini("floodmark_files"))
    if (wanted or parent.session.isinitpath(file_path)) and _begins(file_path):
        return PlaybookFile.from_parent(parent, path=file_path)
    return None


def _begins(path: Path) -> bool:
    """Return whether its first key is ``floodmark``, and it is not a fragment."""
    try:
        with path.open(encoding="utf-8") as file:
            head = file.read(LOOKED_AT)
    except (OSError, UnicodeDecodeError):
        return False
    lines = [
        line
        for line in head.removeprefix("\ufeff").splitlines()
        if line.strip() and not line.startswith(("#", "---", "%"))
    ]
    if not lines or not lines[0].startswith("floodmark:"):
        return False
    from playbooks.parser.document.includes import is_fragment_file  # noqa: PLC0415

    return not is_fragment_file(path)


class PlaybookFile(pytest.File):
    """Playbook file: one item, or one for each cell of its grid."""

    def collect(self) -> Iterator["PlaybookItem"]:
        """Load the file; all errors are reported with their positions."""
        from playbooks.testing.playbook_case import CaseError, cases_of  # noqa: PLC0415

        config = self.config
        try:
            cases = cases_of(self.path, config.getoption("--floodmark-seed"), config.getoption("--floodmark-set"))
        except CaseError as error:
            raise self.CollectError(str(error)) from None
        for case in cases:
            yield PlaybookItem.from_parent(self, name=case.name, case=case)


class PlaybookItem(pytest.Item):
    """One run of a playbook as a pytest item."""

    def __init__(self, *, case: "PlaybookCase", **options: Any) -> None:
        super().__init__(**options)
        self.case = case
        for tag in (MARKER, *case.tags):
            if tag not in PYTEST_OWN:
                self.config.addinivalue_line("markers", f"{tag}: a tag of playbooks")
                self.add_marker(tag)

    def runtest(self) -> None:
        """Run it; any result but a pass is a failure."""
        from playbooks.testing.playbook_case import run_case  # noqa: PLC0415

        sessions = self.config.getoption("--floodmark-sessions")
        result = run_case(self.case, Path(sessions) if sessions else None)
        found = {"digest": result.digest, "seed": result.seed, "verdict": result.verdict, "session": result.session}
        self.user_properties += [(f"floodmark_{key}", value) for key, value in found.items() if value != ""]

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the report of the failure instead of a traceback."""
        from playbooks.testing.playbook_case import CaseError, Failed  # noqa: PLC0415

        if isinstance(excinfo.value, (Failed, CaseError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the location for the head of a failure."""
        return self.path, 0, f"playbook {self.name}"


@pytest.fixture
def floodmark_cluster(request: pytest.FixtureRequest) -> Iterator[Callable[..., "SimulatedCluster"]]:
    """Return a function that builds clusters: ``floodmark_cluster(kafka="3.9", topics={...})``, or from a playbook.

    It takes the parameters of :class:`playbooks.testing.harness.SimulatedCluster`. With ``--floodmark-sessions`` the
    sessions are recorded, and sealed at the end of the test.
    """
    from playbooks.testing.harness import SimulatedCluster  # noqa: PLC0415

    sessions = request.config.getoption("--floodmark-sessions")

    def build(playbook: Any = None, **parts: Any) -> SimulatedCluster:
        parts.setdefault("seed", request.config.getoption("--floodmark-seed"))
        parts.setdefault("sessions", sessions)
        made = SimulatedCluster(playbook, **parts)
        open_ones.callback(made.close)
        return made

    with ExitStack() as open_ones:  # one that cannot be sealed does not affect the others
        yield build


@pytest.fixture
def cluster(request: pytest.FixtureRequest, floodmark_cluster: Callable[..., "SimulatedCluster"]) -> "SimulatedCluster":
    """Cluster of three brokers with a topic ``orders``, a producer ``checkout`` (``acks=all``) and a group ``billing``.

    ``@pytest.mark.floodmark(...)`` changes it, with the parameters of ``floodmark_cluster``.
    """
    marker = request.node.get_closest_marker(MARKER)
    return floodmark_cluster(*marker.args, **marker.kwargs) if marker is not None else floodmark_cluster()
