"""What a fleet report is written as, and the names of its files."""

from typing import Final

TERMINAL: Final = "terminal"
FORMATS: Final = ("html", "md", "json", "parquet", TERMINAL)
HTML: Final = "fleet.html"
MARKDOWN: Final = "fleet.md"
JSON: Final = "fleet.json"
