"""The command that prints the reference pages of the manual and draws its pictures, all from the product itself.

``python -m docs.generate`` lists the pages, ``python -m docs.generate faults > docs/faults.md`` writes one anew,
``python -m docs.generate all`` (``make pages``) all that are out of date, with the schema of playbooks and the tables
of keys in ``docs/tui.md``, and ``python -m docs.generate pictures docs/media`` draws the pictures of the TUI. A test
compares each page with what is printed.

- reference_pages: anomalies, causes, faults, the fidelity card, invariants, keys, the library, liveness properties,
  APIs of the gateway.
- command_pages: commands, configurations with their defaults by release, versions, the glossary.
- report_pages: tables of a fleet report, and pictures of a report. The page of a report's own tables is made by
  ``spark_report.tables.registry``, which every report takes its dictionary from.
- screenshots: pictures of the TUI, the same every time.

No product module imports this package.
"""
