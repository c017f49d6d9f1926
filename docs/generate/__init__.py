"""Commands that write the reference pages and the pictures of the manual from the product itself.

Each ``*_page`` module is one page: ``python -m docs.generate.fault_page > docs/faults.md``. It prints what the
catalogue, the registry or the tables of the product say; a test compares the pages with what is printed.
screenshots and report_screenshots make the pictures of the TUI and of the report, the same every time.

No product module imports this package.
"""
