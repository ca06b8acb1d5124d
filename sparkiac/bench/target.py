"""What is measured: a deployment of a plan or a bare URL, what the plan and its sources expect, and its hosts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sparkiac.bench import client
from sparkiac.bench.client import ApiEndpoint
from sparkiac.fleet import facts, query, verify
from sparkiac.memory import speed
from sparkiac.memory.speed import Range
from sparkiac.memory.values import Unknown
from sparkiac.model.bench import BenchGpu, BenchHost, BenchSubject, Expected
from sparkiac.plan import Container, HostPlan, Plan, memory_use
from sparkiac.plan.numbers import span
from sparkiac.upstream.streaming import ServerError


class BenchTarget(NamedTuple):
    """A server to measure."""

    endpoint: ApiEndpoint
    subject: BenchSubject
    expected: tuple[Expected, ...] = ()
    hosts: tuple[HostPlan, ...] = ()
    """Its hosts; empty for a bare URL."""


def of_url(url: str, model: str | None, key: str | None) -> BenchTarget:
    """Return the target at a URL. Raises ServerError."""
    base = url.rstrip("/").removesuffix("/v1")
    served = client.models(base, key)
    name = model or next(iter(served), None)
    if name is None:
        raise ServerError(f"{base} serves no model")
    if name not in served:
        raise ServerError(f"{base} does not serve {name}; it serves: {', '.join(sorted(served)) or 'nothing'}")
    found = served[name]
    subject = BenchSubject(url=base, model=name, max_model_len=found.max_model_len)
    return BenchTarget(ApiEndpoint(base, name, key, None, found.max_model_len, found.root), subject)


def of_plan(plan: Plan, name: str) -> BenchTarget:
    """Return the target for a deployment, with its API key from its host. Raises ServerError and HostFailure."""
    leader, container = leading(plan, name)
    unit = verify.probed_unit(plan, name)
    found = of_url(unit.promise.url or "", next(iter(unit.promise.models), None), verify.api_key(unit))
    hosts = tuple(host for host in plan.hosts for each in host.containers if each.name == name)
    subject = subject_of(leader, container, hosts, found.subject)
    server = container.server
    endpoint = found.endpoint._replace(engine=server.engine, weights=server.model or found.endpoint.weights)
    return BenchTarget(endpoint, subject, tuple(expected(leader, container)), hosts)


def leading(plan: Plan, name: str) -> tuple[HostPlan, Container]:
    """Return the container of a deployment that answers requests, and its host."""
    return next(
        (host, each) for host in plan.hosts for each in host.containers if each.name == name and each.server.leads
    )


def subject_of(host: HostPlan, container: Container, hosts: tuple[HostPlan, ...], found: BenchSubject) -> BenchSubject:
    """Return all values of the plan and its lock for a deployment."""
    server, image = container.server, container.image
    return found.model_copy(
        update={
            "engine": server.engine,
            "deployment": container.name,
            "recipe": server.recipe,
            "hosts": tuple(each.name for each in hosts),
            "platform": host.platform_name,
            "image": image.reference,
            "digest": image.digest,
            "weights": server.model,
            "commits": dict(container.weights.commits),
            "versions": dict(image.versions) | ({"vllm": image.vllm} if image.vllm else {}),
            "options": dict(server.options),
            "speculative": dict(server.speculative) if server.speculative else None,
            "argv": container.argv,
        }
    )


def expected(host: HostPlan, container: Container) -> Iterator[Expected]:
    """Return the decode speeds of the plan, and the measurements that the sources of the recipe published."""
    proof = host.proofs.get(container.name)
    for context, found in () if proof is None or isinstance(proof.decode, Unknown) else proof.decode:
        yield _decode(context, found._replace(source=f"plan: {found.source}"))
    stall = memory_use.stall(proof) if proof else None
    if isinstance(stall, memory_use.Stall):
        what, value = f"wait while chunks of {stall.chunk_tokens} tokens are read", span(stall.low_s, stall.high_s, "s")
        yield Expected(what=what, value=value, source=f"plan: {stall.source}", low=stall.low_s, high=stall.high_s)
    for each in container.server.published:
        yield Expected(what=each.what, value=each.value, source=each.source)


def expected_at(listed: tuple[Expected, ...], context: int) -> tuple[Expected, ...]:
    """Add the decode speed of the plan at the measured context."""
    known = {each.context: Range(each.low or 0.0, each.high or 0.0, each.source) for each in listed if each.context}
    found = None if context in known else speed.between(known, context)
    return (_decode(context, found), *listed) if found else listed


def _decode(context: int, found: Range) -> Expected:
    value, what = f"{found.low:.1f} to {found.high:.1f} tokens/s", f"decode after {context} tokens"
    return Expected(what=what, value=value, source=found.source, low=found.low, high=found.high, context=context)


def host_facts(hosts: tuple[HostPlan, ...]) -> dict[str, BenchHost]:
    """Read driver, generation, memory and GPU state from hosts."""
    answers = query.query_all(map(query.endpoint, hosts)) if hosts else ()
    return {answer.host: _facts(answer.facts) for answer in answers if answer.facts is not None}


def _facts(found: facts.HostFacts) -> BenchHost:
    machine = found.machine
    return BenchHost(
        driver=machine.driver,
        firmware=machine.firmware,
        generation=found.generation.current if found.generation else None,
        available_bytes=machine.memory.available_bytes if machine.memory else None,
        gpu=BenchGpu(**machine.gpu.model_dump()) if machine.gpu else None,
    )
