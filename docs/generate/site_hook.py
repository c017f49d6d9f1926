"""Hook of the site's builder: roles of docstrings, which Markdown does not know, leave only their text."""

import re
from typing import Any, Final

_ROLE: Final = re.compile(r":(?:attr|class|data|func|meth|mod):(?=<code>)")


def on_page_content(html: str, **_context: Any) -> str:
    """Return a page without the names of roles."""
    return _ROLE.sub("", html)
