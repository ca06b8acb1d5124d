"""Series that make each alert fire and clear: one sample a minute, in the notation of `promtool test rules`."""

from __future__ import annotations

from typing import Final, NamedTuple


class Case(NamedTuple):
    """When an alert fires and when it is clear again, in minutes."""

    series: dict[str, str]
    fires: int
    clears: int
    quiet: int = 0
    """A minute before, at which the condition may hold but must not have fired yet."""


_AT: Final = 'host="spark-01",deployment="chat"'
_HOST: Final = 'host="spark-01"'
_UNIT: Final = f'unit="sparkiac-chat",{_AT}'
_GATEWAY: Final = 'gateway="gateway",host="spark-02"'
_VLLM: Final = f'engine="0",model_name="m",{_AT}'
_FILE: Final = f'device="/dev/nvme0n1p2",fstype="ext4",mountpoint="/",{_HOST}'
_GIB: Final = 1024**3


def _buckets(name: str, slow: str, fast: str) -> dict[str, str]:
    """Return a histogram whose requests are first slow and then fast: le=0.1 counts the fast ones, +Inf all of them."""
    return {f'{name}_bucket{{le="0.1",{_VLLM}}}': fast, f'{name}_bucket{{le="1000",{_VLLM}}}': slow} | {
        f'{name}_bucket{{le="+Inf",{_VLLM}}}': slow
    }


CASES: Final[dict[str, Case]] = {
    "EndpointDown": Case(
        {f'up{{job="deployments",{_AT}}}': "1x9 0x20 1x10", f"sparkiac_unit_ready{{{_UNIT}}}": "1x40"}, 15, 35, 11
    ),
    "DeploymentNotReady": Case({f"sparkiac_unit_ready{{{_UNIT}}}": "1x9 0x30 1x10"}, 35, 45, 25),
    "WrongAnswers": Case({f"sparkiac_wrong_answer{{{_UNIT}}}": "0x9 1x5 0x20"}, 12, 20),
    "RouteWithoutServer": Case(
        {
            f'haproxy_server_status{{proxy="route:fast",server="chat",state="DOWN",{_GATEWAY}}}': "0x9 1x20 0x10 1x20",
            f'haproxy_backend_status{{proxy="route:fast",state="UP",{_GATEWAY}}}': "1x9 0x20 1x10 0x20",
            # Then its server rests in its turn.
            f"sparkiac_unit_resting{{{_UNIT}}}": "0x39 1x20",
        },
        16,
        55,
        13,
    ),
    "EngineHangs": Case(
        {
            f"vllm:num_requests_running{{{_VLLM}}}": "1x60 0x20",
            f"vllm:generation_tokens_total{{{_VLLM}}}": "0+100x10 1000x80",
            f"vllm:prompt_tokens_total{{{_VLLM}}}": "0+100x10 1000x80",
        },
        35,
        70,
        18,
    ),
    "KvCacheNearlyFull": Case({f"vllm:kv_cache_usage_perc{{{_VLLM}}}": "0.5x9 0.95x20 0.5x20"}, 25, 40, 15),
    "QueueGrows": Case({f"vllm:num_requests_waiting{{{_VLLM}}}": "0x9 5x20 4x20"}, 25, 40, 15),
    "FirstTokenSlow": Case(_buckets("vllm:time_to_first_token_seconds", "0+1x120", "0x60 0+1x60"), 50, 119, 10),
    "TokensSlow": Case(_buckets("vllm:inter_token_latency_seconds", "0+1x120", "0x60 0+1x60"), 50, 119, 10),
    "AcceptanceCollapsed": Case(
        {
            f"vllm:spec_decode_num_draft_tokens_total{{{_VLLM}}}": "0+100x180",
            f"vllm:spec_decode_num_accepted_tokens_total{{{_VLLM}}}": "0+1x90 91+80x90",
        },
        60,
        150,
        20,
    ),
    "PrefixCacheLost": Case(
        {
            f"vllm:prefix_cache_queries_total{{{_VLLM}}}": "0+100x1800",
            f"vllm:prefix_cache_hits_total{{{_VLLM}}}": "0+80x1440 115200x200 115200+80x160",
        },
        1520,
        1760,
        1440,
    ),
    "RestartsOften": Case({f"sparkiac_unit_restarts_total{{{_UNIT}}}": "0x9 0+1x5 5x120"}, 20, 100, 5),
    "UnitGaveUp": Case(
        {f'sparkiac_unit_gave_up{{reason="5 starts in a row never answered",{_UNIT}}}': "_x9 1x9 _x20"}, 12, 25, 5
    ),
    "UnitFailed": Case({f"sparkiac_unit_failed{{{_UNIT}}}": "0x9 1x9 0x20"}, 15, 25, 10),
    "HostDown": Case(
        {f'up{{job="node",{_HOST}}}': "1x9 0x10 1x20", f'up{{job="gpu",{_HOST}}}': "1x9 0x10 1x20"}, 15, 25, 11
    ),
    "MemoryLow": Case(
        {f"node_memory_MemAvailable_bytes{{{_HOST}}}": f"{9 * _GIB}x9 {3 * _GIB}x10 {9 * _GIB}x20"}, 17, 25, 12
    ),
    "PageCacheGrows": Case(
        {
            f"node_memory_Cached_bytes{{{_HOST}}}": f"{10 * _GIB}x9 {40 * _GIB}x90 {10 * _GIB}x20",
            f"node_memory_Shmem_bytes{{{_HOST}}}": f"{_GIB}x120",
            f"node_memory_MemTotal_bytes{{{_HOST}}}": f"{119 * _GIB}x120",
            f"node_memory_MemAvailable_bytes{{{_HOST}}}": f"{6 * _GIB}x120",
        },
        80,
        110,
        50,
    ),
    "GpuError": Case({f'sparkiac_kernel_messages_total{{kind="xid",{_HOST}}}': "0x9 1x60"}, 15, 40),
    "DriverOutOfMemory": Case(
        {
            f'sparkiac_kernel_messages_total{{kind="no_memory",job="node",{_HOST}}}': "0x9 1x29 3x60",
            f'node_memory_MemAvailable_bytes{{job="node",{_HOST}}}': f"{60 * _GIB}x39 {2 * _GIB}x5 {60 * _GIB}x60",
        },
        44,
        70,
        12,
    ),
    "GpuHot": Case({f'nvidia_smi_temperature_gpu{{uuid="a",{_HOST}}}': "60x9 90x20 60x20"}, 25, 40, 15),
    "HostHot": Case({f'node_thermal_zone_temp{{zone="0",type="acpitz",{_HOST}}}': "60x9 97x20 60x20"}, 25, 40, 15),
    "DiskNearlyFull": Case(
        {
            f"node_filesystem_avail_bytes{{{_FILE}}}": "50x9 5x30 50x20",
            f"node_filesystem_size_bytes{{{_FILE}}}": "100x60",
            f"node_filesystem_readonly{{{_FILE}}}": "0x60",
        },
        30,
        50,
        15,
    ),
    "MachineSick": Case({f'sparkiac_sick{{kind="deadlocked",unit="sparkiac-chat",{_HOST}}}': "0x9 1x20 0x20"}, 12, 45),
    "GenerationPending": Case({f"sparkiac_generation_pending{{{_HOST}}}": "0x9 1x80 0x20"}, 80, 100, 40),
    "GenerationMismatch": Case({f"sparkiac_generation_changed_files{{{_HOST}}}": "0x9 2x50 0x20"}, 50, 70, 20),
    "ClockWrong": Case({f"node_timex_sync_status{{{_HOST}}}": "1x9 0x30 1x20"}, 30, 50, 15),
    "LeaseHeldLong": Case({f"sparkiac_lease_age_seconds{{{_HOST}}}": "0x9 7300x9 0x20"}, 12, 25),
    "HostMetricsStale": Case(
        {f"sparkiac_written_timestamp_seconds{{{_HOST}}}": "0+60x10 600x30 2460+60x20"}, 35, 55, 15
    ),
    "GpuExporterFails": Case({f"nvidia_smi_last_collect_success{{{_HOST}}}": "1x9 0x20 1x20"}, 25, 40, 15),
    "MonitoringDown": Case(
        {f'up{{job="alertmanager",instance="127.0.0.1:9093",{_HOST}}}': "1x9 0x20 1x20"}, 25, 40, 15
    ),
    "MessagesNotSent": Case(
        {f'alertmanager_notifications_failed_total{{integration="telegram",{_HOST}}}': "0x9 0+1x60 60x90"}, 60, 120, 20
    ),
}
