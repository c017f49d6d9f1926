"""How a playbook's text becomes values: kinds of values, tables of keys, the grammar of conditions.

Use ``playbooks.parser.loader`` and ``playbooks.conditions.condition``; what is here are their parts.
"""
