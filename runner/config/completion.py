"""Shell completion. It runs at each key press and therefore imports nothing heavy: it reads commands from their source,
and choices and settings from their YAML, as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
CONF = PACKAGE.parent / "conf"
ASKS = ("completion", "words")  # `python -m runner completion words -- WORD …`
FLAGS = ("--help", "--version", "--config-dir", "--config-name", "--multirun", "--cfg", "--trust")
HOW = {"experiment": "+experiment"}  # groups whose choices are added with +
RUNS = ("run", "run_dir", "baseline", "candidate", "record")  # places of commands
RUN_KEYS = ("compare", "out", "run")  # options that name a run folder
DECLARED = re.compile(r'\b(Place|Option)\("([\w ]+)"|\b(SEED|LANGUAGE|TRUST|URI)\b')
COMPOSED = re.compile(r"^\w+:\n  _target_: runner\.(?:llm|commands)", re.M)  # what settings are put together to
OPTIONS = re.compile(r"^OPTIONS = \(\n.*?^\)", re.M | re.S)
SHARED = {"SEED": "seed", "LANGUAGE": "language", "TRUST": "trust", "URI": "uri"}


def complete(words: Sequence[str]) -> list[str]:
    """The completions of the last word."""
    *before, current = words or [""]
    return sorted(
        dict.fromkeys(word for word in _candidates(before, current) if word.startswith(current) and word != current)
    )


def _candidates(before: Sequence[str], current: str) -> Iterator[str]:
    folders = [word.partition("=")[2] for word in before if word.startswith("--config-dir=")]
    folders += [after for flag, after in pairwise(before) if flag in ("--config-dir", "-cd")]
    key, equals, _ = current.partition("=")
    command = before[0] if before and re.fullmatch(r"[\w-]+", before[0]) else ""
    if command and before[1:] and before[1] in _parts(command):
        command = f"{command} {before[1]}"
    conf = _conf(command)
    if equals:
        yield from _values(key, current, _groups(folders, conf), _options(conf))
        return
    places, options, takes_words = _declaration(command) if command else ((), (), True)
    if current.startswith("-"):
        yield from (f"--{name.replace('_', '-')}" for name in options)
        yield from FLAGS if takes_words or not command else ("--help",)
        return
    if command:
        yield from _parts(command)
        yield from _runs() if any(name in RUNS for name in places) else ()
    elif not before:
        yield from _commands()
    if takes_words:
        yield from _keys(before, current, _groups(folders, conf), _options(conf))


# --- words of runs --------------------------------------------------------------------------------


Groups = Mapping[str, Mapping[str, Path]]
Options = Mapping[str, Sequence[str]]


def _conf(command: str) -> Path:
    """The file of the settings that a command takes: its own, or those of runs."""
    own = CONF / f"{re.sub('[ -]', '_', command)}.yaml"
    return own if command and own.is_file() else CONF / "config.yaml"


def _keys(before: Sequence[str], current: str, groups: Groups, options: Options) -> Iterator[str]:
    """`retriever=`, `k=`, and, after a dot or a complete name, the settings below it."""
    yield from (f"{HOW.get(name, name)}=" for name in groups)
    yield from (f"{name}=" for name in options if "." in current or "." not in name)
    place = current.lstrip("+").rpartition(".")[0]
    if place.replace(".", "/") in groups:
        yield from (f"{place}.{name}=" for name in _settings(groups[place.replace(".", "/")], place, before))
    yield from (f"{name.replace('/', '.')}." for name in groups if current and name.startswith(current.rstrip(".")))


def _values(key: str, current: str, groups: Groups, options: Options) -> Iterator[str]:
    """`retriever=keyword,hybrid` for `retriever=keyword,h`."""
    name = key.lstrip("+")
    head = current[: max(current.rfind(","), current.rfind("="), current.rfind("[")) + 1]
    values: Iterable[str] = groups.get(name) or options.get(name) or ()
    if name in RUN_KEYS:
        head, values = f"{key}=", _runs()
    yield from (f"{head}{value}" for value in values)


def _settings(choices: Mapping[str, Path], place: str, before: Sequence[str]) -> Iterator[str]:
    """The settings of the choice that was typed, else of all choices."""
    group = place.replace(".", "/")
    typed = [word.partition("=")[2] for word in before if word.lstrip("+").startswith(f"{group}=")]
    for name in [name for name in typed if name in choices] or choices:
        text = choices[name].read_text(encoding="utf-8", errors="replace")
        yield from (key for key in re.findall(r"^(\w+):", text, re.M) if key not in ("defaults", "_target_"))


def _groups(folders: Sequence[str], conf: Path) -> dict[str, dict[str, Path]]:
    """As runner.config.help.groups, without installed packages. For a command with its own settings, only the groups of
    its file."""
    by_group: dict[str, dict[str, Path]] = {}
    for folder in (CONF, *map(Path, folders)):
        for path in sorted(folder.glob("*/**/*.yaml")):
            by_group.setdefault(path.parent.relative_to(folder).as_posix(), {})[path.stem] = path
    if conf.name != "config.yaml":
        config_groups = re.findall(r"^  - ([a-z/]+):", conf.read_text(encoding="utf-8"), re.M)
        return {
            name: choices
            for name, choices in by_group.items()
            if any(f"{name}/".startswith(f"{each}/") for each in config_groups)
        }
    return by_group


def _options(conf: Path) -> dict[str, list[str]]:
    """The options of conf/config.yaml, or the settings of a command, with the values in their comments."""
    text = conf.read_text(encoding="utf-8")
    body = COMPOSED.split(text.partition("\n\n")[2])[0]
    options: dict[str, list[str]] = {}
    outer = ""
    for indent, name, value, comment in re.findall(r"^( *)([a-z]\w*): *([^#\n]*)(.*)$", body, re.M):
        outer = outer if indent else name
        options[f"{outer}.{name}" if indent else name] = _choices(value.strip(), comment.strip("# "))
    return options


def _choices(default: str, comment: str) -> list[str]:
    """`use`, `none`, `read` for the default `use` and the comment `replies of models: use | none | read (store
    nothing)`. Empty where the values are no words."""
    if default in ("true", "false"):
        return ["true", "false"]
    if not default.isalpha() or default == "null":
        return []
    first, *others = comment.split(" | ")
    matches = [re.match(r"(\w+)(?: \(|:|$)", first), *(re.match(r"(\w+)", each) for each in others)]
    return [default, *(match[1] for match in matches if match is not None)]


# --- commands -------------------------------------------------------------------------------------


def _commands() -> Iterator[str]:
    yield from (path.stem.replace("_", "-") for path in (PACKAGE / "commands").iterdir() if path.stem[0] != "_")


def _source(command: str) -> str:
    """The declaration of a command; of a part of one (`clean outputs`), the file that has it."""
    name, _, part = command.partition(" ")
    if part:
        commands = PACKAGE / "commands"
        paths = [*sorted((commands / name).glob("*.py")), *commands.glob(f"{name}.py")]
        texts = (path.read_text(encoding="utf-8") for path in paths)
        return next((text for text in texts if re.search(rf'Command\(\s*"{command}"', text)), "")
    place = PACKAGE / "commands" / command.replace("-", "_")
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    start = text.find("\nCOMMAND = ")
    declared = text[start : text.find("\n\n\n", start)] if start >= 0 else ""
    shared = OPTIONS.search(text) if "OPTIONS" in declared else None  # options that its parts have too
    return declared + (shared[0] if shared else "")


def _declaration(command: str) -> tuple[list[str], list[str], bool]:
    """The names of the places and options of a command, and whether it takes overrides."""
    source = _source(command)
    places = [name for kind, name, _ in DECLARED.findall(source) if kind == "Place"]
    options = [name if kind else SHARED[shared] for kind, name, shared in DECLARED.findall(source) if kind != "Place"]
    return places, options, "words=" in source


def _parts(command: str) -> Iterator[str]:
    """The subcommands of a command: `min_score` of `calibrate`."""
    parts = re.search(r"parts=\{([^}]*)\}", _source(command))
    yield from re.findall(r'"(\w+)":', parts[1]) if parts else ()


def _runs() -> Iterator[str]:
    """Folders below ./outputs, newest last, the runs of sweeps, and records."""
    for folder in (*sorted(Path("outputs").glob("*")), *sorted(Path("experiments").glob("*"))):
        cells = [cell.parent for cell in sorted(folder.glob("*/run.json"))]
        if cells or any((folder / name).is_file() for name in ("run.json", "sweep.json", "frozen.yaml")):
            yield str(folder)
            yield from map(str, cells)


# --- shells ---------------------------------------------------------------------------------------

BASH = r"""# Completion of `runner` and `python -m runner`, to be sourced by ~/.bashrc
_runner_offer() {  # PROGRAM … -- WORDS: fills COMPREPLY
    local program=() line cur cut
    while [ "$1" != -- ]; do program+=("$1"); shift; done
    shift
    cur=${@: -1}
    cut=  # what stands before the last = or : stays as it is: bash takes that for another word
    [[ $COMP_WORDBREAKS == *[=:]* ]] && cut=${cur%"${cur##*[=:]}"}
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line#"$cut"}")
    done < <("${program[@]}" completion words -- "$@" 2>/dev/null)
    case ${COMPREPLY[0]-} in *[=./]) [ ${#COMPREPLY[@]} -gt 1 ] || compopt -o nospace 2>/dev/null ;; esac
    compopt -o nosort 2>/dev/null
}
_runner_words() {  # the line up to the cursor, at spaces: `=` parts no words here
    local line=${COMP_LINE:0:COMP_POINT}
    read -ra _RUNNER_WORDS <<< "$line"
    case $line in *[[:space:]]) _RUNNER_WORDS+=("") ;; esac
}
_runner() {
    local _RUNNER_WORDS
    _runner_words
    _runner_offer "${_RUNNER_WORDS[0]}" -- "${_RUNNER_WORDS[@]:1}"
}
_runner_python() {
    local _RUNNER_WORDS
    _runner_words
    if [ "${_RUNNER_WORDS[1]-}" = -m ] && [ "${_RUNNER_WORDS[2]-}" = runner ] && [ ${#_RUNNER_WORDS[@]} -gt 3 ]; then
        _runner_offer "${_RUNNER_WORDS[@]:0:3}" -- "${_RUNNER_WORDS[@]:3}"
    fi
}
complete -o bashdefault -o default -F _runner runner
complete -o bashdefault -o default -F _runner_python python python3
"""

ZSH = r"""#compdef runner
# Completion of `runner` and `python -m runner`, to be sourced by ~/.zshrc after compinit
_runner_offer() {  # PROGRAM … -- WORDS
    local -a program found
    while [[ $1 != -- ]]; do program+=("$1"); shift; done
    shift
    found=("${(@f)$("${program[@]}" completion words -- "$@" 2>/dev/null)}")
    found=(${found:#})
    (( $#found )) || { _files; return }
    local -a open closed
    open=(${(M)found:#*[=./]})
    closed=(${found:#*[=./]})
    (( $#open )) && compadd -Q -S '' -a open
    (( $#closed )) && compadd -Q -a closed
}
_runner() { _runner_offer "$words[1]" -- "${(@)words[2,CURRENT]}" }
_runner_python() {
    if [[ $words[2] == -m && $words[3] == runner && CURRENT -gt 3 ]]; then
        _runner_offer "${(@)words[1,3]}" -- "${(@)words[4,CURRENT]}"
    else
        _files
    fi
}
compdef _runner runner
compdef _runner_python python python3
"""

FISH = r"""# Completion of `runner` and `python -m runner`, to stand in ~/.config/fish/conf.d
function __runner_offer
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l n 1
    test (count $words) -ge 3; and test "$words[2]" = -m; and set n 3
    $words[1..$n] completion words -- $words[(math $n + 1)..-1] "$current" 2>/dev/null
end
function __runner_is_module
    set -l words (commandline -opc)
    test (count $words) -ge 3; and test "$words[2]" = -m; and test "$words[3]" = runner
end
complete -c runner -f -a '(__runner_offer)'
for name in python python3
    complete -c $name -n __runner_is_module -f -a '(__runner_offer)'
end
"""

SCRIPTS: Mapping[str, str] = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def answer(words: Sequence[str], write: Callable[[str], object]) -> int:
    """Answer the script of a shell, whose words follow `--`. Errors are hidden: nobody wants a traceback while
    typing."""
    try:
        write("".join(f"{word}\n" for word in complete(words)))
    except (OSError, ValueError):
        return 1
    return 0
