"""Another kernel on booted hosts: September replayed, with pins and a way back.

The kernel is that of the machine. What runs, its command line, GRUB at a boot, update-grub, grub-probe and modinfo are
stand-ins, which a reboot of the host reads (bed-boot below); grub-editenv, apt, dpkg and the packages are real.
"""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.bed.shell import wait_for
from tests.e2e.lab import Lab
from tests.e2e.polls import Polls

if TYPE_CHECKING:
    from tests.e2e.bed import Bed

pytestmark = pytest.mark.deep
KHO = "kho=off"
OLD, NEW = "6.17.0-1031-nvidia", "7.0.0-1019-nvidia"
META = "linux-image-nvidia-hwe-24.04"
SETS = {
    "a": {f"linux-image-{OLD}": "6.17.0-1031.31", META: "6.17.0-1031.31"},
    "b": {f"linux-image-{NEW}": "7.0.0-1019.19", META: "7.0.0-1019.19"},
}
GOOD, CANARY = "spark-01", "spark-02"
UPDATE_GRUB = r"""#!/usr/bin/python3
# Stand-in: writes the menu as Ubuntu's scripts do, and runs the scripts of others.
import pathlib, re, subprocess
texts = ["GRUB_DEFAULT=0\n"] + [p.read_text() for p in sorted(pathlib.Path("/etc/default/grub.d").glob("*.cfg"))]
default = re.findall(r"^GRUB_DEFAULT=(.*)$", "\n".join(texts), re.M)[-1]
words = [w.split()[1:] for w in re.findall(r'^GRUB_CMDLINE_LINUX_DEFAULT="(.*)"$', "\n".join(texts), re.M)]
more = " ".join(["", *sum(words, [])])
menu = 'set default="%s"\n' % ("${saved_entry}" if default == "saved" else default)
menu += "submenu 'Advanced options' $menuentry_id_option 'gnulinux-advanced-1' {\n"
for name in sorted((p.name[8:] for p in pathlib.Path("/boot").glob("vmlinuz-*")), reverse=True):
    menu += f"\tmenuentry 'Linux {name}' $menuentry_id_option 'gnulinux-{name}-advanced-1' {{\n"
    menu += f"\t\tlinux\t/boot/vmlinuz-{name} root=UUID=1 ro quiet{more}\n\t}}\n"
menu += "}\n"
for script in sorted(pathlib.Path("/etc/grub.d").glob("*")):
    menu += subprocess.run([str(script)], capture_output=True, text=True, check=True).stdout
pathlib.Path("/boot/grub/grub.cfg").write_text(menu)
"""
PACED = "STANDIN_TOKEN_SECONDS: '0.02'"
"""The speed of the stand-in is that of its pauses, not of this machine: the gate compares it."""
BOOT = r"""#!/usr/bin/python3
# Stand-in for GRUB and the kernel at a boot: chooses an entry, forgets next_entry, and shows that its kernel runs.
import pathlib, re, subprocess
ENV = "/boot/grub/grubenv"
listed = subprocess.run(["grub-editenv", ENV, "list"], capture_output=True, text=True, check=True).stdout
env = dict(line.split("=", 1) for line in listed.splitlines())
menu = pathlib.Path("/boot/grub/grub.cfg").read_text()
once, saved = env.get("next_entry"), env.get("saved_entry") if '"${saved_entry}"' in menu else None
subprocess.run(["grub-editenv", ENV, "unset", "next_entry"], check=True)
ids = re.findall(r"menuentry '[^']*' \$menuentry_id_option '([^']+)' \{\n(?:.*\n)*?\s*linux\s+(.*)", menu)
found = dict(ids)[(once or saved).split(">")[-1]] if once or saved else ids[0][1]
kernel = re.match(r"/boot/vmlinuz-(\S+)", found)[1]
for name, text in (("sys/kernel/osrelease", kernel), ("cmdline", "BOOT_IMAGE=" + found)):
    own = pathlib.Path("/run/bed-boot-" + name.replace("/", "-"))
    own.write_text(text + "\n")
    subprocess.run(["mount", "--bind", str(own), "/proc/" + name], check=True)
with open("/var/log/bed-boot", "a") as log:
    log.write(kernel + " kho=off" * (" kho=off" in found) + "\n")
broken = kernel.startswith("7.") and pathlib.Path("/etc/bed-broken").exists()
pathlib.Path("/etc/nvidia-stub/driver").write_text("" if broken else "580.142\n")
subprocess.run(["nvidia-stub-load"], check=True)
"""
UNIT = """[Unit]
DefaultDependencies=no
After=local-fs.target
Before=sysinit.target sparkiac-recover.service docker.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/bed-boot
[Install]
WantedBy=sysinit.target
"""
MODINFO = "#!/bin/sh\n# Stand-in: the module of each kernel is that of the driver.\necho 580.142\n"
PROBE = "#!/bin/sh\n# Stand-in: /boot is on ext4.\ncase $1 in --target=fs) echo ext2 ;; esac\n"
REPOSITORY = (
    r"""
set -eu
mkdir -p /srv/apt /boot/grub /etc/grub.d /etc/default/grub.d && cd /srv/apt && : >Packages
build() {
  rm -rf made && mkdir -p made/DEBIAN
  printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: bed <bed@bed>\nDescription: stand-in\n' "$1" "$2" \
    >made/DEBIAN/control
  if [ -n "${3:-}" ]; then
    mkdir -p "made/boot" "made/lib/modules/$3"
    echo k >"made/boot/vmlinuz-$3"; echo i >"made/boot/initrd.img-$3"; : >"made/lib/modules/$3/modules.dep"
  fi
  dpkg-deb --build --root-owner-group made "$1_$2.deb" >/dev/null
  cat made/DEBIAN/control >>Packages
  printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' "$1_$2.deb" "$(stat -c %s "$1_$2.deb")" \
    "$(sha256sum "$1_$2.deb" | cut -d' ' -f1)" >>Packages
}
build linux-image-OLD 6.17.0-1031.31 OLD
build linux-image-NEW 7.0.0-1019.19 NEW
build META 6.17.0-1031.31
build META 7.0.0-1019.19
echo 'deb [trusted=yes] file:/srv/apt ./' >/etc/apt/sources.list.d/bed.list
apt-get update -qq && apt-get install -qq -y linux-image-OLD META=6.17.0-1031.31
ldconfig && grub-editenv /boot/grub/grubenv create && update-grub
systemctl daemon-reload && systemctl enable --now bed-boot.service
""".replace("OLD", OLD)
    .replace("NEW", NEW)
    .replace("META", META)
)


def put(bed: Bed, host: str, path: str, content: bytes, mode: str = "755") -> None:
    """Write a file of a host."""
    own = bed.directory / "put"
    own.write_bytes(content)
    target = [*bed.ssh_options, f"spark@{bed.hosts[host].address}", f"sudo sh -c 'cat >{path} && chmod {mode} {path}'"]
    bed.run(["sh", "-c", f"{shlex.join(['ssh', *target])} <{own}"])


def prepare(bed: Bed, host: str) -> None:
    """Give a host kernels, GRUB's environment and the stand-ins, and boot the old kernel."""
    files = {
        "/usr/local/sbin/update-grub": UPDATE_GRUB,
        "/usr/local/sbin/bed-boot": BOOT,
        "/usr/local/sbin/modinfo": MODINFO,
        "/usr/local/sbin/grub-probe": PROBE,
    }
    for path, text in files.items():
        put(bed, host, path, text.encode())
    put(bed, host, "/etc/systemd/system/bed-boot.service", UNIT.encode(), "644")
    put(bed, host, "/usr/local/sbin/grub-editenv", Path("/usr/bin/grub-editenv").read_bytes())
    for library in Path("/usr/lib").glob("*/libdevmapper.so.1.02.1"):
        put(bed, host, f"/usr/local/lib/{library.name}", library.read_bytes())
    bed.ssh(host, REPOSITORY, root=True)


def required() -> None:
    """Skip the test without grub-editenv."""
    if not Path("/usr/bin/grub-editenv").exists():
        pytest.skip("needs grub-common")


@pytest.fixture(scope="module")
def lab(bed: Bed, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """Return the lab, applied with the pins of before September."""
    required()
    found = Lab(bed, tmp_path_factory.mktemp("lab"))
    found.write()
    for recipe in ("redhatai/qwen3.6-35b-a3b-nvfp4", "google/gemma-4-26b-a4b-it-fp8"):
        line = f"    recipe: {recipe}\n"
        found.edit(line, f"{line}    env: {{{PACED}}}\n")
    for host in bed.hosts:
        prepare(bed, host)
    with found.inventory.open("a") as file:
        file.write(f"rollout: {{canary: {CANARY}}}\n")
    pin(found, "a")
    found.stage()
    recap = found.apply()
    assert recap.code == 0, recap.output
    return found


def dark(polls: Polls, host: str, what: str) -> None:
    """Print for how long a host did not answer."""
    seconds = [gap.seconds for gap in polls.gaps(host)]
    print(f"DARK {what}: {sum(seconds):.0f} s in {len(seconds)} gaps")  # noqa: T201 - shown with -s


def pin(lab: Lab, name: str) -> None:
    """Review a diff: the hosts have this set from now on."""
    path = lab.inventory.with_name("lab.lock.yaml")
    lock = json.loads(path.read_text())
    days = {"since": "2026-09-01", "review_by": "2026-10-01"}
    sets = {each: {"kernel": OLD if each == "a" else NEW, "packages": SETS[each], **days} for each in SETS}
    lock["hosts"] = {"sets": {name: sets[name]}, "members": dict.fromkeys(lab.bed.hosts, name)}
    path.write_text(json.dumps(lock))
    lab.generate()


def state(lab: Lab, host: str) -> dict[str, Any]:
    """Return what the program on a host says."""
    done = lab.bed.ssh(host, "/usr/local/lib/sparkiac/kernel status", root=True)
    return dict(json.loads(done.stdout))


def boots(lab: Lab, host: str) -> list[str]:
    """Return the kernels that a host has booted."""
    return lab.bed.ssh(host, "cat /var/log/bed-boot").stdout.splitlines()


def version(lab: Lab, host: str) -> str:
    """Return the version of the metapackage."""
    return lab.bed.ssh(host, f"dpkg-query -W -f='${{Version}}' {META}").stdout


def test_a_routine_upgrade_moves_no_pinned_kernel(lab: Lab) -> None:
    lab.bed.ssh(CANARY, "apt-get -q -y dist-upgrade", root=True)
    assert version(lab, CANARY) == SETS["a"][META]


def test_a_canary_that_fails_goes_back_and_no_other_host_changes(lab: Lab) -> None:
    pin(lab, "b")
    shown = lab.sparkiac_apply("--check", command="os")
    assert shown.code == 0, shown.output
    assert f"would try kernel {NEW} instead of {OLD}" in shown.output
    assert "would reboot once into" in shown.output
    lab.bed.ssh(CANARY, "touch /etc/bed-broken", root=True)
    with Polls(lab.bed) as polls:
        recap = lab.sparkiac_apply("--yes", command="os")
        wait_for(lambda: bool(lab.served(CANARY)), "the port of the canary to open", timeout=300)
    dark(polls, CANARY, "one host, bad kernel, with the proof")
    assert recap.code == 1, recap.output
    found = state(lab, CANARY)
    assert (found["running"], found["proven"], found["trial"]["phase"]) == (OLD, True, "failed"), found
    assert boots(lab, CANARY) == [OLD, OLD, NEW, OLD]
    assert "went back to what it ran before" in recap.output
    assert version(lab, CANARY) == SETS["a"][META]
    assert lab.bed.ssh(CANARY, f"test -e /boot/vmlinuz-{NEW}", check=False).returncode == 1
    assert boots(lab, GOOD) == [OLD], "no other host changed"


def test_the_next_run_moves_both_hosts(lab: Lab) -> None:
    lab.bed.ssh(CANARY, "rm /etc/bed-broken", root=True)
    with Polls(lab.bed) as polls:
        recap = lab.sparkiac_apply("--yes", command="os")
        for host in (GOOD, CANARY):
            wait_for(lambda host=host: bool(lab.served(host)), f"the port of {host} to open", timeout=300)
    dark(polls, CANARY, "one host, good kernel")
    dark(polls, GOOD, "one host, good kernel, with the proof")
    assert recap.code == 0, recap.output
    for host in (GOOD, CANARY):
        found = state(lab, host)
        assert (found["running"], found["trial"]["phase"], found["trial"]["why"]) == (NEW, "good", ""), found
        assert version(lab, host) == SETS["b"][META]
    assert boots(lab, GOOD) == [OLD, OLD, NEW]
    again = lab.sparkiac_apply("--yes", command="os")
    assert (again.code, "Nothing to do" in again.output) == (0, True), again.output
    lab.bed.reboot(GOOD)
    assert boots(lab, GOOD)[-1] == NEW, "it is the default"


def test_a_parameter_is_tried_and_kept_and_undone_when_its_declaration_goes(lab: Lab) -> None:
    """With the new kernel, which is pinned and runs."""
    written = lab.inventory.read_text()
    lab.edit("platforms:\n  bed:\n", "platforms:\n  bed:\n    boot_parameters: {kho: 'off'}\n")
    lab.generate()
    recap = lab.sparkiac_apply("--yes", command="os")
    assert recap.code == 0, recap.output
    for host in (GOOD, CANARY):
        assert boots(lab, host)[-1] == f"{NEW} {KHO}"
        assert state(lab, host)["trial"]["parameters"] == [KHO]
    lab.bed.reboot(CANARY)
    assert boots(lab, CANARY)[-1] == f"{NEW} {KHO}", "it is the default"
    lab.inventory.write_text(written)
    lab.generate()
    shown = lab.sparkiac_apply("--check", command="os")
    assert f"would try kernel {NEW} without {KHO}" in shown.output
    recap = lab.sparkiac_apply("--yes", command="os")
    assert recap.code == 0, recap.output
    for host in (GOOD, CANARY):
        assert boots(lab, host)[-1] == NEW


CUTS = ("begin 1", "begin 4", "booted 0", "booted 5", "begun")
"""Where the power is cut: seconds after `kernel begin` began or the trial has booted, or after `begin`."""
SIDES = {f"{OLD} {KHO}": (OLD, "a", [KHO]), NEW: (NEW, "b", [])}
"""What boots → its kernel, set and parameters. Both kernels stay installed, and each trial is of the other side."""


def test_a_power_cut_leaves_each_host_on_one_of_the_two_kernels(lab: Lab) -> None:
    for cut in CUTS:
        point, _, seconds = cut.partition(" ")
        now = boots(lab, CANARY)[-1]
        other = next(each for each in SIDES if each != now)
        kernel, name, parameters = SIDES[other]
        asked = json.dumps({"packages": SETS[name], "despite": [], "parameters": parameters, "pins": name})
        begin = f"echo '{asked}' | /usr/local/lib/sparkiac/kernel begin"
        with Polls(lab.bed) as polls:
            time.sleep(2)
            lab.bed.ssh(CANARY, f"nohup sh -c {shlex.quote(begin)} </dev/null >/run/begun 2>&1 &", root=True)
            if point != "begin":
                wait_for(lambda: state(lab, CANARY)["trial"]["phase"] == "trying", "the trial to begin", timeout=120)
                lab.bed.wait_until(CANARY, "grep -q phase /run/begun", timeout=120)
            if point == "booted":
                lab.bed.reboot(CANARY)
            time.sleep(float(seconds or 0))
            lab.bed.cut_power(CANARY)
            lab.bed.power_on(CANARY)
            wait_for(lambda: bool(lab.served(CANARY)), "the canary to serve", timeout=400)
            lab.bed.ssh(CANARY, "/usr/local/lib/sparkiac/kernel wait", root=True)
        found = state(lab, CANARY)["trial"]
        kept = (found["kernel"], found["phase"]) == (kernel, "good")
        dark(polls, CANARY, f"one host, power cut at {cut}, then {'the other' if kept else 'the same'} kernel")
        assert boots(lab, CANARY)[-1] == (other if kept else now), (cut, found)
    assert kept, "the last cut is only a reboot"
