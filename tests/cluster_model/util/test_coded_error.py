"""Errors with a code pass unchanged between processes."""

import copy
import pickle

import pytest

from cluster_model.protocol.errors import CodedError, ConfigConflictError, ModelError


@pytest.mark.parametrize("error", [CodedError("no", code="refused"), ModelError("no", code="no_topic"),
                                   ConfigConflictError("acks", "no", code="not_in_version")], ids=type)  # fmt: skip
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_is_the_same_elsewhere(error: CodedError, protocol: int) -> None:
    for other in (pickle.loads(pickle.dumps(error, protocol)), copy.deepcopy(error)):
        assert (type(other), str(other), vars(other)) == (type(error), "no", vars(error))


def test_a_code_is_never_left_out() -> None:
    with pytest.raises(TypeError, match="code"):
        ModelError("no topic")  # type: ignore[call-arg]
