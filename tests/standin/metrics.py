"""A few of vLLM's own metric series, counted from what the stand-in answered."""

from __future__ import annotations

import threading

TTFT = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0, 160.0, 640.0, 2560.0,
)  # fmt: skip
ITL = (
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
)  # fmt: skip
E2E = (
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
)  # fmt: skip
REASONS = ("stop", "length", "abort", "error", "repetition")


class Histogram:
    """Observations in the buckets that vLLM has for them."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        """Begin with none."""
        self.bounds, self.values = bounds, list[float]()

    def lines(self, name: str, labels: str) -> list[str]:
        """Return the series in the text format."""
        counts = [(f"{bound}", sum(value <= bound for value in self.values)) for bound in self.bounds]
        counts.append(("+Inf", len(self.values)))
        return [
            f"# TYPE {name} histogram",
            *(f'{name}_bucket{{{labels},le="{bound}"}} {count:.1f}' for bound, count in counts),
            f"{name}_count{{{labels}}} {len(self.values):.1f}",
            f"{name}_sum{{{labels}}} {sum(self.values)}",
        ]


class Metrics:
    """The engine's counters."""

    def __init__(self, model: str, *, gpu_memory_utilization: float) -> None:
        """Begin at zero."""
        self.lock = threading.Lock()
        self.labels = f'engine="0",model_name="{model}"'
        self.utilization = gpu_memory_utilization
        self.full = False
        """Whether the KV cache is full, so that requests wait and no token is generated."""
        self.running = self.prompt_tokens = self.generation_tokens = 0
        self.drafted = 0
        """Tokens of each draft; 0 without speculative decoding."""
        self.drafts, self.accepted = 0.0, 0.0
        self.finished = dict.fromkeys(REASONS, 0)
        self.ttft, self.itl, self.e2e = Histogram(TTFT), Histogram(ITL), Histogram(E2E)

    def change_running(self, by: int) -> None:
        """Count a request that begins (+1) or ends (-1)."""
        with self.lock:
            self.running += by

    def draft(self, generated: int, acceptance: float) -> None:
        """Count the drafts of a request: each step yields one token and the accepted ones."""
        with self.lock:
            drafts = generated / (1 + acceptance * self.drafted)
            self.drafts += drafts
            self.accepted += drafts * acceptance * self.drafted

    def finish(self, *, prompt: int, generated: int, reason: str, first_token_seconds: float, seconds: float) -> None:
        """Count an answered request."""
        with self.lock:
            self.prompt_tokens += prompt
            self.generation_tokens += generated
            self.finished[reason if reason in self.finished else "stop"] += 1
            self.ttft.values.append(first_token_seconds)
            self.e2e.values.append(seconds)
            self.itl.values.extend([(seconds - first_token_seconds) / max(generated, 1)] * (generated - 1))

    def text(self) -> str:
        """Return what Prometheus scrapes."""
        with self.lock:
            gauges = {
                "num_requests_running": self.running,
                "num_requests_waiting": 5 if self.full else 0,
                "kv_cache_usage_perc": 1 if self.full else 0,
            }
            counters = {
                "num_preemptions_total": 0,
                "prefix_cache_queries_total": self.prompt_tokens,
                "prefix_cache_hits_total": 0,
                "prompt_tokens_total": self.prompt_tokens,
                "generation_tokens_total": self.generation_tokens,
            }
            if self.drafted:
                counters |= {
                    "spec_decode_num_drafts_total": self.drafts,
                    "spec_decode_num_draft_tokens_total": self.drafts * self.drafted,
                    "spec_decode_num_accepted_tokens_total": self.accepted,
                }
            out = ["# sparkiac's engine stand-in, with names of vLLM's series"]
            for kind, series in (("gauge", gauges), ("counter", counters)):
                for name, value in series.items():
                    out += [f"# TYPE vllm:{name} {kind}", f"vllm:{name}{{{self.labels}}} {value:.1f}"]
            out += ["# TYPE vllm:request_success_total counter"]
            out += [
                f'vllm:request_success_total{{finished_reason="{reason}",{self.labels}}} {count:.1f}'
                for reason, count in self.finished.items()
            ]
            out += ["# TYPE vllm:cache_config_info gauge"]
            info = f'gpu_memory_utilization="{self.utilization}",{self.labels}'
            out += [f"vllm:cache_config_info{{{info}}} 1.0"]
            out += self.ttft.lines("vllm:time_to_first_token_seconds", self.labels)
            out += self.itl.lines("vllm:inter_token_latency_seconds", self.labels)
            out += self.e2e.lines("vllm:e2e_request_latency_seconds", self.labels)
        return "\n".join(out) + "\n"
