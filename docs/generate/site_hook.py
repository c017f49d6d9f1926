"""Hook of the site builder that removes the names of docstring roles, which Markdown does not have."""

import re
from typing import Any, Final

_ROLE: Final = re.compile(r":(?:attr|class|data|func|meth|mod):(?=<code>)")


def on_page_content(html: str, **_context: Any) -> str:
    """Return a page without the names of roles."""
    return _ROLE.sub("", html)
