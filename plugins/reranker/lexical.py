"""Order and sufficiency by words: how much of the question each candidate holds, and where the rest may stand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from runner.domains.agent.candidate import Candidate
from runner.domains.agent.coverage import WeightedQuestion, coverage_of, forms_in
from runner.domains.memory.recall import asked_words
from runner.protocols import Workspace
from runner.records import Assessment, Corpus, Query
from runner.text.words import Word, all_forms, content_words

BEST = 3  # candidates, whose highest confidence counts
OPEN = 0.15  # share of the question, by weight, that is worth another search
BRIDGE = 4  # words of the best candidate that lead on
TOGETHER = 2  # words of a lead, in the title and headings of what it leads to or open before
FEW = 2  # documents: what more of them are called names none of them
LEADS = 0.6  # confidence of a candidate that may lead on: one that is about something else leads astray
CHAIN = 3  # candidates, each of which leads to the next
HELD_BY = 2  # chunks: a word of one chunk alone leads nowhere else

Lead = tuple[Sequence[Word], Sequence[Word]]  # words that are missing, and words of the best candidate


class LexicalReranker:
    """A baseline: it sees words, not meaning; no model, deterministic. Candidates are ordered by the sum of their
    relevance and their coverage of the question (runner.domains.agent.coverage), ties in the order in which they were
    found; one without a word of the question is of no use. Confidence is the highest of the first three. They are
    sufficient where it is 1: some candidate holds half of what is asked about, by weight, and all names and figures.

    Where the best one is not in great doubt (`LEADS`), lacks words of the question that another chunk of the corpus
    holds, at least `OPEN` of it by weight, and names what few other documents are called, it advises one more search:
    for these words with up to `BRIDGE` of its own, those names first, then the rarest. What that leads to stands behind
    the first three then, and may lead on in its turn, by names alone where there still is doubt: what one document
    says leads to the next. Until such a search is made, nothing is sufficient."""

    def prepare(self, corpus: Corpus, workspace: Workspace) -> None:
        self._coverage = coverage_of(corpus, workspace)
        self._topics = topics_of(corpus)

    def rerank(self, question: Query, candidates: Sequence[Candidate], past_queries: Sequence[str]) -> Assessment:
        about = self._coverage.analyse(question.text)
        covered = [self._coverage.of(about, each.passage) for each in candidates]
        useful = [place for place, each in enumerate(covered) if each.coverage > 0]
        useful.sort(key=lambda place: -(candidates[place].relevance + covered[place].coverage))
        if not useful:
            return Assessment((), False, 0.0, tuple(word.text for word in about.words))
        best = max(useful[:BEST], key=lambda place: covered[place].confidence)
        confidence, missing_words = covered[best].confidence, covered[best].missing
        chain, query = [best], ""
        if confidence >= LEADS:
            chain, query = self._chain(best, candidates, _Open(question.text, about, confidence < 1), past_queries)
        order = dict.fromkeys([*useful[:BEST], *chain, *useful[BEST:]])
        ranked = tuple(candidates[place].id for place in order)
        if query:
            return Assessment(ranked, False, confidence, missing_words, "search_again", query)
        return Assessment(ranked, confidence >= 1, confidence, missing_words)

    def _chain(
        self, best: int, candidates: Sequence[Candidate], open_words: _Open, past_queries: Sequence[str]
    ) -> tuple[list[int], str]:
        """The best candidate, and what each of them led to; and what to search for next, empty where nothing is."""
        chain = [best]
        while len(chain) < CHAIN:
            lead = self._lead([candidates[place] for place in chain], open_words)
            query = " ".join(word.text for words in lead for word in words)
            if not query or query not in past_queries:
                return chain, query
            goal = self._goal(chain, candidates, lead)
            if goal is None:
                break
            chain.append(goal)
        return chain, ""

    def _lead(self, chain: Sequence[Candidate], open_words: _Open) -> Lead:
        """The lead from the last candidate; empty where no other chunk continues it, or all of them together lack next
        to nothing."""
        told, held = _forms(chain), self._coverage.chunks_with
        wanted_words = [word for word in open_words.words if word.forms.isdisjoint(told) and held(word) > 0]
        if open_words.weight(wanted_words) < OPEN:
            wanted_words = []
        topics, others = self._leading_words(chain, open_words)
        if wanted_words and topics:
            return wanted_words, [*topics, *others][:BRIDGE]
        return ((), topics[:BRIDGE]) if open_words.is_doubtful and len(chain) > 1 else ((), ())

    def _leading_words(self, chain: Sequence[Candidate], open_words: _Open) -> tuple[list[Word], list[Word]]:
        """Words that only the last one of the chain holds, and some other chunk: those that are topics of another
        document, and the others; the rarest first."""
        known_forms, n_chunks = all_forms(open_words.about.words) | _forms(chain[:-1]), self._coverage.chunks_with
        leading = []
        for word in content_words(chain[-1].passage):
            if word.forms.isdisjoint(known_forms) and n_chunks(word) >= HELD_BY:
                leading.append(word)
                known_forms |= word.forms
        leading.sort(key=n_chunks)
        topics = [word for word in leading if self._is_topic_elsewhere(word, chain[-1])]
        return topics, [word for word in leading if word not in topics]

    def _is_topic_elsewhere(self, word: Word, best: Candidate) -> bool:
        """Whether few documents bear the word in title or headings, and the candidate's is not among them."""
        own, bearing = best.id.rpartition("#")[0], [self._topics.get(form, frozenset()) for form in word.forms]
        return any(0 < len(documents) <= FEW and own not in documents for documents in bearing)

    def _goal(self, chain: Sequence[int], candidates: Sequence[Candidate], lead: Lead) -> int | None:
        """The candidate that holds most of a lead by weight, and is named by it: one of its words is in the title or
        headings, and, unless only topics lead to it, another of its words or a missing word of the question is in the
        text."""
        weight = {word.text: 1 / self._coverage.chunks_with(word) for words in lead for word in words}
        values: dict[int, float] = {}
        for place, candidate in enumerate(candidates):
            forms, heading = forms_in(candidate.passage), forms_in(_heading(candidate))
            n_named = sum(not word.forms.isdisjoint(heading) for word in lead[1])
            held_words = [word for words in lead for word in words if not word.forms.isdisjoint(forms)]
            n_wanted = sum(word in lead[0] for word in held_words)
            if place not in chain and n_named and (n_named + n_wanted >= TOGETHER or not lead[0]):
                values[place] = sum(weight[word.text] for word in held_words)
        return max(values, key=lambda place: values[place], default=None)


class _Open:
    """The open part of a question: its words but those that only ask. `is_doubtful`: whether the candidates may be
    about something else."""

    def __init__(self, question: str, about: WeightedQuestion, is_doubtful: bool) -> None:
        self.about, self.is_doubtful = about, is_doubtful
        telling = all_forms(asked_words(question))
        self.words = [word for word in about.words if not word.forms.isdisjoint(telling)]
        self._weights = {word.text: float(weight) for word, weight in zip(about.words, about.weights, strict=True)}

    def weight(self, words: Sequence[Word]) -> float:
        """0..1: their share of the question."""
        return sum(self._weights[word.text] for word in words) / self.about.total


def _heading(candidate: Candidate) -> str:
    return f"{candidate.title}\n{candidate.metadata.get('section', '')}"


def _forms(chain: Sequence[Candidate]) -> frozenset[str]:
    return frozenset[str]().union(*(forms_in(each.passage) for each in chain))


def topics_of(corpus: Corpus) -> Mapping[str, frozenset[str]]:
    """Form of a word -> documents whose title or headings hold it."""
    topics: defaultdict[str, set[str]] = defaultdict(set)
    titles = {(document.id, document.title) for document in corpus.documents}
    headings = {(chunk.document_id, heading) for chunk in corpus.chunks for heading in chunk.headings}
    for document, text in titles | headings:
        for form in all_forms(content_words(text)):
            topics[form].add(document)
    return {form: frozenset(documents) for form, documents in topics.items()}
