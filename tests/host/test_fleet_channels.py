"""Messages of the fleet timer: what Telegram, a mail server and a webhook receive, and what happens if they refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkiac.host.fleet import channels, state
from tests.host import receivers
from tests.host.fleet import SECRETS
from tests.host.receivers import CHAT, HOOK, PASSWORD, TOKEN
from tests.upstream.registry.servers import Authority, authority

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.host.fleet import Ran, Timer
    from tests.host.probed import Service
    from tests.host.receivers import Receiver

DOWN = (503, "down")


@pytest.fixture
def timer(timer: Timer, service: Service) -> Timer:
    """Return a timer with one external endpoint."""
    timer.watch_url("other", f"{service.url}/health")
    return timer


@pytest.fixture
def hook(timer: Timer) -> Iterator[Receiver]:
    with receivers.http(receivers.alertmanager_receiver) as found:
        timer.webhook(found)
        yield found
    assert found.faults == []


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def mail(timer: Timer, trusted: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted.bundle))
    with receivers.mail_server(trusted) as found:
        timer.email(found)
        yield found
    assert found.faults == []


def no_secret(timer: Timer, *ran: Ran) -> None:
    """Assert that neither the output nor the state has a secret."""
    shown = "".join(each.out + each.err for each in ran) + timer.everything()
    values = [TOKEN, TOKEN.partition(":")[2], PASSWORD, HOOK, *filter(None, SECRETS.values())]
    assert [value for value in values if value in shown] == []


def test_the_message_to_telegram(timer: Timer, bot: Receiver, service: Service) -> None:
    service.answers["/health"] = DOWN
    ran = timer.run()
    assert bot.requests == [f"POST /bot{TOKEN}/sendMessage"]
    [body] = bot.got
    assert body["chat_id"] == CHAT
    assert body["text"].startswith("sparkiac, fleet lab: 1 endpoint fails\n\nFAILING: other\n")
    no_secret(timer, ran)


def test_the_message_to_a_webhook_is_that_of_alertmanager(timer: Timer, hook: Receiver, service: Service) -> None:
    service.answers["/health"] = DOWN
    timer.run()
    service.answers["/health"] = (200, "")
    timer.run()
    failing, working = (each["body"] for each in hook.got)
    assert (failing["status"], working["status"]) == ("firing", "resolved")
    [alert] = failing["alerts"]
    assert alert["labels"] == {"alertname": "EndpointFailing", "fleet": "lab", "endpoint": "other", "host": ""}
    assert alert["annotations"] == {"state": "failing", "url": f"{service.url}/health", "description": "HTTP 503"}
    assert (alert["startsAt"], alert["endsAt"]) == ("2026-11-18T11:21:40Z", "0001-01-01T00:00:00Z")
    [alert] = working["alerts"]
    assert (alert["status"], alert["startsAt"], alert["endsAt"]) == (
        "resolved",
        "2026-11-18T11:21:40Z",
        "2026-11-18T11:36:40Z",
    )


def test_the_mail(timer: Timer, mail: Receiver, service: Service) -> None:
    service.answers["/health"] = DOWN
    ran = timer.run()
    assert (ran.code, mail.requests.count("STARTTLS")) == (0, 1)
    [got] = mail.got
    assert [each.upper() for each in got["to"]] == ["TO:<A@EXAMPLE.ORG>", "TO:<B@EXAMPLE.ORG>"], "3.13 writes to:"
    assert got["mail"]["Subject"] == "sparkiac, fleet lab: 1 endpoint fails"
    assert "FAILING: other" in got["text"]
    no_secret(timer, ran)


def test_mail_is_never_sent_to_a_server_that_nobody_vouches_for(
    timer: Timer, mail: Receiver, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    service.answers["/health"] = DOWN
    ran = timer.run()
    assert ran.code == 1
    assert "email did not accept a message, the next run sends it again: SSLCertVerificationError" in ran.err
    assert "AUTH" not in mail.requests
    no_secret(timer, ran)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"STARTTLS": "502 no"}, "SMTPNotSupportedError"),
        ({"STARTTLS": "454 later"}, "SMTP 454 later"),
        ({"AUTH": f"535 wrong {PASSWORD}"}, "SMTP 535 wrong ***"),
        ({"RCPT": "550 nobody"}, "the server refuses all recipients"),
        ({"DATA": "451 later"}, "SMTP 451 later"),
    ],
)
def test_a_mail_server_that_refuses(
    timer: Timer, mail: Receiver, service: Service, broken: dict[str, str], said: str
) -> None:
    mail.broken = broken
    service.answers["/health"] = DOWN
    ran = timer.run()
    assert ran.code == 1
    assert said in ran.err or "SMTP 502 no" in ran.err
    mail.broken = None
    assert timer.run().code == 0
    assert len(mail.got) == 1
    no_secret(timer, ran)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ((401, {"ok": False, "error_code": 401, "description": "Unauthorized"}), "HTTP 401 Unauthorized"),
        ((429, {"ok": False, "error_code": 429, "description": "Too Many Requests"}), "HTTP 429 Too Many Requests"),
        ((400, {"ok": False, "description": f"Bad Request: {TOKEN}"}), "HTTP 400 Bad Request: ***"),
        ((502, "<html>bad gateway</html>"), "HTTP 502 the response is not one of the Bot API"),
        ((200, "<html>log in to the network</html>"), "HTTP 200 the response is not one of the Bot API"),
        ((200, []), "HTTP 200 the response is not one of the Bot API"),
        ((200, "[" * 60_000), "HTTP 200 the response is not one of the Bot API"),
        ((302, "http://127.0.0.1:1/"), "HTTP 302"),
    ],
)
def test_telegram_refuses_and_the_next_run_sends_the_message_again(
    timer: Timer, bot: Receiver, service: Service, broken: tuple[int, object], said: str
) -> None:
    """With the time of the failure; a failure that has ended meanwhile is a second message."""
    bot.broken = broken
    service.answers["/health"] = DOWN
    first = timer.run()
    assert first.code == 1
    assert f"telegram did not accept a message, the next run sends it again: {said}" in first.err
    service.answers["/health"] = (200, "")
    second = timer.run()
    assert second.code == 1
    bot.broken = None
    assert timer.run() == (0, "", "")
    assert [text.splitlines()[2] for text in bot.texts] == ["FAILING: other", "WORKING AGAIN: other"]
    no_secret(timer, first, second)


def test_nobody_listens_at_the_bot_api(timer: Timer, bot: Receiver, service: Service) -> None:
    timer.config["channels"]["telegram"]["url"] = "http://name.invalid"
    service.answers["/health"] = DOWN
    ran = timer.run()
    assert ran.code == 1
    assert "telegram did not accept a message, the next run sends it again: gaierror" in ran.err
    no_secret(timer, ran)
    assert bot.requests == []


@pytest.mark.parametrize("value", ["", "not a token", f"{TOKEN} x", f"{TOKEN}/x", f"{TOKEN}\nx"])
def test_a_token_that_is_none_is_not_quoted(timer: Timer, bot: Receiver, service: Service, value: str) -> None:
    timer.secret("bot", value)
    service.answers["/health"] = DOWN
    ran = timer.run()
    assert (ran.code, bot.requests) == (1, [])
    assert "the secret bot does not have the form" in ran.err
    no_secret(timer, ran)


def test_a_missing_secret_is_named(timer: Timer, bot: Receiver, service: Service) -> None:
    (timer.folder / "secrets/bot").unlink()
    service.answers["/health"] = DOWN
    ran = timer.run()
    assert "the secret bot cannot be read: FileNotFoundError" in ran.err
    assert bot.requests == []


def test_a_channel_that_refuses_does_not_hold_up_the_others(
    timer: Timer, bot: Receiver, hook: Receiver, service: Service
) -> None:
    bot.broken = (500, "no")
    service.answers["/health"] = DOWN
    assert timer.run().code == 1
    assert timer.run().code == 1
    assert (len(bot.got), len(hook.got)) == (0, 1)
    bot.broken = None
    assert timer.run().code == 0
    assert (len(bot.got), len(hook.got)) == (1, 1)


def test_a_webhook_without_a_secret(timer: Timer, hook: Receiver, service: Service) -> None:
    timer.config["channels"]["webhook"] = {"url": f"{hook.url}/{HOOK}", "secret_url": None}
    service.answers["/health"] = DOWN
    timer.run()
    assert len(hook.got) == 1


def test_the_oldest_of_too_many_messages_are_dropped(timer: Timer, bot: Receiver, service: Service) -> None:
    bot.broken = (500, "no")
    service.answers["/health"] = DOWN
    timer.config["period_s"] = 86_400  # each run sends a reminder
    for _ in range(state.UNSENT + 5):
        timer.run()
    bot.broken = None
    timer.run()
    assert len(bot.got) == state.UNSENT
    assert bot.texts[-1].splitlines()[2] == "STILL FAILING: other"


def test_the_heartbeat_follows_a_whole_run(timer: Timer, bot: Receiver, service: Service) -> None:
    """A dead man's switch gets no request while a message waits, so that it reports a channel that does not work."""
    service.answers["/beat"] = (200, "ok")
    timer.config["heartbeat"] = "beat"
    timer.secret("beat", f"{service.url}/beat")
    assert timer.run() == (0, "", "")
    assert service.asked.count("GET /beat") == 1
    bot.broken = (500, "no")
    service.answers["/health"] = DOWN
    timer.run()
    assert service.asked.count("GET /beat") == 1
    bot.broken = None
    timer.run()
    assert service.asked.count("GET /beat") == 2
    service.answers["/beat"] = (404, "no")
    ran = timer.run()
    assert (ran.code, "the heartbeat was not accepted: HTTP 404" in ran.err) == (1, True)
    assert service.url + "/beat" not in ran.err


def test_no_exception_text_is_shown_that_may_quote_a_url() -> None:
    assert channels.reason(ValueError(f"unusable URL /bot{TOKEN}")) == "ValueError"
