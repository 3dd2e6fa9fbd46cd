"""A cross-encoder whose every weight is known: a pair's output is the sum of the weights of the candidate's words."""

import math
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from plugins.reranker.cross_encoder import CrossEncoderReranker
from runner.domains.agent.candidate import Candidate
from runner.errors import InputError, install_command
from runner.records import Assessment, Query
from tests.corpora import corpus_of, workspace

WEIGHTS = {"[PAD]": 100.0, "[UNK]": 0.0, "[CLS]": 50.0, "[SEP]": 0.0, "예약": 2.0, "점심": -3.0, "title": 1.0}
QUESTION = Query("q", "예약 방법", True, {})


def logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def model_folder(
    root: Path, *, name: str = "model.onnx", labels: int = 1, weights: Mapping[str, float] = WEIGHTS, more: str = ""
) -> str:
    """A tokenizer by words that pads to 32, and weights of words as a network. With two labels the first is the
    negative of the second."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(WordLevel({word: place for place, word in enumerate(weights)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    tokenizer.enable_padding(length=32)
    tokenizer.save(str(root / "tokenizer.json"))

    signs = np.array([[1.0], [-0.5, 0.5], [1.0, 1.0, 1.0]][labels - 1], dtype=np.float32).reshape(1, labels)
    names = ["input_ids", "attention_mask", "token_type_ids", *([more] if more else [])]
    inputs = [helper.make_tensor_value_info(each, TensorProto.INT64, ["batch", "length"]) for each in names]
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["each"]),
        helper.make_node("Mul", ["attention_mask", "token_type_ids"], ["counted"]),
        helper.make_node("Cast", ["counted"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "mask"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "axis"], ["sum"], keepdims=1),
        helper.make_node("MatMul", ["sum", "signs"], ["logits"]),
    ]
    constants = [
        numpy_helper.from_array(np.array(list(weights.values()), dtype=np.float32), "weights"),
        numpy_helper.from_array(np.array([1], dtype=np.int64), "axis"),
        numpy_helper.from_array(signs, "signs"),
    ]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", labels])
    graph = helper.make_graph(nodes, "sum", inputs, [output], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return str(root)


CANDIDATES = (
    Candidate("a#0", "점심 메뉴"),
    Candidate("b#0", "예약 예약"),
    Candidate("c#0", "메뉴"),
    Candidate("d#0", "예약", "title"),
    Candidate("e#0", "모름 모름 모름"),
)


def rerank(reranker: CrossEncoderReranker) -> Assessment:
    reranker.prepare(corpus_of({"a": "a"}), workspace(Path()))
    return reranker.rerank(QUESTION, CANDIDATES, ())


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx"])
@pytest.mark.parametrize("batch_size", [1, 2, 16])
def test_by_hand(name: str, batch_size: int, tmp_path: Path) -> None:
    found = rerank(CrossEncoderReranker(model=model_folder(tmp_path, name=name), batch_size=batch_size))
    assert found.ranked == ("b#0", "d#0", "c#0", "e#0", "a#0")  # 4, 3, 0, 0, -3; equal ones as they were found
    assert found.confidence == pytest.approx(logistic(4))
    assert found.sufficient is True


def test_two_outputs_are_one(tmp_path: Path) -> None:
    found = rerank(CrossEncoderReranker(model=model_folder(tmp_path, labels=2)))
    assert found.ranked == ("b#0", "d#0", "c#0", "e#0", "a#0")
    assert found.confidence == pytest.approx(logistic(4))  # softmax of (-2, 2)


@pytest.mark.parametrize(("least", "sufficient"), [(0.98, True), (0.99, False), (None, None)])
def test_sufficiency(least: float | None, sufficient: bool | None, tmp_path: Path) -> None:
    found = rerank(CrossEncoderReranker(model=model_folder(tmp_path), sufficient_from=least))  # logistic(4) = 0.982
    assert found.sufficient is sufficient


def test_long_candidates_lose_their_end(tmp_path: Path) -> None:
    reranker = CrossEncoderReranker(model=model_folder(tmp_path), max_length=16)
    long = Candidate("a#0", "메뉴 " * 20 + "예약 " * 20)
    short = Candidate("b#0", "예약 " * 3 + "메뉴 " * 50)
    found = reranker.rerank(QUESTION, [long, short], ())
    assert found.ranked == ("b#0", "a#0")
    assert found.confidence == pytest.approx(logistic(6))
    endless = Query("q", "방법 " * 100, True, {})
    assert reranker.rerank(endless, [short], ()).confidence == pytest.approx(logistic(6))


def test_lone_surrogates(tmp_path: Path) -> None:
    reranker = CrossEncoderReranker(model=model_folder(tmp_path), threads=1)
    assert reranker.rerank(QUESTION, [Candidate("a#0", "예약 \ud800")], ()).confidence == pytest.approx(logistic(2))


def test_provenance_is_the_content(tmp_path: Path) -> None:
    one = CrossEncoderReranker(model=model_folder(tmp_path / "one")).provenance
    assert set(one) == {"model", "onnxruntime", "tokenizers"}
    assert CrossEncoderReranker(model=model_folder(tmp_path / "copy")).provenance == one
    other = model_folder(tmp_path / "other", weights={**WEIGHTS, "예약": 3.0})
    assert CrossEncoderReranker(model=other).provenance != one


@pytest.mark.parametrize(
    ("labels", "more", "message"),
    [
        (3, "", "reranker.model: the model has 3 outputs a pair; a reranker has 1 or 2"),
        (1, "pixels", "reranker.model: the model asks for pixels; it is no cross-encoder"),
    ],
)
def test_models_that_are_something_else(labels: int, more: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        rerank(CrossEncoderReranker(model=model_folder(tmp_path, labels=labels, more=more)))
    assert str(caught.value) == message


def test_what_is_missing_is_told_before_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = "a folder with tokenizer.json and model.onnx or onnx/model.onnx, as cross-encoders are exported for ONNX"

    def told(model: str | None) -> str:
        (problem,) = CrossEncoderReranker(model=model).preflight()
        return f"{problem.key}: {problem.message}"

    assert told(None) == f"reranker.model: reranker=cross_encoder needs {form}"
    assert told("nowhere") == f"reranker.model: 'nowhere' is not a folder; expected {form}"
    assert told(str(tmp_path)) == f"reranker.model: '{tmp_path}' has no tokenizer.json; expected {form}"
    folder = model_folder(tmp_path)
    assert CrossEncoderReranker(model=folder).preflight() == []
    (tmp_path / "model.onnx").unlink()
    assert told(folder) == f"reranker.model: '{folder}' has no model.onnx or onnx/model.onnx; expected {form}"
    with pytest.raises(InputError, match=r"has no model\.onnx"):
        rerank(CrossEncoderReranker(model=folder))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert install_command("cross-encoder") in told(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.onnx"])
def test_files_that_are_damaged_are_named(name: str, tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(InputError) as caught:
        rerank(CrossEncoderReranker(model=folder))
    assert str(caught.value).startswith(f"reranker.model: {tmp_path / name} cannot be read: ")
    assert "\n" not in str(caught.value)
