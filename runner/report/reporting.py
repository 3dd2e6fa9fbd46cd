"""The report parts of an evaluation: sections, facts of a case, and the words of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from runner.words.wording import Wording, wording_of

if TYPE_CHECKING:
    from runner.report.blocks import Fact, Section
    from runner.report.document import Document
    from runner.report.sweep import Sweep

Run = Mapping[str, Any]  # run.json


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What the cases of an evaluation pass through, as a report names it. `choices`: the conf groups whose choices it
    lists, in this order. `failures`: failure stages, behind those of retrieval and answers (runner.report.run.STAGES).
    `between`: timed stages that happen between cases, not once in each. `replaced`: the choices that a running system
    (`system`) replaces. `warnings`: swept setting -> the key of a warning about runs that differ in it."""

    choices: tuple[str, ...] = ("dataset", "retriever", "reranker", "tokenizer", "embedder", "generator", "judge")
    failures: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    warnings: Mapping[str, str] = field(default_factory=dict)


class Reporting(Protocol):
    """The optional parts that the class of an evaluation may offer. A report is made of a finished folder, where no
    evaluation is built: nothing here belongs to an instance.

        class Tone:
            words = files("their_package") / "words"  # en.yaml and ko.yaml

            @staticmethod
            def sections(document: Document) -> Iterator[Section | None]:
                say, insults = document.say, document.summary.get("insults") or {}
                rows = [[word, str(count)] for word, count in insults.items()]
                yield section("insults", say("tone.insults"), Table([say("tone.word"), say("tone.count")], rows))
    """

    words: ClassVar[Traversable]  # as runner.words.wording.Wording.with_words reads them
    pipeline: ClassVar[Pipeline]

    @staticmethod
    def run_facts(run: Run) -> Iterable[tuple[str, str]]:
        """Args:
            run: the content of run.json.

        Returns:
            (NAME, value) of what else ran, beside the choices of its pipeline; `ran.NAME` is the word for it.
        """
        ...

    @staticmethod
    def sections(document: Document) -> Iterable[Section | None]:
        """Args:
            document: a run.

        Returns:
            Sections of its report, between the metrics and the failure stages; None is left out.
        """
        ...

    @staticmethod
    def sweep_sections(sweep: Sweep) -> Iterable[Section | None]:
        """Args:
            sweep: a sweep with completed runs.

        Returns:
            Sections of its report; None is left out.
        """
        ...

    @staticmethod
    def case_facts(row: Mapping[str, Any], say: Wording) -> Iterable[Fact]:
        """Args:
            row: of per_item.jsonl.
            say: the words of the report.

        Returns:
            Facts of the case: additional ones, or replacements of runner's (see Fact).
        """
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """The parts that one evaluation offers."""

    sections: Callable[[Document], Iterable[Section | None]]
    sweep_sections: Callable[[Sweep], Iterable[Section | None]]
    case_facts: Callable[[Mapping[str, Any], Wording], Iterable[Fact]]
    words: Traversable | None
    pipeline: Pipeline
    run_facts: Callable[[Run], Iterable[tuple[str, str]]]
    missing: str = ""  # the evaluation whose class may not be loaded, or is not there: its stored sections are shown


def offer_of(run: Run) -> Offer:
    """The reporting of the evaluation that run.json names. Only classes of this program and of packages that are
    installed as part of it are loaded: a folder of unknown origin is data."""
    config = run.get("config") or {}
    evaluation = config.get("evaluation") if isinstance(config, Mapping) else None
    target = evaluation.get("_target_") if isinstance(evaluation, Mapping) else None
    return _offer(target) if isinstance(target, str) else _NOTHING


def words_of(run: Run) -> Wording:
    """The language, the metrics and the words of a run, with those that its evaluation brings. Raises DataError where
    its words are damaged."""
    say, words = wording_of(run), offer_of(run).words
    return say if words is None else say.with_words(words).of(run.get("evaluation_type"))


def sections_of_sweep(sweep: Sweep) -> list[Section]:
    """The sections of the evaluations of its completed runs for the report of a sweep, each in its own words."""
    offers = {id(offer): offer for cell in sweep.cells if cell.status == "completed" for offer in [offer_of(cell.run)]}
    sections: list[Section] = []
    for offer in offers.values():
        own = sweep if offer.words is None else replace(sweep, say=sweep.say.with_words(offer.words))
        sections += [section for section in offer.sweep_sections(own) if section is not None]
    return sections


@cache
def _offer(target: str) -> Offer:
    from runner.config.vetting import installed_class

    cls = installed_class(target)
    if cls is None:
        from runner.report.stored_sections import stored_sections

        return replace(_NOTHING, sections=stored_sections, missing=target)
    return Offer(
        getattr(cls, "sections", _offer_nothing),
        getattr(cls, "sweep_sections", _offer_nothing),
        getattr(cls, "case_facts", _offer_nothing),
        getattr(cls, "words", None),
        getattr(cls, "pipeline", Pipeline()),
        getattr(cls, "run_facts", _offer_nothing),
    )


def _offer_nothing(*_: Any) -> Iterable[Any]:
    return ()


_NOTHING = Offer(_offer_nothing, _offer_nothing, _offer_nothing, None, Pipeline(), _offer_nothing)
