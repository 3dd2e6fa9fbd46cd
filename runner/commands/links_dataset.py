"""Make places for links from a folder of notes: some of its links are hidden, and expected where they stood.

NOTES is a folder of Markdown notes. OUT gets one place a line, for `+experiment=links dataset.notes=NOTES
dataset.links=OUT`: the note, the sentence (anchor) and the text around it without the link, and the note that was
linked there. The same seed hides the same links. The notes stay as they are; who suggests links sees them without
those that are expected.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from runner.commands import Parser, seed
from runner.data.notes import read_notes
from runner.data.problems import ProblemLog
from runner.domains.links.graph import VaultGraph
from runner.domains.links.link_files import write_links
from runner.domains.links.making import hidden_links
from runner.errors import DataError, InputError
from runner.system import terminal

SHOWN = 5  # problems that are named


def main(argv: Sequence[str]) -> int:
    """Raises InputError for wrong arguments, CorpusError for notes that cannot be read, and DataError where they have
    no links."""
    options = _parser().parse_args(argv)
    out: Path = options.out
    if out.exists():
        raise InputError(f"OUT: {out} exists; name another file, or remove it")
    if not os.access(out.parent, os.W_OK):
        raise InputError(f"OUT: {out.parent} is not a folder that can be written to")
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
    _tell(log, graph, options.notes)
    expected = sum(len(row["expected_links"]) for row in rows)
    sources = len({row["source_note"] for row in rows})
    where = f"{terminal.counted(len(rows), 'place')} in {sources} of {terminal.counted(len(notes), 'note')}"
    terminal.write(f"{out}: {where}, {terminal.counted(expected, 'link')} expected\n")
    return 0


def _tell(log: ProblemLog, graph: VaultGraph, notes: str) -> None:
    for problem in log.errors[:SHOWN]:
        terminal.note(f"skipped {problem}")
    if len(log.errors) > SHOWN:
        terminal.note(f"skipped {len(log.errors) - SHOWN} more")
    if graph.broken or graph.ambiguous:
        counts = f"{len(graph.broken)} broken and {len(graph.ambiguous)} ambiguous links are left alone"
        terminal.note(f"{counts}; python -m runner validate {notes} lists them")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m runner links-dataset", description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("notes", metavar="NOTES", help="a folder of Markdown notes")
    parser.add_argument(
        "out",
        metavar="OUT",
        type=Path,
        nargs="?",
        default=Path("links.jsonl"),
        help="a new file (default: links.jsonl)",
    )
    parser.add_argument(
        "--remove-ratio",
        type=_ratio,
        default=0.3,
        metavar="0..1",
        help="share of the pairs (note, note it links to) that are hidden (default: 0.3)",
    )
    parser.add_argument("--seed", type=seed, default=42, help="which of them (default: 42)")
    parser.add_argument(
        "--link-text",
        choices=("none", "alias", "all"),
        default="alias",
        help="what stays of a hidden link in anchor and context: nothing, words of its own that do not name the note, "
        "or all that it shows, which gives the note away (default: alias)",
    )
    parser.add_argument(
        "--context-chars", type=int, default=400, metavar="N", help="characters of context (default: 400)"
    )
    return parser


def _ratio(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0, at most 1, found '{text}'")
    return number
