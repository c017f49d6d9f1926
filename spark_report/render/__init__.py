"""Output of a report as HTML, Markdown, terminal text, Parquet and JSON.

tables: text tables about losses, faults and partitions. client_tables: those about clients.
sections: order of a session's tables, its key figures, and the comparison of sessions.
charts: latency and lag charts, charts around faults, and the timeline with its lanes, as figures.
svg: renders a figure as inline SVG; merges neighbours in a lane with very many shapes.
html: the self-contained HTML page, with a section for each partition.
text: the report in a terminal and as Markdown.
output: writes files into a staging directory and renames them into place.

Templates and styles of the page are in templates/. It builds on model and on tables.registry.
"""

__all__ = [
    "charts",
    "html",
    "output",
    "svg",
    "tables",
    "text",
]
