"""What judging through the runner costs beside a bare openai client that asks the same.

    python benchmarks/models.py [ROUNDS]       default: 7

A server in a process of its own answers after 100 ms. The runner judges 500 cases with given contexts and answers
(1,000 requests, 32 in flight), once as it does by itself and once by the openai client
(`provider.openai.client=openai`); the bare client then sends the very bodies that the server got, from 32 tasks. They
take turns, so that each meets what else the machine does. Ideal is requests x latency / in flight. A span is from the
first request's arrival to the last answer, as the server saw it. CPU is user and system time of the whole client
process; at the margin means the difference between 1,000 and 200 requests of one round, divided by 800.

All figures are medians over the rounds. The processor time of a process varies by a tenth, and by more where other work
shares the caches: a margin, which is a difference of two of them, by a quarter. Its quartiles stand beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.services.models_server import ModelsProcess, models_process  # noqa: E402

LATENCY_MS, IN_FLIGHT, MANY, FEW = 100, 32, 1000, 200
# How the runner reaches the server, with the words that choose it; and what it is held against.
WAYS = {"runner": (), "by openai": ("provider.openai.client=openai",)}
BARE = "bare client"
FACTS = (
    "The observatory on the hill was built in 1907 and moved to the coast in 1964, together with its archive.",
    "Its main telescope has a mirror of 2.4 metres, which two people clean by hand every second Thursday in May.",
    "천문대는 1907년에 언덕 위에 세워졌고 1964년에 문서고와 함께 바닷가로 옮겨졌다.",
    "Visitors come on 40 evenings a year; the tickets for them are sold out within the first hour of the season.",
    "주 망원경의 거울은 지름이 2.4미터이며 해마다 5월에 두 사람이 손으로 닦는다.",
)


@dataclass(frozen=True, slots=True)
class Measured:
    span_s: float
    before_s: float  # the first request
    after_s: float  # the last answer
    wall_s: float
    cpu_s: float


def main(rounds: int) -> None:
    load = [os.getloadavg()[0]]
    measured_of: dict[str, dict[int, list[Measured]]] = {name: {FEW: [], MANY: []} for name in (*WAYS, BARE)}
    with tempfile.TemporaryDirectory() as name, models_process(latency_ms=LATENCY_MS) as server:
        folder = Path(name)
        for number in range(rounds):
            for requests in (FEW, MANY):
                queries = write_cases(folder / f"queries-{requests}.jsonl", requests // 2)
                for way, words in WAYS.items():
                    command = runner_command(queries, server.url, folder / f"out-{way}-{requests}-{number}")
                    measured_of[way][requests].append(measured([*command, *words], server, requests))
                bodies = folder / f"bodies-{requests}.json"
                bodies.write_text(json.dumps(server.requests()), encoding="utf-8")
                command = [sys.executable, __file__, "--client", server.url, str(bodies)]
                measured_of[BARE][requests].append(measured(command, server, requests))
    load.append(os.getloadavg()[0])
    report(measured_of)
    print(f"load of the machine (mean of a minute) {load[0]:.1f} before, {load[1]:.1f} after; {os.cpu_count()} cores")


def write_cases(path: Path, cases: int) -> Path:
    lines = []
    for number in range(cases):
        contexts = [{"id": f"{number}-{n}", "text": f"{fact} {facts(number + n)}"} for n, fact in enumerate(FACTS)]
        case = {
            "id": f"case-{number}",
            "query": f"When was observatory {number} moved to the coast, and what moved with it?",
            "answerable": True,
            "expected_notes": [f"{number}-0"],
            "contexts": contexts,
            "answer": f"Observatory {number} moved to the coast in 1964 [1], together with its archive [1].",
        }
        lines.append(json.dumps(case, ensure_ascii=False))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def facts(number: int) -> str:
    return " ".join(FACTS[(number + n) % len(FACTS)] for n in range(3))


def runner_command(queries: Path, url: str, out: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "runner", "+experiment=full_rag", "retriever=given", "generator=given"),
        *("judge=openai", "dataset=jsonl", "dataset.corpus=null", f"dataset.queries={queries}"),
        *("tracking=none", "cache=none", "warmup=0", "judge.health=false", f"max_concurrency={IN_FLIGHT}"),
        *(f"provider.openai.base_url={url}", "provider.openai.api_key_env=null", f"out={out}"),
    ]


def measured(command: list[str], server: ModelsProcess, requests: int) -> Measured:
    """Runs the command to its end; ends this program where it failed or sent other than `requests`."""
    server.counters(reset=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}  # modules stay compiled
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        counters = server.counters()
        if process.returncode or counters["answered"] != requests or counters["requests"] != requests:
            sys.exit(
                f"{' '.join(command)}\n{output.read()}\nexit code {process.returncode}; {counters['requests']} requests"
                f" came and {counters['answered']} were answered, {requests} expected"
            )
    before_s = counters["first_s"] - started  # one clock for all processes of the machine
    after_s = wall_s - before_s - counters["span_s"]
    return Measured(counters["span_s"], before_s, after_s, wall_s, usage.ru_utime + usage.ru_stime)


def report(measured_of: Mapping[str, Mapping[int, Sequence[Measured]]]) -> None:
    ideal_s = MANY * LATENCY_MS / 1000 / IN_FLIGHT
    margins = {name: margins_ms(of) for name, of in measured_of.items()}
    margin = {name: statistics.median(of) for name, of in margins.items()}
    spans = medians(measured_of, lambda each: each.span_s)
    whole = medians(measured_of, lambda each: each.wall_s)
    rounds = len(next(iter(margins.values())))
    print(f"{MANY:,} requests at {LATENCY_MS} ms, {IN_FLIGHT} in flight; ideal {ideal_s:.2f} s; rounds: {rounds}")
    print(f"{'':32}{''.join(f'{name:>14}' for name in measured_of)}{'target':>9}")
    row("CPU a request at the margin, ms", margin)
    row("  / bare client", {name: ms / margin[BARE] for name, ms in margin.items()}, "0.75")
    if rounds > 1:
        row("  lower quartile, ms", {name: statistics.quantiles(of)[0] for name, of in margins.items()})
        row("  upper quartile, ms", {name: statistics.quantiles(of)[2] for name, of in margins.items()})
    row("span, s", spans)
    row("  / ideal", {name: span_s / ideal_s for name, span_s in spans.items()}, "1.10")
    row("whole process, s", whole)
    row("  / ideal", {name: wall_s / ideal_s for name, wall_s in whole.items()}, "1.50")
    row("  before the first request, s", medians(measured_of, lambda each: each.before_s))
    row("  after the last answer, s", medians(measured_of, lambda each: each.after_s))
    row("CPU of the whole process, s", medians(measured_of, lambda each: each.cpu_s))


def row(name: str, values: Mapping[str, float], target: str = "") -> None:
    print(f"{name:32}{''.join(f'{value:>14.2f}' for value in values.values())}{target:>9}")


def margins_ms(measured: Mapping[int, Sequence[Measured]]) -> list[float]:
    """Of each round."""
    pairs = zip(measured[MANY], measured[FEW], strict=True)
    return [1000 * (many.cpu_s - few.cpu_s) / (MANY - FEW) for many, few in pairs]


def medians(
    measured_of: Mapping[str, Mapping[int, Sequence[Measured]]], value: Callable[[Measured], float]
) -> dict[str, float]:
    """Of the runs with many requests."""
    return {name: statistics.median(map(value, of[MANY])) for name, of in measured_of.items()}


async def ask_all(url: str, bodies: list[dict[str, Any]]) -> None:
    """The bare loop."""
    from openai import AsyncOpenAI, DefaultAioHttpClient

    waiting = iter(bodies)
    async with AsyncOpenAI(
        base_url=url, api_key="none", http_client=DefaultAioHttpClient(), max_retries=0, timeout=15
    ) as client:

        async def ask() -> None:
            for body in waiting:
                reply = await client.chat.completions.create(**body)
                json.loads(reply.choices[0].message.content or "")

        await asyncio.gather(*(ask() for _ in range(IN_FLIGHT)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--client"]:
        asyncio.run(ask_all(sys.argv[2], json.loads(Path(sys.argv[3]).read_text(encoding="utf-8"))))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
