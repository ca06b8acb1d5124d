"""A bench record: everything that a run of the bench measured, and the server and hosts.

It contains no prompt, no answer and no secret.
"""

from typing import Any, Literal

from sparkiac.model.base import Model


class BenchGpu(Model):
    """State of the GPU at one time; a value that the driver does not report is None."""

    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None


class BenchHost(Model):
    """A host when the run began or ended."""

    driver: str | None = None
    firmware: str | None = None
    generation: str | None = None
    available_bytes: int | None = None
    gpu: BenchGpu | None = None


class BenchSubject(Model):
    """What was measured."""

    url: str
    model: str
    """Served name."""
    engine: str | None = None
    deployment: str | None = None
    recipe: str | None = None
    hosts: tuple[str, ...] = ()
    platform: str | None = None
    """Hardware profile of the host."""
    image: str | None = None
    digest: str | None = None
    weights: str | None = None
    """Model handle."""
    commits: dict[str, str] = {}
    """Repository → commit of the lock."""
    versions: dict[str, str] = {}
    """Software in the image, from the lock."""
    options: dict[str, Any] = {}
    """Options of the engine in the inventory's names."""
    speculative: dict[str, Any] | None = None
    argv: tuple[str, ...] = ()
    """Command in the container."""
    max_model_len: int | None = None

    @property
    def title(self) -> str:
        """Return its name as tables show it."""
        return self.deployment or self.model


class RoundRecord(Model):
    """Requests that ran together. The lists have one value for each successful request."""

    seconds: float
    prompt_tokens: tuple[int, ...] = ()
    output_tokens: tuple[int, ...] = ()
    ttft_s: tuple[float, ...] = ()
    total_s: tuple[float, ...] = ()
    gap_s: tuple[float, ...] = ()
    parts: tuple[int, ...] = ()
    reasoning_parts: tuple[int, ...] = ()
    errors: tuple[str, ...] = ()
    grown: dict[str, float] = {}
    """Growth of the server's counters."""
    positions: tuple[float, ...] = ()
    """Growth of the accepted tokens at each position of a draft."""
    others: bool = False
    """Whether other clients were served during the measurement."""


class PointRecord(Model):
    """One kind of request under one load."""

    name: str
    kind: str = "filler"
    prompt_tokens: int = 0
    output_tokens: int = 0
    concurrency: int = 1
    rate: float | None = None
    long_tokens: int = 0
    rounds: tuple[RoundRecord, ...] = ()
    reported: dict[str, float] = {}
    """Figures that another program printed without samples."""


class ToolCase(Model):
    """A request with tools."""

    name: str
    passed: tuple[bool, ...]
    """Result of each repetition."""
    fault: str | None = None
    """Why the last failed repetition failed."""


class Expected(Model):
    """Speeds and waits that the plan or a source expects."""

    what: str
    value: str
    source: str
    low: float | None = None
    high: float | None = None
    """Bounds, if the value is a range of the plan: of the decode speed in tokens per second, of a stall in seconds."""
    context: int | None = None
    """Tokens in the context for which the bounds are."""


class Phase(Model):
    """One phase of a start."""

    name: str
    seconds: float


class BenchRecord(Model):
    """A run of the bench."""

    format: Literal["sparkiac bench 1"] = "sparkiac bench 1"
    mode: str
    tool: str
    """Program that measured: sparkiac, or another one, with its version if it is known."""
    taken: str
    """Date and time of the start, UTC."""
    subject: BenchSubject
    thinking: bool | None = None
    before: dict[str, BenchHost] = {}
    """Host → its facts when the run began."""
    after: dict[str, BenchHost] = {}
    points: tuple[PointRecord, ...] = ()
    tools: tuple[ToolCase, ...] = ()
    phases: tuple[Phase, ...] = ()
    expected: tuple[Expected, ...] = ()
    notes: tuple[str, ...] = ()
    interrupted: bool = False
