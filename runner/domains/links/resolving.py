"""Which note a link means.

A wiki link names a note as queries do (runner.text.note_ids): by id, path, end of a path, title or alias, in any
spelling; one that begins with `./` or `../`, and a Markdown link, is a path from the folder of its note, and a
Markdown link may also be a path from the top folder. Links to other files (`x.png`, `LICENSE.txt`, a folder) mean
no note.
"""

from __future__ import annotations

import mimetypes
import posixpath
from collections.abc import Sequence

from runner.domains.links.links import Link
from runner.text.note_ids import NoteNames, note_key

_FILES = mimetypes.MimeTypes(filenames=())  # the same on every machine


def meant_notes(link: Link, source: str, names: NoteNames) -> Sequence[str]:
    """Ids of notes: none when the link is broken, several when it is ambiguous, `source` for a link within it."""
    if not link.reference:
        return (source,)
    if link.kind == "markdown":
        return _notes_at_path(_from_folder(link.reference, source), names) or _notes_at_path(link.reference, names)
    if link.reference.startswith(("./", "../")):
        return _notes_at_path(_from_folder(link.reference, source), names)
    return names.resolve(link.reference.removeprefix("/"))


def means_no_note(link: Link) -> bool:
    """Whether it leads to a file that is no Markdown, or to a folder."""
    name = link.reference
    return name.endswith("/") or (not name.lower().endswith(".md") and _FILES.guess_type(name)[0] is not None)


def _from_folder(reference: str, source: str) -> str:
    if reference.startswith("/"):
        return reference
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), reference))


def _notes_at_path(path: str, names: NoteNames) -> Sequence[str]:
    path = path.removeprefix("/")
    return [note for note in names.resolve(path) if note_key(note) == note_key(path)]
