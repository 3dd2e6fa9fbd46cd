"""Make test cases for link suggestions from a folder of notes: hides some links and expects them at their places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner.commands import LANGUAGE, SEED, Command, Option, Place, demand_new_file, one_of, share, whole_number_reader
from runner.config.arguments import shell
from runner.config.language import language_of
from runner.data.notes import read_notes
from runner.data.problems import ProblemLog, skipped_lines
from runner.domains.links.graph import VaultGraph
from runner.domains.links.link_files import write_links
from runner.domains.links.making import hidden_links
from runner.errors import DataError
from runner.system import terminal
from runner.words.wording import Wording, wording

COMMAND = Command(
    "links-dataset",
    (Place("notes"), Place("out", Path, default=Path("links.jsonl"))),
    (
        Option("remove_ratio", "0..1", share(above_zero=True), 0.3),
        SEED,
        Option("link_text", "none|alias|all", one_of("none", "alias", "all"), "alias"),
        Option("context_chars", "N", whole_number_reader(0), 400),
        LANGUAGE,
    ),
)


def main(argv: Sequence[str]) -> int:
    """Raises InputError for wrong arguments, CorpusError for notes that cannot be read, and DataError where they have
    no links."""
    options = COMMAND.read(argv)
    out: Path = options.out
    demand_new_file(out, "OUT")
    log = ProblemLog()
    notes = read_notes(options.notes, "NOTES", log)
    graph = VaultGraph(notes)
    rows = hidden_links(
        notes,
        graph,
        ratio=options.remove_ratio,
        seed=options.seed,
        words=options.link_text,
        context_chars=options.context_chars,
    )
    if not rows:
        raise DataError(f"NOTES: no note in {options.notes} links to another one, so there is nothing to hide")
    write_links(rows, out)
    say = wording(language_of(argv), "outcomes")
    _print_problems(log, graph, options.notes, say)
    n_links = sum(len(row["expected_links"]) for row in rows)
    counts = {"places": ("place", len(rows)), "notes": ("note", len(notes)), "links": ("link", n_links)}
    counted = {name: say.count(thing, n) for name, (thing, n) in counts.items()}
    terminal.lines(say("links.written", out=out, sources=len({row["source_note"] for row in rows}), **counted))
    return 0


def _print_problems(log: ProblemLog, graph: VaultGraph, notes: str, say: Wording) -> None:
    for line in skipped_lines(log.problems, say):
        terminal.note(line)
    if graph.broken or graph.ambiguous:
        command = f"python -m runner validate {shell(str(notes))}"
        counts = {"broken": len(graph.broken), "ambiguous": len(graph.ambiguous)}
        terminal.note(say("links.left", command=command, **counts))
