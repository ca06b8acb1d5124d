"""Names of the metrics that alerts and dashboards read from exporters and from Prometheus and Alertmanager.

node_exporter: the page of a running 1.5.0; node_thermal_zone_temp (collector thermal_zone) needs a thermal zone.
GPU exporter: docs/METRICS.md of nvidia_gpu_exporter 1.15.1. Alertmanager: the page of a running 0.25.0. HAProxy: the
page of a running 2.6.12. Prometheus itself has `up` and ALERTS.
"""

from __future__ import annotations

from typing import Final

NODE: Final = frozenset(
    {
        "node_cpu_seconds_total",
        "node_filesystem_avail_bytes",
        "node_filesystem_readonly",
        "node_filesystem_size_bytes",
        "node_memory_Cached_bytes",
        "node_memory_MemAvailable_bytes",
        "node_memory_MemTotal_bytes",
        "node_memory_Shmem_bytes",
        "node_network_receive_bytes_total",
        "node_textfile_scrape_error",
        "node_thermal_zone_temp",
        "node_timex_offset_seconds",
        "node_timex_sync_status",
    }
)
GPU: Final = frozenset(
    {
        "nvidia_smi_last_collect_success",
        "nvidia_smi_power_draw_watts",
        "nvidia_smi_temperature_gpu",
        "nvidia_smi_utilization_gpu_ratio",
    }
)
ALERTMANAGER: Final = frozenset({"alertmanager_notifications_failed_total"})
PROMETHEUS: Final = frozenset({"up", "ALERTS"})
HAPROXY: Final = frozenset({"haproxy_backend_status", "haproxy_server_status"})
EVERY: Final = NODE | GPU | HAPROXY | ALERTMANAGER | PROMETHEUS
