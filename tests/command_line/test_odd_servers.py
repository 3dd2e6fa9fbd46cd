"""Replies that no server should send: each costs one request, and is told in one line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main
from runner.config.compose import compose_cells
from runner.run.planning import plan_cells
from tests.command_line.result_files import read, rows
from tests.command_line.test_unfinished import is_judged, rag
from tests.services.models_faults import Faults
from tests.services.models_replies import Reply, chat
from tests.services.models_server import ModelsServer

Edit = Callable[[str], str]


@pytest.fixture
def words(server: ModelsServer, tmp_path: Path) -> list[str]:
    return [*rag(server.url, tmp_path), "sample=3", "out=o"]


def counting(count: str) -> Edit:
    """Every reply is said to have so many tokens."""

    def edit(text: str) -> str:
        head, _, rest = text.partition('"completion_tokens":')
        return f'{head}"completion_tokens":{count},{rest.partition(",")[2]}'

    return edit


def scoring(score: str) -> Edit:
    """Judgements give this score, and a reason of half a character."""
    content = json.dumps(f'{{"score": {score}, "reasoning": "half \\ud83d"}}')

    def edit(text: str) -> str:
        answer = json.loads(text)
        answer["choices"][0]["message"]["content"] = "CONTENT"
        return json.dumps(answer).replace('"CONTENT"', content)

    return edit


def saying(content: str) -> Edit:
    def edit(text: str) -> str:
        answer = json.loads(text)
        answer["choices"][0]["message"]["content"] = "CONTENT"
        return json.dumps(answer).replace("CONTENT", content)

    return edit


def edited(edit: Edit, *, judgements: bool) -> Callable[[dict[str, Any]], Reply | None]:
    return lambda body: Reply(body=edit(chat(body).body.decode()).encode()) if is_judged(body) == judgements else None


COUNTS = [str(2**53 + 1), str(2**63), "9" * 5000, "-7", "true", "NaN", "1e999", '"7"']  # as test_replies.py has them


@pytest.mark.parametrize(
    "count", [COUNTS[0], *(pytest.param(count, marks=pytest.mark.slow) for count in COUNTS[1:-1]), COUNTS[-1]]
)
def test_counts_of_tokens_that_cannot_be_are_estimated(
    count: str, words: list[str], server: ModelsServer, capsys: pytest.CaptureFixture[str]
) -> None:
    planned = plan_cells(compose_cells(words)[1]).total.live
    server.respond = edited(counting(count), judgements=True)
    assert main([*words, "budget.tokens=1000000"]) == 0
    assert server.count == planned
    notes = [line for line in capsys.readouterr().err.splitlines() if "reports impossible token counts" in line]
    assert len(notes) == 1
    assert notes[0].startswith("note: local:small at http://127.0.0.1:")
    assert read("o/summary.json")["timing"]["usage_total"]["live"]["output_tokens"] < 10_000


@pytest.mark.parametrize("score", ["1.0", "1"])
def test_scores_with_half_characters_are_read(score: str, words: list[str], server: ModelsServer) -> None:
    planned = plan_cells(compose_cells(words)[1]).total.live
    server.respond = edited(scoring(score), judgements=True)
    assert main(words) == 0
    assert server.count == planned
    for row in rows("o").values():
        for said in row["judgements"].values():
            assert said["score"] == 1 or said["reasoning"].startswith("The answer")
    assert main(words) == 0
    assert server.count == planned


@pytest.mark.parametrize("score", ["9" * 5000, "1e300"])
def test_numbers_of_any_length_that_are_on_no_scale_are_failures(
    score: str, words: list[str], server: ModelsServer
) -> None:
    server.respond = edited(scoring(score), judgements=True)
    main(words)
    said = [judgement for row in rows("o").values() for judgement in row["judgements"].values()]
    assert {judgement["score"] for judgement in said} == {None}
    assert all("expected a" in judgement["error"] for judgement in said)


def test_an_answer_with_half_a_character_is_bought_once(words: list[str], server: ModelsServer) -> None:
    planned = plan_cells(compose_cells(words)[1]).total.live
    server.respond = edited(saying(r"27 days \ud800 [1]"), judgements=False)
    assert main(words) == 0
    refused = sum(not row["judgements"] for row in rows("o").values())  # two judgements each that nobody asks for
    assert server.count == planned - 2 * refused
    assert "27 days ? [1]" in {row["output"]["answer"] for row in rows("o").values()}


@pytest.mark.parametrize("share", [pytest.param(0.05, marks=pytest.mark.slow), 0.3])
def test_a_server_that_breaks_replies_off_costs_no_case(share: float, words: list[str], server: ModelsServer) -> None:
    server.faults = Faults(cut_off=share, seed=2)
    assert main(words) == 0
    assert server.counts.faults["cut_off"] > 0
    assert read("o/summary.json")["cases"]["unscored"] == 0


OPENAI = Path(__file__).resolve().parents[2] / "conf/judge/openai.yaml"
KEPT = ("_target_", "models", "model")

# --- plans --------------------------------------------------------------------------------------------

JUDGE = """
from collections.abc import Mapping
from typing import Any

from runner.llm.messages import ChatRequest, Message
from runner.llm.models import Models
from runner.records import Judgement

SCHEMA = {schema}


class Judge:
    on_failure = "zero"

    def __init__(self, *, models: Models, model: str) -> None:
        self._model = models.model(model, "judge")

    async def judge(self, rubric: str, fields: Mapping[str, Any]) -> Judgement:
        for step in ("first", "second"):
            asked = f"{{step}} {{rubric}} {{fields['question']}} {{fields['answer']}}"
            request = ChatRequest((Message("user", asked),), max_tokens=64, schema=SCHEMA)
            score = await self._model.ask_for_json(request, self._read)
        return Judgement(score)

    def _read(self, reply: Mapping[str, Any]) -> float:
        {read}
"""
SCHEMA = {
    "type": "object",
    "properties": {
        "grade": {"$ref": "#/$defs/grade"},
        "votes": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 5}, "minItems": 3},
        "kind": {"anyOf": [{"const": "fixed"}, {"type": "null"}]},
        "day": {"type": "string", "format": "date"},
    },
    "required": ["grade", "votes", "kind", "day"],
    "$defs": {"grade": {"enum": ["good", "bad"]}},
}
STRICT = """if reply["kind"] != "fixed" or len(reply["votes"]) < 3 or min(reply["votes"]) < 1:
            raise ValueError("not of the form asked for")
        return float(reply["grade"] == "good")"""


@pytest.mark.parametrize(
    ("schema", "read", "n_asked"),
    [
        (SCHEMA, STRICT, 2),
        ({"type": "object", "properties": {"x": {"type": "number"}}}, 'raise ValueError("no")', 1),
    ],
)
def test_a_plan_is_exact_for_a_schema_of_ones_own(
    schema: dict[str, Any],
    read: str,
    n_asked: int,
    words: list[str],
    server: ModelsServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both rubrics are counted, also where one that is made up cannot be used."""
    monkeypatch.syspath_prepend(".")
    Path(f"graders{n_asked}.py").write_text(JUDGE.format(schema=repr(schema), read=read), encoding="utf-8")
    words = [word for word in words if word != "judge.health=false"]
    words += [f"judge._target_=graders{n_asked}.Judge", "max_failure_rate=1"]
    words += [f"~judge.{name}" for name in yaml.safe_load(OPENAI.read_text("utf-8")) if name not in KEPT]
    (cell,) = plan_cells(compose_cells(words)[1]).cells
    judged = sum(expected.live for account, expected in cell.expected.items() if account.role == "judge")
    n_answers = sum(expected.live for account, expected in cell.expected.items() if account.role == "generator")
    assert n_answers > 0
    assert judged == 3 * 2 * n_asked
    if n_asked == 2:
        assert main(words) == 0
        assert server.count == judged + n_answers
