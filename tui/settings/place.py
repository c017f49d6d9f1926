"""Where the file of settings is: in the user's config folder, as the XDG base directories have it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

VARIABLE: Final = "FLOODMARK_CONFIG"
"""Names another file."""
NAME: Final = "config.toml"


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """The file, there or not: ``~/.config/floodmark/config.toml`` unless the environment says otherwise."""
    environ = os.environ if environ is None else environ
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE])
    folder = environ.get("XDG_CONFIG_HOME", "")
    # The standard wants a relative path there to be ignored.
    root = Path(folder) if Path(folder).is_absolute() else Path(environ.get("HOME") or Path.home()) / ".config"
    return root / "floodmark" / NAME
