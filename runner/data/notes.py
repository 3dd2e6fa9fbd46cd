r"""A folder of Markdown notes as documents.

The id of a note is its path relative to the folder, its text is the part after the front matter (with `\n` as line
ends), and its title is that of the front matter, else the first heading of level 1, else the file name. Hidden files
and folders are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from runner.data.fields import clean
from runner.data.files import GrowthError, check_growth, open_folder
from runner.data.problems import ProblemLog, list_problems
from runner.errors import CorpusError
from runner.records import Document
from runner.text.markdown import headings
from runner.text.note_ids import NoteNames

SUFFIX = ".md"


@dataclass(frozen=True, slots=True)
class Outline:
    """The metadata of a note: its front matter (and what is wrong with it, or ""), the number of characters after it,
    and the title of the front matter, else the first heading of level 1, else ""."""

    matter: dict[str, Any]
    problem: str
    length: int
    title: str


def outlines_of(texts: Sequence[str]) -> list[Outline]:
    """The outlines of the texts of files."""
    return [_outline(text) for text in texts]


def read_notes(
    path: str, key: str, log: ProblemLog, outlines: Callable[[Sequence[str]], Sequence[Outline]] = outlines_of
) -> list[Document]:
    """Notes by id. An unreadable note is an error and left out. `outlines` may be a cached function.

    Raises CorpusError when the folder cannot be read or holds no usable note.
    """
    root = open_folder(path, key, CorpusError)
    texts: dict[str, tuple[Path, str]] = {}
    for place in _note_files(root, log):
        note = _note(place, root, log)
        if note is not None and note[0] in texts:
            log.error(str(place), f"the name is already the id of another note: '{note[0]}'")
        elif note is not None:
            texts[note[0]] = (place, note[1])
    note_outlines = outlines([text for _, text in texts.values()])
    documents = {
        note: _document(note, text, outline, str(place), log)
        for (note, (place, text)), outline in zip(texts.items(), note_outlines, strict=True)
    }
    log.stop_if_strict()
    if not documents:
        errors = f"; what was found cannot be read:\n{list_problems(log.errors)}" if log.errors else ""
        raise CorpusError(f"{key}: no notes (*{SUFFIX}) in {path}{errors}")
    return [documents[note] for note in sorted(documents)]


def note_names(documents: list[Document]) -> NoteNames:
    """All names of notes: ids, titles and aliases."""
    names = NoteNames()
    for document in documents:
        names.add(document.id, document.title, document.metadata.get("aliases", ()))
    return names


def _note_files(root: Path, log: ProblemLog) -> Iterator[Path]:
    def unreadable(problem: OSError) -> None:
        log.error(str(problem.filename), f"cannot read the folder: {problem.strerror}")

    for parent, folders, files in os.walk(root, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(SUFFIX) and not name.startswith("."):
                yield Path(parent, name)


def _note(place: Path, root: Path, log: ProblemLog) -> tuple[str, str] | None:
    """(id, text of the file)."""
    note = place.relative_to(root).as_posix()
    try:
        note.encode()
        text = place.read_bytes().decode("utf-8-sig")
    except UnicodeEncodeError:
        log.error(ascii(str(place)), "the file name is not UTF-8")
    except UnicodeDecodeError as problem:
        byte = problem.object[problem.start]
        log.error(str(place), f"not UTF-8: byte 0x{byte:02x} at offset {problem.start} of the file")
    except OSError as problem:
        log.error(str(place), f"cannot read the note: {problem.strerror}")
    else:
        return clean(note), clean(text.replace("\r\n", "\n").replace("\r", "\n"))
    return None


def _outline(text: str) -> Outline:
    matter, body, problem = split_front_matter(text)
    return Outline(matter, problem, len(body), _text(matter.get("title")) or _first_heading(body))


def _document(note: str, text: str, outline: Outline, path: str, log: ProblemLog) -> Document:
    if outline.problem:
        log.warning(path, outline.problem, 1)
    matter, body = outline.matter, text[len(text) - outline.length :]
    title = outline.title or Path(note).stem
    language = _text(matter.get("language")) or _text(matter.get("lang"))
    aliases = _texts(matter.get("aliases") or matter.get("alias"), ",")
    tags = [tag.removeprefix("#") for tag in _texts(matter.get("tags") or matter.get("tag"), r"[,\s]+")]
    line = text.count("\n", 0, len(text) - outline.length) + 1
    return Document(note, body, title, language or None, {**matter, "aliases": aliases, "tags": tags}, line)


def _first_heading(body: str) -> str:
    return next((heading.title for heading in headings(body) if heading.level == 1), "")


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: Any, separator: str) -> list[str]:
    """`[a, b]`, and `a, b` written as one text."""
    values = re.split(separator, value) if isinstance(value, str) else value if isinstance(value, list) else []
    return [each.strip() for each in values if each.strip()]


# --- front matter ---------------------------------------------------------------------------------


_BLOCK = re.compile(r"---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


def split_front_matter(text: str) -> tuple[dict[str, Any], str, str]:
    """(values, text after the block, what is wrong with the block or "").

    Values are unconverted texts (`yes` and `2024-01-02` stay texts) and lists of texts; nested values are left out.
    """
    block = _BLOCK.match(text)
    if block is None:
        return {}, text, ""
    body = text[block.end() :]
    try:
        check_growth(block[1] or "")
        values = yaml.load(block[1] or "", Loader=yaml.BaseLoader)  # noqa: S506 - makes nothing but texts
    except GrowthError as problem:
        return {}, body, f"front matter: {problem}; ignored"
    except RecursionError:
        return {}, body, "front matter is nested too deeply; ignored"
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" (line {mark.line + 2})" if mark is not None else ""
        return {}, body, f"front matter is not YAML{where}: {getattr(problem, 'problem', problem)}; ignored"
    if not values:
        return {}, body, ""
    if not isinstance(values, dict):
        return {}, body, "front matter is not a mapping; ignored"
    return {str(name): value for name, value in values.items() if _is_flat(value)}, body, ""


def _is_flat(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(each, str) for each in value))
