"""Settings that owners declare: set, read back, lost, set again, undone; stand-ins for nvidia-smi and systemctl."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from sparkiac import pipeline
from sparkiac.host import local, settings, software
from sparkiac.host.generation import CLOCK_CAP, EARLYOOM, TARGET
from sparkiac.host.preflight.expectations import Expectations
from sparkiac.host.switch import uninstall
from sparkiac.host.watch import program as watch
from sparkiac.model.facts import Prefill
from sparkiac.plan import speeds
from tests.host.expected import complete
from tests.host.switching import Host, generation, switch
from tests.plan.fleets import checked, deployment, planned

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

ARGUMENTS = "-r 3600 -M 1572864,786432"
WANTED = {CLOCK_CAP: "2000", TARGET: "multi-user.target", EARLYOOM: ARGUMENTS}
DECLARED = "spark-01: {address: 192.168.1.11, max_gpu_clock_mhz: 2000, headless: true, earlyoom_floor_gib: 1.5}"
DROP_IN = "etc/systemd/system/earlyoom.service.d/sparkiac.conf"


class Spark(Host):
    """A host with a GPU, a desktop and earlyoom as Ubuntu starts it. Commands are those of the real programs."""

    def __init__(self, root: Path) -> None:
        """Make a host that serves nothing."""
        super().__init__(root)
        self.cap: int | None = None
        self.load_mhz = 2418
        self.target = "graphical.target"
        self.restart_earlyoom("-r 3600")

    def restart_earlyoom(self, arguments: str) -> None:
        """Run earlyoom with these arguments."""
        self.write("proc/7/cmdline", "\0".join(["/usr/bin/earlyoom", *arguments.split()]) + "\0")

    def run(self, *argv: str) -> Any:  # noqa: ANN401
        """Do what the commands do that read and set the settings."""
        if "nvidia-smi" in argv:
            return self.nvidia_smi(argv[-1])
        if argv[:2] == ("systemctl", "get-default"):
            return local.CommandResult(0, f"{self.target}\n", "")
        if argv[:2] == ("systemctl", "set-default"):
            self.target = argv[2]
            return local.CommandResult(0, "", "")
        if argv[-1] == "earlyoom.service" and argv[1] == "show":
            return local.CommandResult(0, "7\n", "")
        if argv[:3] == ("systemctl", "restart", "earlyoom.service"):
            self.restart_earlyoom(ARGUMENTS if self.path(DROP_IN).exists() else "-r 3600")
        return super().run(*argv)

    def nvidia_smi(self, option: str) -> Any:  # noqa: ANN401
        """Do what nvidia-smi does; a lock of the clock is a range."""
        if option.startswith("--lock-gpu-clocks="):
            low, high = option.partition("=")[2].split(",")
            self.cap = int(high)
            said = f'GPU clocks set to "(gpuClkMin {low}, gpuClkMax {high})" for GPU 0000000F:01:00.0\nAll done.\n'
            return local.CommandResult(0, said, "")
        if option == "--reset-gpu-clocks":
            self.cap = None
            return local.CommandResult(0, "All done.\n", "")
        assert option == "--format=csv,noheader,nounits", option
        return local.CommandResult(0, f"{min(self.load_mhz, self.cap or 9999)}\n", "")

    def found(self) -> tuple[int | None, str, str]:
        """Return what holds: the cap, the target, the arguments of earlyoom."""
        return self.cap, self.target, settings.read(self, EARLYOOM)


def rendered(text: str) -> dict[str, bytes]:
    """Return path → content of what is generated."""
    return {each.path: each.content for each in pipeline.render(planned(text))}


def made(wanted: dict[str, str]) -> Any:  # noqa: ANN401
    """Return a generation with these settings, and the drop-in that belongs to that of earlyoom."""
    listed = [{"key": key, "value": value} for key, value in wanted.items()]
    return generation({"a": "one"}, sysctls=listed)


@pytest.fixture
def spark(tmp_path: Path) -> Spark:
    """Return a host on which a generation has set everything."""
    host = Spark(tmp_path)
    host.write(DROP_IN, "[Service]\n")
    assert switch(host, made(WANTED))["failed"] == []
    return host


def test_a_switch_sets_them_and_the_next_undoes_them(spark: Spark) -> None:
    assert spark.found() == (2000, "multi-user.target", ARGUMENTS)
    spark.path(DROP_IN).unlink()
    switch(spark, made({}))
    assert spark.found() == (None, "graphical.target", "-r 3600")


def test_an_uninstall_undoes_them(spark: Spark) -> None:
    spark.path(DROP_IN).unlink()
    assert [step.remove() for step in uninstall.setting_steps(spark)] == [""] * 3
    assert spark.found() == (None, "graphical.target", "-r 3600")


def lost_by_a_reboot(spark: Spark) -> None:
    spark.reboot()
    spark.cap = None


def lost_by_a_hang(spark: Spark) -> None:
    spark.cap = None


@pytest.mark.parametrize("lose", [lost_by_a_reboot, lost_by_a_hang])
def test_a_lost_cap_is_seen_and_set_again(
    spark: Spark, lose: Callable[[Spark], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lose(spark)
    assert settings.read(spark, CLOCK_CAP) == "none"
    monkeypatch.setattr(watch, "LocalHost", lambda _root: spark)
    monkeypatch.setattr(watch, "look", lambda *_: None)
    assert watch.main([]) == 0
    assert (spark.cap, settings.read(spark, CLOCK_CAP)) == (2000, "2000")
    assert "watch: GPU clock cap is none instead of 2000: set again" in capsys.readouterr().err


def test_a_cap_that_an_idle_gpu_does_not_show_is_set_each_time(spark: Spark) -> None:
    spark.cap, spark.load_mhz = None, 208
    watch.keep(spark, {"sysctls": [{"key": CLOCK_CAP, "value": "2000"}]})
    assert spark.cap == 2000


def test_what_somebody_has_changed_is_set_again(spark: Spark) -> None:
    spark.target = "graphical.target"
    spark.restart_earlyoom("-m 10")
    watch.keep(spark, made(WANTED).plan)
    assert spark.found() == (2000, "multi-user.target", ARGUMENTS)


def test_a_driver_that_cannot_cap_fails_the_switch(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """nvidia-smi exits with 0 then."""
    said = "Setting locked clocks is not supported for GPU 0. Treating as warning and moving on.\n"
    monkeypatch.setattr(spark, "nvidia_smi", lambda _option: local.CommandResult(0, said, ""))
    with pytest.raises(OSError, match="is not supported"):
        settings.put(spark, CLOCK_CAP, "2000")


def test_each_key_is_rendered() -> None:
    [host] = planned(deployment(host=DECLARED)).hosts
    assert [each.key for each in host.settings] == [CLOCK_CAP, TARGET, EARLYOOM]
    assert all("#" in each.shown for each in host.settings), "each names a source"
    tree = rendered(deployment(host=DECLARED))
    plan = json.loads(tree["hosts/spark-01/etc/sparkiac/generation.json"])
    kept = {each["key"]: each["value"] for each in plan["sysctls"] if each["key"] in settings.COMMANDED}
    assert kept == {each.key: each.value for each in host.settings}
    assert "sparkiac-watch.timer" in [each["name"] for each in plan["units"]]
    assert kept[EARLYOOM].endswith(f" -M {3 << 19},{3 << 18}")
    assert "--prefer" not in kept[EARLYOOM]


def test_nothing_is_rendered_without_a_key() -> None:
    names = [path.rpartition("/")[2] for path in rendered(deployment()) if path.startswith("hosts/")]
    assert "sparkiac.conf" not in names


def test_a_cap_lowers_the_predicted_speed_of_prompts() -> None:
    """Only the lower end: what a source published may have been measured under a cap."""
    rates = Prefill(low=300, high=500, source="a post")
    host = planned(deployment(host=DECLARED)).hosts[0].values
    found = speeds.capped(rates, host)
    assert isinstance(found, Prefill)
    assert (round(found.low, 1), found.high) == (round(300 * 2000 / 3003, 1), 500)
    assert found.source == "a post; clock capped at 2,000 of 3,003 MHz"
    assert speeds.capped(rates, planned(deployment()).hosts[0].values) is rates


def test_systemd_reads_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    for path, each in rendered(deployment(host=DECLARED)).items():
        if "sparkiac-watch" in path:
            text = each.decode().replace("/usr/local/lib/sparkiac/watch", "/bin/true")
            (tmp_path / path.rpartition("/")[2]).write_text(text)
    units = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run([analyze, "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr, len(units)) == (0, "", 2)


def test_earlyoom_takes_the_arguments() -> None:
    """Version 1.7 is that of Ubuntu 24.04. It checks all arguments before it prints its help."""
    earlyoom = shutil.which("earlyoom")
    if earlyoom is None:
        pytest.skip("earlyoom is not installed")
    [host] = planned(deployment(host=DECLARED)).hosts
    arguments = next(each.value for each in host.settings if each.key == EARLYOOM).split()
    done = subprocess.run([earlyoom, *arguments, "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, "fatal" in done.stderr) == (0, False)


ADDRESSES = json.dumps(
    [
        {"ifname": "wlan0", "addr_info": [{"local": "192.168.1.11"}]},
        {"ifname": "enp1", "addr_info": [{"local": "10.0.0.1"}]},
    ]
)


@pytest.mark.parametrize(
    ("address", "running", "permissions", "state"),
    [
        ("192.168.1.11", "active", {"one": "user:milo\n"}, "FAIL"),
        ("192.168.1.11", "active", {"two": "user:milo\n"}, "ok"),
        ("192.0.2.7", "active", {"two": "user:milo\n"}, "FAIL"),
        ("192.168.1.11", "inactive", {"one": "user:milo\n"}, "ok"),
    ],
)
def test_a_desktop_stays_where_a_users_connection_gives_the_address(  # noqa: PLR0913, PLR0917
    preflight: ModuleType,
    machine: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    running: str,
    permissions: dict[str, str],
    state: str,
) -> None:
    """It ends with the desktop's user; an address that no interface has may be behind any of them."""
    host = machine()

    def run(*argv: str) -> str:
        if argv[0] == "systemctl":
            return f"{running}\n"
        if argv[0] == "ip":
            return ADDRESSES
        return "one:wlan0\ntwo:enp1\n" if "--active" in argv else permissions.get(argv[-1], "\n")

    monkeypatch.setattr(host, "run", run)
    [line] = preflight.check_host(complete(Expectations, {"headless": address}), host)
    assert (line.check, line.state) == ("address without a desktop", state)
    assert (line.found == "a user's own connection on " + line.found.rpartition(" ")[2]) == (state == "FAIL")


@pytest.mark.parametrize(("loaded", "state"), [("loaded", "ok"), ("not-found", "FAIL")])
def test_earlyoom_must_be_installed(
    preflight: ModuleType, machine: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, loaded: str, state: str
) -> None:
    host = machine()
    monkeypatch.setattr(host, "run", lambda *_: f"{loaded}\n")
    [line] = preflight.check_host(complete(Expectations, {"earlyoom": True}), host)
    assert (line.check, line.state) == ("earlyoom", state)


KHO = 'spark-01: {address: 192.168.1.11, boot_parameters: {kho: "off", nokaslr: ""}}'


def test_kernel_parameters_go_to_the_program_that_tries_them_and_nothing_else_sets_them() -> None:
    files = rendered(deployment(host=KHO))
    plan = json.loads(files["hosts/spark-01/etc/sparkiac/generation.json"])
    assert plan["parameters"] == ["kho=off", "nokaslr"]
    assert "kho" not in str(plan["sysctls"])
    expected = json.loads(files["hosts/spark-01/etc/sparkiac/preflight.json"])
    assert expected["parameters"] == {"declared": ["kho=off", "nokaslr"]}
    assert b"kernel parameter" in files["PLAN.md"]
    assert b"kho=off; no registration of RDMA fails" in files["PLAN.md"]
    assert not any("sparkiac-watch" in path for path in files), "no timer keeps what only a boot changes"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("root: /dev/sda", "the host needs root to boot"),
        ("panic: '0'", "the host needs panic to boot, or to come back from a trial"),
        ("systemd.unit: rescue.target", "the host needs systemd.unit to boot"),
        ("net.ifnames: '0'", "the host needs net.ifnames to boot"),
        ("kho: off'; rm -rf /", "the value of a kernel parameter without spaces and quotes"),
        ("'kho=off': ''", "the name of a kernel parameter, such as kho"),
    ],
)
def test_a_parameter_that_a_boot_needs_or_that_is_malformed_is_refused(written: str, said: str) -> None:
    outcome = checked(deployment(host=f"spark-01: {{address: 192.168.1.11, boot_parameters: {{{written}}}}}"))
    messages = [each.message for each in outcome.report.findings]
    assert any(said in each for each in messages), messages


def test_the_preflight_says_what_the_running_kernel_lacks_or_still_has(
    preflight: ModuleType, machine: Callable[..., Any]
) -> None:
    host = machine()
    host.path("/proc").mkdir()
    host.path("/proc/cmdline").write_text("BOOT_IMAGE=/boot/vmlinuz kho=on ro kho=off a=1\n")
    host.path(software.SAVED_DEFAULT).parent.mkdir(parents=True)
    host.path(software.SAVED_DEFAULT).write_text('GRUB_CMDLINE_LINUX_DEFAULT="$GRUB_CMDLINE_LINUX_DEFAULT a=1"\n')
    for declared, said in (
        (["kho=off", "a=1"], []),
        (["kho=off"], ["every boot still has a=1, which the inventory no longer declares"]),
        (["kho=on", "a=1", "b"], ["the running kernel does not have kho=on, b, which the inventory declares"]),
    ):
        assert [*software.parameter_faults(software.read(host), declared)] == said
        found = preflight.check_host(complete(Expectations, {"parameters": {"declared": declared}}), host)
        assert [(each.state, each.found) for each in found] == [("warn", text) for text in said]
