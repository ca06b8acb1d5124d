"""How the tests themselves are set up."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def test_examples_are_the_same_in_every_run_and_have_no_deadline() -> None:
    """A busy machine fails no test, and a failure is seen again in the next run."""
    for found in (settings(), settings(max_examples=3)):
        assert (found.derandomize, found.deadline) == (True, None)
        assert HealthCheck.too_slow in found.suppress_health_check
