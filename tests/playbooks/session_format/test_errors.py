"""Errors that name their reason in a code beside the message."""

import copy
import pickle

import pytest

from cluster_model.protocol.errors import CodedError
from playbooks.recording.reader import SpanError
from playbooks.recording.recorder import RecordingError
from playbooks.safety_check.start_point import StartPointError
from playbooks.session_format.session_files import BundleError, LayoutError, SessionError
from playbooks.timetravel.branches import ForkError
from playbooks.timetravel.timeline import TimelineError

KINDS = (
    *(LayoutError, SessionError, BundleError, SpanError, RecordingError),
    *(StartPointError, ForkError, TimelineError),
)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_that_comes_from_another_process_has_its_code(kind: type[CodedError]) -> None:
    error = kind("it is not there", code="file_missing")
    error.add_note("on Tuesday")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is kind
        assert (str(again), again.code, again.__notes__) == (str(error), "file_missing", ["on Tuesday"])


def test_an_error_without_a_code_is_none() -> None:
    with pytest.raises(TypeError):
        SessionError("it is not there")  # type: ignore[call-arg]
