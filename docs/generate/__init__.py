"""Generator of the manual's reference pages and pictures, all from the product itself.

``python -m docs.generate`` lists the pages, ``python -m docs.generate all`` (``make pages``) writes all that are out of
date, with the schema of playbooks, and ``python -m docs.generate pictures docs/media`` draws the pictures of the TUI. A
test compares each page with the generator's output.

- reference_pages: anomalies, causes, the fidelity card, invariants, liveness properties, APIs of the gateway.
- catalogue_pages: faults, keys of playbooks and the library, each an index with a page per part.
- command_pages: commands, keys of the TUI, configurations with their defaults by release, versions, the glossary.
- playbook_pages: functions of conditions, manual steps, providers of record contents.
- report_pages: tables of a report and of a fleet report, and pictures of a report.
- metric_pages: metrics, and what each bundled alert is worth over the library.
- site_hook: hook of the site builder (`make docs`).
- screenshots: reproducible pictures of the TUI.

No product module imports this package.
"""
