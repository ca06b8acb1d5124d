"""What systemd makes of an encoded value: a booted systemd 257 reads it, and a program writes it back."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import TYPE_CHECKING

import pytest

from sparkiac.render.escape import (
    environment_file,
    json_argument,
    sysctl_line,
    systemd_argument,
    systemd_command,
    systemd_environment,
    systemd_text,
)
from tests.e2e.bed.bed import USER
from tests.render.hostile import SPECULATIVE_CONFIG, by_name, corpus, different

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.e2e.bed.bed import Bed

HOST = "spark-01"
DIRECTORY = "/run/escaping"
RECORDER = f"""#!/usr/bin/python3 -IS
import json, os, sys
with open("{DIRECTORY}/record", "a", encoding="ascii") as record:
    words = [os.fsencode(word).decode() for word in sys.argv[1:]]
    names = {{os.fsencode(name).decode(): os.fsencode(os.environ[name]).decode() for name in os.environ}}
    print(json.dumps([words, names]), file=record)
"""


@pytest.fixture(scope="module", autouse=True)
def left_as_found(bed: Bed) -> Iterator[None]:
    yield
    on_host(bed, f"rm -rf {DIRECTORY} /run/systemd/system/escaping*.service; systemctl daemon-reload")


def on_host(bed: Bed, command: str, *, stdin: str = "") -> str:
    """Run a shell command as root and return its standard output."""
    ssh = ["ssh", *bed.ssh_options, f"{USER}@{bed.hosts[HOST].address}"]
    argv = bed.inside([*ssh, f"sudo -n sh -euc {shlex.quote(command)}"])
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def write(bed: Bed, path: str, content: str) -> None:
    on_host(bed, f"mkdir -p $(dirname {path}); cat >{path}", stdin=content)


def run_unit(bed: Bed, lines: Sequence[str]) -> list[tuple[list[str], dict[str, str]]]:
    """Start a unit of these [Service] lines; return the words and variables of each recorded program."""
    unit = "\n".join(["[Service]", "Type=oneshot", *lines, ""])
    write(bed, f"{DIRECTORY}/recorder", RECORDER)
    write(bed, "/run/systemd/system/escaping.service", unit)
    on_host(
        bed,
        f"chmod +x {DIRECTORY}/recorder; : >{DIRECTORY}/record; systemctl daemon-reload; "
        "systemctl start escaping.service || { systemctl status escaping.service; exit 1; }",
    )
    assert on_host(bed, "systemd-analyze verify escaping.service 2>&1") == ""
    return [tuple(json.loads(line)) for line in on_host(bed, f"cat {DIRECTORY}/record").splitlines()]


def test_systemd_reads_each_argument_as_it_was(bed: Bed) -> None:
    strings = corpus(1)
    # printf starts in a tenth of the recorder's time; a word too many would be one more line of output.
    lines = [f"ExecStart=/usr/bin/printf [%%s]\\\\0 {systemd_argument(string)}" for string in strings]
    output = f"StandardOutput=append:{DIRECTORY}/words"
    run_unit(bed, ["Environment=FOO=expanded", 'Environment="SP=a b"', output, *lines])
    words = on_host(bed, f"cat {DIRECTORY}/words; rm {DIRECTORY}/words").split("\0")
    assert different([f"[{string}]" for string in strings], words[:-1]) == []


def test_systemd_reads_a_whole_command_as_it_was(bed: Bed) -> None:
    # Long strings apart: together they are more than one line of a unit holds.
    strings = [string for string in corpus(2) if len(string) < 1000]
    command = systemd_command([f"{DIRECTORY}/recorder", *strings])
    [(words, _)] = run_unit(bed, ["Environment=FOO=expanded", f"ExecStart={command}"])
    assert different(strings, words) == []


def test_systemd_reads_each_variable_of_a_unit_as_it_was(bed: Bed) -> None:
    strings = by_name(corpus(3))
    lines = [f"Environment={systemd_environment(name, value)}" for name, value in strings.items()]
    [(_, variables)] = run_unit(bed, [*lines, f"ExecStart={DIRECTORY}/recorder"])
    assert different(list(strings.values()), [variables[name] for name in strings]) == []


def test_systemd_reads_each_variable_of_an_environment_file_as_it_was(bed: Bed) -> None:
    strings = by_name(corpus(4))
    lines = [environment_file(name, value) for name, value in strings.items()]
    write(bed, f"{DIRECTORY}/environment", "\n".join(lines) + "\n")
    [(_, variables)] = run_unit(bed, [f"EnvironmentFile={DIRECTORY}/environment", f"ExecStart={DIRECTORY}/recorder"])
    assert different(list(strings.values()), [variables[name] for name in strings]) == []


def test_systemd_hands_over_json(bed: Bed) -> None:
    word = f"--speculative-config={json_argument(SPECULATIVE_CONFIG)}"
    variable = systemd_environment("CONFIG", json_argument(SPECULATIVE_CONFIG))
    command = systemd_command([f"{DIRECTORY}/recorder", word])
    [(words, variables)] = run_unit(bed, [f"Environment={variable}", f"ExecStart={command}"])
    assert json.loads(words[0].partition("=")[2]) == SPECULATIVE_CONFIG
    assert json.loads(variables["CONFIG"]) == SPECULATIVE_CONFIG


@pytest.mark.parametrize("character", ["a", "$", '"', "é", "\n"])
def test_systemd_hands_over_the_longest_word(bed: Bed, character: str) -> None:
    longest = character * (131_071 // len(character.encode()))
    [(words, _)] = run_unit(bed, [f"ExecStart={DIRECTORY}/recorder {systemd_argument(longest)}"])
    assert words == [longest]


def test_systemd_reads_the_longest_line(bed: Bed) -> None:
    words = ["a" * 130_000] * 8
    command = systemd_command([f"{DIRECTORY}/recorder", *words])
    last = "b" * (1024 * 1024 - 64 - len(command) - 1)
    command = systemd_command([f"{DIRECTORY}/recorder", *words, last])
    [(got, _)] = run_unit(bed, [f"ExecStart={command}"])
    assert got == [*words, last]


def test_systemd_reads_emoji_and_a_last_backslash(bed: Bed) -> None:
    words = ["👩‍💻", "é😀\\", "\\", "C:\\models\\", "\\\\"]
    command = systemd_command([f"{DIRECTORY}/recorder", *words])
    last = systemd_environment("LAST", "é😀\\")
    [(got, variables)] = run_unit(bed, [f"ExecStart={command}", f"Environment={last}"])
    assert got == words
    assert variables["LAST"] == "é😀\\"


def test_systemd_sysctl_sets_what_a_line_says(bed: Bed) -> None:
    expected = {
        "net.ipv4.tcp_keepalive_time": "611",
        "net.ipv4.ip_local_port_range": "20000 60000",
        "net.ipv4.tcp_congestion_control": "reno",
        "net/ipv4/conf/veth.7/rp_filter": "2",
    }
    lines = [sysctl_line(key, value) for key, value in expected.items()]
    write(bed, f"{DIRECTORY}/sysctl.conf", "\n".join(lines) + "\n")
    files = [f"/proc/sys/{key if '/' in key else key.replace('.', '/')}" for key in expected]
    # In a network namespace of its own, so that no other test meets these values.
    shown = on_host(
        bed,
        "unshare --net sh -euc 'ip link add veth.7 type veth peer name veth.8; "
        f"/usr/lib/systemd/systemd-sysctl --strict {DIRECTORY}/sysctl.conf; cat {' '.join(files)}'",
    )
    assert [" ".join(line.split()) for line in shown.splitlines()] == list(expected.values())


def carries(string: str) -> bool:
    """Return whether a unit can contain this string as free text: no newline, nothing to strip."""
    try:
        systemd_text(string)
    except ValueError:
        return False
    return True


def test_systemd_shows_each_description_as_it_was(bed: Bed) -> None:
    texts = {string: systemd_text(string) for string in corpus(5) if string and carries(string)}
    assert len(texts) >= 400
    on_host(
        bed,
        f"rm -rf {DIRECTORY}/units; mkdir -p {DIRECTORY}/units; cd {DIRECTORY}/units; "
        "i=0; while IFS= read -r text; do "
        "printf '[Unit]\\nDescription=%s\\n[Service]\\nExecStart=/bin/true\\n' \"$text\" "
        ">escaping-$i.service; i=$((i+1)); done; mv escaping-*.service /run/systemd/system/; "
        "systemctl daemon-reload",
        stdin="\n".join(texts.values()) + "\n",
    )
    names = " ".join(f"escaping-{number}.service" for number in range(len(texts)))
    shown = on_host(bed, f"systemctl show -p Description --value {names}")
    assert different(list(texts), shown.removesuffix("\n").split("\n\n")) == []
