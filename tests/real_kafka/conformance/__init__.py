"""Comparison of real brokers with the model: ``python -m tests.real_kafka.conformance``.

scenario_table     scenarios: the playbooks in `scenarios/`, and the releases that they run on
observed           facts of one run, the same for real brokers and the model
evidence_facts     facts of a real run, from its evidence
model_facts        facts of a session on the model
comparison         rules of comparison, and differences
known_differences  errors of the model that were found, and differences that stay
results            comparisons, recordings in `recorded/`, and the page of results
run_queue          real runs of many scenarios, within a time
"""
