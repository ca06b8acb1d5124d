"""Tables of the catalog: drafters, drivers, profiles of rules, keys that targets do not get, alerts, clients."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from sparkiac.model.base import ImageReference, Line, Model, Name, ShortText, Version, Word
from sparkiac.model.settings import Drafter, Tokens
from sparkiac.report import Severity


class DrafterPair(Model):
    """A target and the drafter that was trained for it."""

    target: ShortText
    """Model handle of the target."""
    drafter: Drafter | None = None
    """Drafter; none if the target's checkpoint contains its own draft layers, or if no source names a drafter."""
    built_in: bool = False
    """Whether the target's checkpoint contains its own draft layers, such as MTP heads."""
    alternative: ShortText | None = None
    """Another drafter that the source names."""
    method: Literal["dflash", "mtp", "deepseek_mtp"]
    """Speculative method that it was trained for."""
    num_speculative_tokens: Tokens | None = None
    """Tokens in each step that the source uses."""
    image: ImageReference | None = None
    """Image that the pair requires."""
    needs: ShortText | None = None
    """Other requirements."""
    not_before: Annotated[str, StringConstraints(pattern=r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$")] | None = None
    """Copies of the drafter that were downloaded before this day do not work."""
    size: ShortText | None = None
    """Size of the drafter."""
    source: ShortText
    """Source of the pair."""


class DrafterTable(Model):
    """Content of drafters.yaml."""

    pairs: tuple[DrafterPair, ...]
    """All pairs in the sources."""


class DriverSeries(Model):
    """A driver series on one kind of GPU that sources disagree on."""

    series: Version
    """Start of the driver version, such as '590'."""
    compute_capability: Version
    """GPU that the sources ran it on."""
    why: Line
    """What the sources report."""


class Drivers(Model):
    """Content of drivers.yaml."""

    doubted: tuple[DriverSeries, ...]
    """All series that sources disagree on."""


class MeasuredSetting(Model):
    """What a source measured with a setting of a host."""

    setting: Line
    """Key of the setting."""
    says: Line
    """The measurement."""
    source: ShortText
    """Who reports it."""


class MeasuredSettings(Model):
    """Content of settings.yaml."""

    measured: tuple[MeasuredSetting, ...]
    """All measurements."""


class Profile(Model):
    """One profile of rules. It includes all rules of the profiles before it."""

    title: ShortText
    """Purpose."""
    severity: Literal["error", "warning", "info"]
    """Lowest severity of the rules in the profile, except rules that name their profile."""


class Profiles(Model):
    """Content of profiles.yaml: the profiles, smallest first."""

    default: Name
    """Default profile of every command."""
    profiles: Annotated[dict[Name, Profile], Field(min_length=1)]
    """Profile by name."""

    @property
    def floors(self) -> dict[str, Severity]:
        """The lowest severity of each profile, smallest profile first."""
        return {name: Severity[profile.severity.upper()] for name, profile in self.profiles.items()}


class UnwrittenKeys(Model):
    """Keys of an inventory that some targets do not get."""

    keys: tuple[Line, ...]
    """Paths below a deployment, or below `hosts` without the name of the host."""
    targets: tuple[Literal["docker-run", "compose", "eugr", "sparkrun", "kubernetes", "service"], ...]
    """Formats of `sparkiac export`, Kubernetes, and services of the inventory."""
    why: Line
    """Reason, which exports and notes show."""


class UnwrittenTable(Model):
    """Content of unwritten.yaml."""

    unwritten: tuple[UnwrittenKeys, ...]
    """All such keys."""


class SparkrunRuntime(Model):
    """A runtime of sparkrun: a server, and the options that it makes of the defaults of a recipe."""

    names: tuple[Name, ...]
    start: tuple[Word, ...]
    """Words before the model."""
    start_file: tuple[Word, ...] = ()
    """Words before a model that is a file, if they differ."""
    renamed: dict[str, str] = {}
    """Defaults whose option has another name."""
    same_name: tuple[str, ...] = ()
    """Defaults whose option has the same name, with dashes."""
    switches: tuple[str, ...] = ()
    """Options without a value."""
    on_by_default: tuple[str, ...] = ()
    """Switches that false turns off with a separate option."""
    written_if_false: tuple[str, ...] = ()
    """Switches that are written only if false."""
    defaults: dict[str, str] = {}
    """Defaults of the runtime itself."""
    served_name: str | None = "--served-model-name"
    """Option for the served name."""


class SparkrunRuntimes(Model):
    """Content of sparkrun.yaml."""

    runtimes: tuple[SparkrunRuntime, ...]


class ForeignKeys(Model):
    """Keys or options of another tool that an inventory does not have."""

    keys: tuple[Line, ...]
    kind: Literal["corrected", "unused", "lost"] = "corrected"
    """Kind of the note: imported in another form, without effect on the server, or without an equivalent."""
    why: Line = ""
    """Reason; without one, the keys are not mentioned."""


class Launcher(Model):
    """The keys or options of one tool."""

    valued: tuple[Line, ...] = ()
    """Options with a value."""
    flags: tuple[Line, ...] = ()
    """Options without one."""
    spellings: dict[Line, Line] = {}
    """Other spellings of options; of Compose, keys that are options of docker."""
    noted: tuple[ForeignKeys, ...]

    @property
    def notes(self) -> dict[str, ForeignKeys]:
        """What is noted, by key."""
        return {key: each for each in self.noted for key in each.keys}


class Launchers(Model):
    """Content of launchers.yaml."""

    docker: Launcher
    compose: Launcher
    systemd: Launcher
    sparkrun: Launcher


class GroupSetting(Model):
    """A setting of each node of a group, and when and why it is made."""

    path: tuple[str, ...]
    value: int | str | None = None
    of: Literal["link address", "host address", "interface", "devices"] | None = None
    """The fact about a host that is its value, if the value is not the same on all hosts."""
    when: Literal["always", "rdma", "no rdma", "one network", "mesh", "ring"]
    """`rdma` if a link of the host has an RDMA device."""
    shown: ShortText | None = None
    """The value in words, for the documentation."""
    reason: ShortText
    source: ShortText
    executors: tuple[Name, ...] = ()
    """Executors whose nodes get it; empty for all that exchange data through NCCL."""


class GroupSettings(Model):
    """Content of groups.yaml."""

    decisions: tuple[GroupSetting, ...]


class AlertRule(Model):
    """One alert."""

    name: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]{2,39}$")]
    """Name; docs/alerts.md has a section about it."""
    expr: Line
    """PromQL expression that gives one series for each fault."""
    for_min: Annotated[int, Field(ge=0, le=1_440)]
    """Minutes for which it must hold before the alert fires."""
    severity: Literal["critical", "warning"]
    """`critical`: a service fails now. `warning`: it will fail soon, or may fail."""
    summary: Line
    """What is wrong, in one line."""
    remedy: Line
    """What to do."""
    threshold: ShortText
    """Where the threshold comes from, or that it is a default."""
    records: tuple[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")], ...] = ()
    """Recording rules that the alert queries; without a deployment that has them, the alert is not generated."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Sources of the condition."""


class AlertGroup(Model):
    """Alerts of one group."""

    title: ShortText
    """Title, in one line."""
    alerts: Annotated[tuple[AlertRule, ...], Field(min_length=1)]
    """Alerts of the group."""


class ClientSettings(Model):
    """The settings with which a client program uses a deployment."""

    title: ShortText
    """Name of the program."""
    api: Literal["chat", "messages", "responses"]
    """What it requests: /v1/chat/completions, /v1/messages or /v1/responses."""
    tools: bool = False
    """Whether all its requests have tool definitions."""
    names: ShortText = ".+"
    """Pattern of the model names that it can send."""
    file: ShortText
    """Where its settings are."""
    settings: Annotated[str, Field(min_length=1)]
    """The settings. Values replace `@url`, `@model` and so on, escaped for a text in double quotes. A line with a value
    that does not exist, such as the file with a key where none is required, is left out."""
    notes: tuple[ShortText, ...] = ()
    """What to know about the settings, with the same values."""
    sources: Annotated[tuple[ShortText, ...], Field(min_length=1)]
    """Documentation of the program."""
    read: Annotated[str, Field(pattern=r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$")]
    """Day on which the sources were read."""
    tried: ShortText | None = None
    """Release that ran with these settings, and what it did."""
    not_verified: tuple[ShortText, ...] = ()
    """What no run of the program has shown."""
