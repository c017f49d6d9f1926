"""Metrics of a session, as Prometheus scrapes them from a real cluster, and alerts on them.

catalogue: the metrics: name, type, labels, meaning and Kafka's MBean.
sampler: reads the values of all metrics from a running cluster, and counts events.
time_series: scrapes a playbook or a recorded session at a fixed interval of virtual time.
openmetrics: writes the time series as OpenMetrics text.
promtool: evaluates Prometheus rule files over the time series, by Prometheus' own promtool.
alert_report: which fault each alert followed, and which faults no alert saw.
"""

__all__ = [
    "alert_report",
    "catalogue",
    "openmetrics",
    "promtool",
    "sampler",
    "time_series",
]
