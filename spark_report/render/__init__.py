"""Renders a report as an HTML page, Markdown, terminal text, Parquet and JSON files.

tables: findings about faults and partitions as small tables of text. client_tables: those about clients.
sections: which tables a session shows in which order, its key figures, and the comparison of sessions.
charts: latency and lag charts, charts around faults, and the timeline with its lanes, as figures.
svg: draws a figure as inline SVG; joins neighbours where a lane has very many shapes.
html: the page that needs nothing else, and its part for each partition.
text: the report in a terminal and as Markdown.
output: writes files in a staging directory and renames them into place.

Templates and styles of the page lie in templates/ beside these modules. It builds on model and on
tables.registry.
"""

__all__ = [
    "charts",
    "html",
    "output",
    "svg",
    "tables",
    "text",
]
