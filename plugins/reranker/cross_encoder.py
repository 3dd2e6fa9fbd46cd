"""A cross-encoder on this machine: a model that reads question and candidate together. No server, no key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from runner.domains.agent.candidate import Candidate
from runner.errors import InputError, Problem, install_command
from runner.protocols import Workspace
from runner.records import Assessment, Corpus, Query
from runner.system.metadata import version_of

TOKENIZER = "tokenizer.json"
MODELS = ("model.onnx", "onnx/model.onnx")  # where exports have it
PADDING = ("[PAD]", "<pad>")
FORM = f"a folder with {TOKENIZER} and {' or '.join(MODELS)}, as cross-encoders are exported for ONNX"


class CrossEncoderReranker:
    """`model`: a folder with a cross-encoder in the form in which they are exported, such as those of
    BAAI/bge-reranker-v2-m3 or cross-encoder/ms-marco-MiniLM-L6-v2. Needs the extra `cross-encoder`.

    Candidates are ordered by the probability that they are relevant (the logistic function of the model's output, or
    softmax of two), ties in the order in which they were found. Confidence is that of the best; they are sufficient
    where it is `sufficient_from` at least, and None says nothing of sufficiency. Of pairs over `max_length` tokens the
    end of the longer text is left out. `threads`: None takes what the machine has.
    """

    def __init__(
        self,
        *,
        model: str | None = None,
        batch_size: Annotated[int, Field(ge=1)] = 16,
        max_length: Annotated[int, Field(ge=16)] = 512,
        sufficient_from: Annotated[float, Field(ge=0, le=1)] | None = 0.5,
        threads: Annotated[int, Field(ge=1)] | None = None,
    ) -> None:
        self.model = model
        self.batch_size, self.max_length = batch_size, max_length
        self.sufficient_from, self.threads = sufficient_from, threads
        self._one_at_a_time = Lock()

    def preflight(self) -> Sequence[Problem]:
        try:
            _packages()
        except InputError as error:
            return [Problem("reranker", str(error))]
        problem = self._problem()
        return [Problem("reranker.model", problem)] if problem else []

    @property
    def provenance(self) -> Mapping[str, Any]:
        """The content of the model's files: a folder may hold another model later. Raises InputError for a missing
        file."""
        return {"model": self._digest, "onnxruntime": version_of("onnxruntime"), "tokenizers": version_of("tokenizers")}

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        """Loads the model."""
        self._scores([("", "")])

    def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
        texts = [f"{each.title}\n{each.text}" if each.title else each.text for each in candidates]
        relevance = self._scores([(question.text, text) for text in texts])
        order = np.argsort(-relevance, kind="stable")
        confidence = float(relevance[order[0]])
        sufficient = None if self.sufficient_from is None else confidence >= self.sufficient_from
        return Assessment(tuple(candidates[place].id for place in order), sufficient, confidence)

    # --- the model ------------------------------------------------------------------------------------

    def _problem(self) -> str:
        """The fault of the setting; empty for a right one."""
        if self.model is None:
            return f"reranker=cross_encoder needs {FORM}"
        folder = Path(self.model)
        if not folder.is_dir():
            return f"'{self.model}' is not a folder; expected {FORM}"
        if not (folder / TOKENIZER).is_file():
            return f"'{self.model}' has no {TOKENIZER}; expected {FORM}"
        return "" if self._file(folder) else f"'{self.model}' has no {' or '.join(MODELS)}; expected {FORM}"

    @staticmethod
    def _file(folder: Path) -> Path | None:
        return next((folder / name for name in MODELS if (folder / name).is_file()), None)

    @cached_property
    def _files(self) -> tuple[Path, Path]:
        """The files of the tokenizer and of the model."""
        if problem := self._problem():
            raise InputError(f"reranker.model: {problem}")
        folder = Path(self.model or "")
        return folder / TOKENIZER, self._file(folder) or folder

    @cached_property
    def _digest(self) -> str:
        """Over the tokenizer, the model, and what large models keep beside it."""
        tokenizer, model = self._files
        digest = hashlib.sha256()
        for path in (tokenizer, *sorted(model.parent.glob(f"{model.name}*"))):
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return digest.hexdigest()[:16]

    @cached_property
    def _tokenizer(self) -> Any:
        _, tokenizers = _packages()
        tokenizer = _read(self._files[0], tokenizers.Tokenizer.from_file)
        tokenizer.enable_truncation(self.max_length)
        token = (tokenizer.padding or {}).get("pad_token") or next(filter(tokenizer.token_to_id, PADDING), PADDING[0])
        tokenizer.enable_padding(pad_id=tokenizer.token_to_id(token) or 0, pad_token=token)  # to no fixed length
        return tokenizer

    @cached_property
    def _session(self) -> Any:
        onnxruntime, _ = _packages()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads or 0
        return _read(
            self._files[1],
            lambda path: onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"]),
        )

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """float64 [n_pairs], 0..1"""
        batches = [pairs[start : start + self.batch_size] for start in range(0, len(pairs), self.batch_size)]
        with self._one_at_a_time:
            return np.concatenate([_probability(self._logits(batch)) for batch in batches])

    def _logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """float64 [n_pairs, n_labels]"""
        encoded = self._tokenizer.encode_batch([tuple(map(_clean, pair)) for pair in pairs])
        columns = {
            "input_ids": [each.ids for each in encoded],
            "attention_mask": [each.attention_mask for each in encoded],
            "token_type_ids": [each.type_ids for each in encoded],
        }
        input_names = {each.name for each in self._session.get_inputs()}
        if unknown := input_names - columns.keys():
            raise InputError(f"reranker.model: the model asks for {', '.join(sorted(unknown))}; it is no cross-encoder")
        inputs = {name: np.array(values, dtype=np.int64) for name, values in columns.items() if name in input_names}
        return np.asarray(self._session.run(None, inputs)[0], dtype=np.float64).reshape(len(pairs), -1)


def _probability(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    if logits.shape[1] > 2:
        raise InputError(f"reranker.model: the model has {logits.shape[1]} outputs a pair; a reranker has 1 or 2")
    logit = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
    return np.asarray(np.exp(-np.logaddexp(0.0, -logit)))


def _read(path: Path, reader: Callable[[str], Any]) -> Any:
    try:
        return reader(str(path))
    except Exception as error:  # neither package has a narrower one in common
        reason = " ".join(str(error).split())
        raise InputError(f"reranker.model: {path} cannot be read: {reason}") from error


def _clean(text: str) -> str:
    """UTF-8 has no lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _packages() -> tuple[Any, Any]:
    try:
        import onnxruntime
        import tokenizers
    except ImportError as error:
        raise InputError(
            f"reranker=cross_encoder needs the packages onnxruntime and tokenizers ({error}); install the extra: "
            f"{install_command('cross-encoder')}"
        ) from error
    return onnxruntime, tokenizers
