"""Request an answer from both hosts five times a second: `python -m tests.e2e.polls URL…` on the control station."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from types import TracebackType

    from tests.e2e.bed import Bed

EVERY_S = 0.2
TIMEOUT_S = 1.0
PORT = 8001


class Gap(NamedTuple):
    """A time without an answer: from the last good answer before it to the first one after it."""

    begin: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self.end - self.begin


class PrintingModule:
    """A module of the tests that runs beside the hosts and prints lines for as long as the context lasts."""

    def __init__(self, bed: Bed, *words: str, where: str = "control") -> None:
        """Start nothing yet; `words` are the name of the module and its arguments."""
        self.argv = bed.inside([sys.executable, "-m", *words], name=where)

    def __enter__(self) -> Self:
        """Start it."""
        root = Path(__file__).parents[2]
        self.process = subprocess.Popen(self.argv, cwd=root, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.process.terminate()
        self.reader.join()
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.take(*line.split())

    def take(self, *words: str) -> None:
        """Keep a line."""
        raise NotImplementedError


class Polls(PrintingModule):
    """Polls of a bed's hosts for as long as the context lasts."""

    def __init__(self, bed: Bed) -> None:
        """Poll nothing yet."""
        self.hosts = {f"http://{host.address}:{PORT}/health": name for name, host in bed.hosts.items()}
        super().__init__(bed, "tests.e2e.polls", *self.hosts)
        self.answers: dict[str, list[tuple[float, bool]]] = {name: [] for name in bed.hosts}

    def take(self, url: str, asked: str, good: str) -> None:
        """Keep when a request was sent, and whether its answer was good."""
        self.answers[self.hosts[url]].append((float(asked), good == "True"))

    def gaps(self, host: str) -> list[Gap]:
        """Return the times without an answer; one that had not ended when the polls did ends with them."""
        found, last = [], None
        answers = self.answers[host]
        for (before, was), (now, good) in itertools.pairwise(answers):
            if was and not good:
                last = before
            if last is not None and good:
                found.append(Gap(last, now))
                last = None
        return found if last is None else [*found, Gap(last, answers[-1][0])]

    def both_down(self) -> list[tuple[Gap, Gap]]:
        """Return the gaps of two hosts that overlap."""
        one, two = (self.gaps(host) for host in self.answers)
        return [(a, b) for a in one for b in two if a.begin < b.end and b.begin < a.end]

    def told(self) -> str:
        """Describe the gaps of each host."""
        lines = []
        for host, answers in self.answers.items():
            seconds = [gap.seconds for gap in self.gaps(host)]
            over = answers[-1][0] - answers[0][0]
            text = f"{len(answers)} polls in {over:.0f} s, {len(seconds)} gaps, longest {max(seconds, default=0):.1f} s"
            lines.append(f"{host}: {text}, together {sum(seconds):.1f} s")
        return "\n".join(lines)


def poll(url: str) -> None:
    """Send requests to a host until killed; print the time of each, and whether the response was good."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        asked = time.monotonic()
        try:
            with opener.open(url, timeout=TIMEOUT_S) as answer:
                good = answer.status == 200
        except OSError:
            good = False
        sys.stdout.write(f"{url} {asked:.3f} {good}\n")
        sys.stdout.flush()
        time.sleep(max(0.0, asked + EVERY_S - time.monotonic()))


if __name__ == "__main__":
    threads = [threading.Thread(target=poll, args=(url,), daemon=True) for url in sys.argv[1:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
