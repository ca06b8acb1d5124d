"""The fleet timer in the plan: what it checks, at which URLs, with which secrets."""

from __future__ import annotations

import pytest

from tests.plan.fleets import PAIR, deployment, planned, resolution, said, service

SPARKS = "spark-01: {address: 192.168.1.11}, spark-02: {address: 192.168.1.12}"
HOOK = "{webhook: {url: 'http://192.168.1.9/hook'}}"


def timer(host: str, alerts: str = HOOK, *lines: str) -> str:
    """Write a fleet timer."""
    return "monitoring:\n" + "".join(
        f"  {each}\n" for each in (f"timer: {{hosts: {host}}}", f"alerts: {alerts}", *lines)
    )


@pytest.mark.parametrize(
    ("bind", "host", "url"),
    [
        ("lan", "spark-01", "http://192.168.1.11:8001"),
        ("lan", "spark-02", "http://192.168.1.11:8001"),
        ("any", "spark-01", "http://127.0.0.1:8001"),
        ("any", "spark-02", "http://192.168.1.11:8001"),
        ("loopback", "spark-01", "http://127.0.0.1:8001"),
        ("loopback", "spark-02", None),
    ],
)
def test_the_url_depends_on_where_both_are(bind: str, host: str, url: str | None) -> None:
    text = deployment(f"bind: {bind}", "api_key: {secret: key}", host=SPARKS) + timer(host)
    found = {each.name: each.fleet_timer for each in planned(text).hosts}
    assert [name for name, each in found.items() if each] == [host]
    made = found[host]
    assert made is not None
    assert [each.url for each in made.check.endpoints] == ([url] if url else [])
    assert [(each.name, each.obstacle) for each in made.unwatched] == ([] if url else [("chat", "loopback")])
    assert made.secrets == (("key",) if url else ())


def test_the_leader_of_a_group_is_checked_and_its_workers_are_not() -> None:
    made = planned(PAIR + timer("spark-01")).hosts[0].fleet_timer
    assert made is not None
    [endpoint] = made.check.endpoints
    assert (endpoint.name, endpoint.url) == ("big on spark-02", "http://192.168.1.12:8001")
    assert endpoint.promise is not None
    assert endpoint.promise.url == endpoint.url
    assert endpoint.remedy == "sparkiac verify INVENTORY big; on spark-02: journalctl --unit=sparkiac-big"


def test_a_service_without_anything_to_check_is_left_out() -> None:
    made = planned(service("port: 80") + timer("spark-01")).hosts[0].fleet_timer
    assert made is not None
    assert made.check.endpoints == ()
    assert made.unwatched == ()


def test_its_secrets_must_be_on_its_host() -> None:
    alerts = (
        "{telegram: {chat_id: 5, token: {secret: bot}}, webhook: {secret_url: {secret: hook}}, email: {to: [a@b.org],"
        " sender: c@b.org, smarthost: 'mail.b.org:465', user: c, password: {secret: mail}}}"
    )
    text = deployment("api_key: {secret: key}", "bind: lan", host=SPARKS) + timer("spark-02", alerts)
    text = text.replace("{hosts: spark-02}", "{hosts: spark-02, every_min: 5, heartbeat: {secret: beat}}")
    first, second = planned(text).hosts
    assert first.secrets == ("key",)
    assert second.secrets == ("beat", "bot", "hook", "key", "mail")
    assert [each.name for each in second.preflight.secrets] == list(second.secrets)
    assert second.fleet_timer is not None
    check = second.fleet_timer.check
    assert (check.period_s, check.heartbeat) == (300, "beat")
    assert check.channels.email is not None
    assert (check.channels.email.host, check.channels.email.port) == ("mail.b.org", 465)
    assert check.channels.telegram is not None
    assert check.channels.telegram.url == "https://api.telegram.org"


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("monitoring: {timer: {hosts: spark-01}}\n", "REF003 10:14 the fleet timer has no receiver for its messages"),
        (timer("spark-09"), "REF001 11:18 unknown host 'spark-09'"),
    ],
)
def test_without_receivers_and_on_an_unknown_host(text: str, finding: str) -> None:
    findings, found = resolution(service("port: 80") + text)
    assert found is None
    assert said(findings) == [finding]


def test_the_host_of_the_timer_may_run_nothing_else() -> None:
    text = service("port: 80", "health: /", "bind: lan", host=SPARKS) + timer("spark-02")
    second = planned(text).hosts[1]
    assert second.units == ()
    assert second.fleet_timer is not None
