"""Names that a shell completes: each is looked up when a tab asks for it, and costs nothing else anything."""

from collections.abc import Iterable


def playbooks(incomplete: str) -> list[str]:
    """Bundled playbooks. Files are the shell's own business, where no name fits."""
    from playbooks.library.bundled import names  # noqa: PLC0415

    return _beginning(names(), incomplete)


def faults(incomplete: str) -> list[str]:
    """Faults and operations."""
    from faults.catalogue import CATALOGUE  # noqa: PLC0415
    from faults.declarations.operation import OPERATIONS  # noqa: PLC0415

    return _beginning((*CATALOGUE, *OPERATIONS), incomplete)


def versions(incomplete: str) -> list[str]:
    """Versions of Kafka."""
    from cluster_model.protocol.versions import PROFILE_VERSIONS  # noqa: PLC0415

    return _beginning(PROFILE_VERSIONS, incomplete)


def sessions(incomplete: str) -> list[str]:
    """Recorded sessions, the newest first, where they are looked for."""
    from playbooks.session_format.session_files import (
        sessions_root,  # noqa: PLC0415
        sessions_under,  # noqa: PLC0415
    )

    return _beginning((str(path) for path in reversed(sessions_under(sessions_root()))), incomplete)


def sources(incomplete: str) -> list[str]:
    """Recorded sessions and bundled playbooks."""
    return sessions(incomplete) + playbooks(incomplete)


def invariants(incomplete: str) -> list[str]:
    """What the protocol promises."""
    from cluster_model.checker.invariants.registry import PROMISES  # noqa: PLC0415

    return _beginning(PROMISES, incomplete)


def explorations(incomplete: str) -> list[str]:
    """What comes along for ``explore``."""
    from playbooks.model_checking.file import PRESETS  # noqa: PLC0415

    return _beginning(sorted(path.stem for path in PRESETS.glob("*.yaml")), incomplete)


def storms(incomplete: str) -> list[str]:
    """What storms can be drawn over."""
    from playbooks.library.bundled import names  # noqa: PLC0415
    from playbooks.library.presets import presets  # noqa: PLC0415

    return _beginning((*presets(), *names()), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
