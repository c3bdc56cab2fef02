"""The reference, made from the code: a page says ``<!-- made: NAME -->`` where the text of that name is to stand.

What the code has no word about is a warning that names it, and so fails a build with ``-W``. So does a text that no page
shows.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import GenericAlias
from typing import Any

import click

import harness
from harness.call import request
from harness.cli import catalogue, commands, main
from harness.cli.describe import as_typed
from harness.datasets.files import FileSource
from harness.measure import outcome
from harness.registry import hookspecs
from harness.registry.discovery import Registry
from harness.run import record
from harness.support import parameters

HERE = Path(__file__).parent
CODE = Path(harness.__file__).parents[1]
MADE = [path for path in HERE.rglob("*.md") if "<!-- made: " in path.read_text()]
PAGES = tuple(path.relative_to(HERE).with_suffix("").as_posix() for path in MADE)
MODULES = ("harness.report",)
"""Modules that plugins import from, without public names."""
HOMES = {"names": "harness", "testing": "harness.testing", "estimators": "harness.estimators"}
"""Text of the public names of a module -> the module; the names of the other modules are one text."""
ITEM = re.compile(r"(`{0,2}[\w*]+`{0,2}(?:, `{0,2}[\w*]+`{0,2})*) : (.*)")
_MARKED = re.compile(r"(?::[\w:]+:)?(`{1,2})(?P<code>[^`]+)\1|[\\*_{}\[\]<>|$#]")
_NAMED = re.compile(r"(harness(?:\.[\w-]+)+)(\(.*?\)(?: -> .*?)?)?(?: is a (.*?))?(?: of .*|: (.*))?")
_FIELD = re.compile(r"^    (\w+)(?:: .+?| = .+?)  # (.*)$", re.MULTILINE)

missing: list[str] = []
"""What has no description, as far as texts were made."""


def described(what: str, text: str | None) -> str:
    """Return a description, or note ``what`` as undocumented if there is none."""
    if not (text or "").strip():
        missing.append(what)
    return text or ""


# -- from docstrings to Markdown ---------------------------------------------------------------------------


def line(text: str) -> str:
    """Return words of a docstring as one line of Markdown that shows them as they stand."""

    def escape(match: re.Match[str]) -> str:
        word = match["code"] and (match["code"].rpartition(".")[2] if match[0][0] == ":" else match["code"])
        return f"`{word}`" if word else f"\\{match[0]}"

    return " ".join(_MARKED.sub(escape, text).split())


def prose(doc: str) -> str:
    """Return a docstring as Markdown: paragraphs, lists, ``name : meaning``; what is set in stays as it was written."""
    parts = re.split(r"\n\s*\n", inspect.cleandoc(doc))
    return "\n\n".join(_paragraph(each.split("\n")) for each in parts if each.strip())


def _paragraph(lines: list[str]) -> str:
    title = ""
    if len(lines) > 1 and set(lines[1]) == {"-"}:
        title, lines = f"**{lines[0]}**\n\n", lines[2:]
    if not lines or lines[0].startswith((" ", "\b")):  # \b: click's mark of what is not to be filled
        text = inspect.cleandoc("\n".join(["", *lines]).replace("\b", ""))
        return title + code(text, "sh" if text.startswith(f"{commands.PROGRAM} ") else "text")
    parts: list[tuple[str, str]] = [("", "")]  # (what stands before a text, the text)
    for each in lines:
        item, bullet = ITEM.fullmatch(each), re.match(r"[*-] ", each)
        if item or bullet:
            names = ", ".join(f"`{name}`" for name in item[1].replace("`", "").split(", ")) if item else ""
            parts.append((f"* {names}: " if item else "* ", item[2] if item else each[2:]))
        else:
            parts[-1] = parts[-1][0], f"{parts[-1][1]} {each}"
    first, *items = [mark + line(text) for mark, text in parts]
    return title + "\n\n".join(filter(None, [re.sub(r"::$", ":", first), "\n".join(items)]))


def listed(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a definition list of (term in Markdown, meaning in Markdown)."""
    return "\n\n".join(f"{term}\n: {meaning.replace(chr(10), chr(10) + '  ')}" for term, meaning in pairs)


def named(kind: str, meanings: Mapping[Any, str | None]) -> str:
    """Return a definition list of names; one without a meaning is undocumented."""
    return listed((f"`{name}`", line(described(f"{kind} {name}", meaning))) for name, meaning in meanings.items())


def facts(known: Mapping[str, str]) -> str:
    """Return short facts as a list, without the empty ones."""
    return "\n".join(f"* {name}: {fact}" for name, fact in known.items() if fact)


def code(text: str, language: str = "python") -> str:
    """Return a block of code."""
    return f"```{language}\n{text}\n```"


def items(doc: str | None) -> dict[str, str]:
    """Return what a docstring says as ``name, name : meaning``, further lines of a meaning set in."""
    meanings: dict[str, str] = {}
    names: list[str] = []
    for each in inspect.cleandoc(doc or "").split("\n"):
        item = ITEM.fullmatch(each)
        names = item[1].replace("`", "").split(", ") if item else names if each.startswith("  ") else []
        for name in names:
            meanings[name] = item[2] if item else f"{meanings[name]} {each.strip()}"
    return meanings


def comments(cls: type) -> dict[str, str]:
    """Return the comment beside each field in the source of a class."""
    return dict(_FIELD.findall(inspect.getsource(cls)))


# -- one text each ------------------------------------------------------------------------------------------


def with_parameters(cls: Any, but: Iterable[str] = ()) -> str:
    """Return the parameters of a dataclass: type, range, default, meaning."""
    pairs = []
    for each in (each for each in parameters.parameters_of(cls) if each.name not in but):
        usual = "required" if each.default is MISSING else f"default `{as_typed(each.default)}`".replace("``", "empty")
        bounds = f" in {each.range}" if each.range else ""
        meaning = line(described(f"parameter {each.name} of {cls.__name__}", each.doc))
        pairs.append((f"`{each.name}` {line(each.type_name + bounds)}, {usual}", meaning))
    return listed(pairs)


def command_texts(command: Any, context: click.Context) -> Iterator[str]:
    """Yield what is said of a command with all its options, and of each of its sub-commands."""
    called, pairs = context.command_path, []
    for each in command.get_params(context):
        if isinstance(each, click.Option):
            each.hidden = False  # what a short help leaves out stands here
            names, meaning = each.get_help_record(context) or (each.name, "")
            pairs.append((f"`{names}`", line(described(f"option {each.opts[0]} of {called}", meaning))))
    yield f"{'###' if called.count(' ') > 1 else '##'} {called}"
    yield code(command.get_usage(context).removeprefix("Usage: "), "sh")
    yield prose(described(f"command {called}", command.help))
    yield listed(pairs)
    for name in command.list_commands(context) if isinstance(command, click.Group) else ():
        below = command.get_command(context, name)
        yield from command_texts(below, click.Context(below, info_name=name, parent=context))


def hooks(registry: Registry) -> str:
    """Return every hook with its signature, its docstring and the plugins that have it."""
    texts = []
    for name, hook in vars(hookspecs).items():
        if name.startswith("harness_"):
            users = ", ".join(f"`{each.plugin_name}`" for each in getattr(registry.manager.hook, name).get_hookimpls())
            shown = [code(f"def {name}{_signature(hook)}"), prose(described(f"hook {name}", hook.__doc__))]
            shown += [f"Plugins that come with the harness and have it: {users or 'none'}."]
            texts.append("\n\n".join([f"## {name}", *shown]))
    return "\n\n".join(texts)


def _signature(of: Any) -> str:
    """Return a function's signature, without addresses, and annotations without the quotes around them."""
    shown = str(inspect.signature(of)) if inspect.isfunction(of) else ""
    return re.sub(r""" at 0x\w+|(: |-> )(['"])(.*?)\2|<class '(.*?)'>""", r"\1\3\4", shown)


def public() -> dict[str, str]:
    """Return the public names as ``docs/public_names.txt`` has them, and the modules that plugins import from."""
    lines = (HERE / "public_names.txt").read_text().splitlines()
    rule = "\n".join(each.strip("# ") for each in lines if each.startswith("#")).partition("Write it anew")[0]
    read = [_NAMED.fullmatch(each) for each in lines if each.startswith("harness.")]
    missing.extend("a line of public_names.txt that cannot be read" for each in read if each is None)
    texts = defaultdict[str, list[str]](list)
    for name, signature, bases, attributes in (match.groups() for match in read if match is not None):
        home, _, own = name.rpartition(".")
        owner, members = resolve_name(home), [own]
        if inspect.ismodule(owner) and not attributes:
            value = getattr(owner, own)
            kind = f"class {own}({bases})\n\n".replace("(object)", "") if bases else ""
            shown = code(kind + _call(own, signature) if signature or not bases else kind.strip())
            is_plain = isinstance(value, GenericAlias) or not getattr(value, "__module__", "").startswith("harness")
            meaning = "" if is_plain else prose(described(f"public name {name}", _doc(value)))
            level = "##" if home in ("harness", "harness.estimators") else "###"
            texts[home].append(f"{level} {name}\n\n{shown}\n\n{meaning}")
            continue
        if attributes:
            owner, members = resolve_name(name), attributes.split(", ")
        else:
            home = home.rpartition(".")[0]
        pairs = [
            (f"`{_call(each, signature, length=999)}`", prose(described(f"public name {name}", _member(owner, each))))
            for each in members
            if each not in items(owner.__doc__)  # those stand above
        ]
        texts[home].append(listed(pairs))
    made = {name: "\n\n".join(texts.pop(home)) for name, home in HOMES.items()}
    modules = ["\n\n".join([f"## {home}", prose(import_module(home).__doc__ or ""), *texts[home]]) for home in texts]
    return {**made, "rule": prose(rule), "modules": "\n\n".join([*modules, *map(_module, MODULES)])}


def _call(name: str, signature: str | None, length: int = 90) -> str:
    """Return what is written to call a name, a parameter a line where it is long."""
    text = re.sub(r"\((?:self|cls)(?:: \w+)?(?:, )?", "(", signature or "").removesuffix(" -> None")
    if len(name + text) > length:
        inside, end = text[1:].rsplit(")", 1)
        text = "".join(["(", *(f"\n    {each}," for each in re.split(r", (?=\*|\w+: )", inside)), f"\n){end}"])
    return name + text


def _doc(value: Any) -> str:
    """Return a docstring, a class's own or inherited, empty where it is the one that dataclasses make up."""
    text = inspect.getdoc(value) or ""
    return "" if inspect.isclass(value) and text.startswith(f"{value.__name__}(") else text


def _member(cls: Any, name: str) -> str:
    """Return what is said of a member: by its own docstring, by its class's or a base's, by the comment beside it."""
    if issubclass(cls, str):
        return items(cls.__doc__).get(name) or comments(cls).get(cls(name).name, "")
    member = inspect.getattr_static(cls, name, None)
    if inspect.isroutine(member) or hasattr(member, "__get__"):
        return inspect.getdoc(getattr(member, "__func__", member)) or inspect.getdoc(getattr(cls, name)) or ""
    for base in cls.__mro__[:-1]:
        declared = getattr(base, "__dataclass_fields__", {}).get(name)
        beside = comments(base).get(name, "") if base.__module__.startswith("harness") else ""
        if text := (declared.metadata.get("doc") if declared else "") or items(base.__doc__).get(name) or beside:
            return text
    return ""


def _module(name: str) -> str:
    """Return a module's functions and classes, or those of the modules of a package."""
    module = import_module(name)
    inner = [path.stem for folder in getattr(module, "__path__", ()) for path in Path(folder).glob("[a-z]*.py")]
    own = [each for key, each in vars(module).items() if key == getattr(each, "__qualname__", "") and key[0] != "_"]
    own = [each for each in own if each.__module__ == name]
    pairs = [(f"`{of.__name__}{_signature(of)}`", prose(described(f"{name}.{of.__name__}", _doc(of)))) for of in own]
    shown = [f"## {name}", prose(described(f"module {name}", module.__doc__)), listed(pairs)]
    return "\n\n".join([*shown, *(_module(f"{name}.{each}").replace("## ", "### ", 1) for each in sorted(inner))])


def records() -> dict[str, str]:
    """Return the record's fields with their types and units, the points of its trace, statuses and what ended a run."""
    texts: list[str] = []
    for struct in (record.Request, record.Ending, record.Claims, record.CertifiedFigures):
        texts += [f"## {struct.__name__}", prose(inspect.getdoc(struct) or "")]
        for name in (each for each in struct.__annotations__ if each in record.FIELDS):
            unit, meaning = record.meaning(record.FIELDS[name])
            meaning = line(described(f"record field {name}", meaning))
            if record.TYPES[name] in (int, float):
                described(f"unit of the record field {name}", unit)
            kind = line(", ".join(filter(None, [record.TYPES[name].__name__, unit])))
            meaning = re.sub(
                r"^[a-z](?!\w*\\?_)", lambda match: match[0].upper(), meaning
            )  # a field's name stays as it is
            texts.append(f"### {name}\n\n*{kind}.* {meaning}.")
    trace = record.hints(outcome.TracePoint).items()
    points = {name: ", ".join(filter(None, record.meaning(hint)[::-1])) for name, hint in trace}
    ends = {each: _member(outcome.StoppedBy, each) for each in outcome.StoppedBy}
    return {
        "record": "\n\n".join(texts),
        "trace": named("field of a trace point", points),
        "limits": named("limit", {name: _member(outcome.Limits, name) for name in outcome.Limits.__annotations__}),
        "statuses": named("status", {each: _member(outcome.Status, each) for each in outcome.Status}),
        "stopped_by": named("what ended a run,", ends),
    }


def environment() -> str:
    """Return the environment variables with what each says; those that the code reads or passes to a function of its own."""
    read = r'(?:environ\[|environ\.get\(|getenv\()\s*"(\w+)"(?!\] = )|\w[(\[]\s*"(HARNESS_[A-Z_]+)"(?!\] = )'
    variables = {max(names) for names in re.findall(read, sources())}
    missing.extend(f"environment variable {name}" for name in sorted(variables - set(main.VARIABLES)))
    return named("environment variable", main.VARIABLES)


def sources() -> str:
    """Return the code of host and plugins, without its templates."""
    files = [file for part in ("harness", "plugins") for file in sorted((CODE / part).rglob("*.py"))]
    return "\n".join(file.read_text() for file in files if "templates" not in file.parts)


def exit_codes() -> str:
    """Return the exit codes with what each means."""
    values = ",".join(re.findall(r"^ *EXIT_.* = ([\d, ]+)", sources(), re.MULTILINE))
    missing.extend(f"exit code {each}" for each in sorted({*map(int, values.split(","))} - set(main.EXIT_CODES)))
    return named("exit code", main.EXIT_CODES)


def solvers(registry: Registry) -> str:
    """Return every solver by plugin and module, with its paper, what it solves and its parameters."""
    texts: list[str] = []
    for plugin, own in registry.solvers.items():
        about = registry.plugins[plugin].module.__doc__ or ""
        texts += [f"## Plugin {plugin}", prose(described(f"plugin {plugin}", about))]
        for name, cls in own.items():
            module = prose(sys.modules[cls.__module__].__doc__ or "")
            texts += [module] if module not in texts else []
            texts += [f"### {name}", prose(described(f"solver {name}", catalogue.docstring(cls) and cls.__doc__))]
            counted = "counted by the harness" if cls.observable else "not observable: it computes its own"
            known = {"Solves": links(registry, cls), "Kernel evaluations": counted}
            known |= {"Converges to the optimum": "yes" if cls.exact else "no"}
            known |= {"Requires": ", ".join(f"`{each}`" for each in cls.requires)}
            texts += [facts(known), with_parameters(cls)]
    return "\n\n".join(texts)


def links(registry: Registry, cls: Any) -> str:
    """Return links to the formulations that a solver solves."""
    return ", ".join(f"[{each.name}](formulations.md#{each.name})" for each in registry.solved_by(cls))


def solver_table(registry: Registry) -> str:
    """Return one line a solver: what it solves, whether to the optimum and counted, when to use it, its paper."""
    rows = ["| solver | solves | optimum | counted | use it | paper |", "| --- | --- | --- | --- | --- | --- |"]
    for name, cls in registry.things("solver").items():
        text = " ".join((cls.__doc__ or "").split())
        use, paper = (
            re.search(r"Use it (.+?)\.(?: |$)", text),
            re.search(r"Paper: (.+? \d{4})\.|No paper", text),
        )
        when = line(described(f"'Use it ...' of solver {name}", use and use[1]))
        source = described(f"'Paper: AUTHORS YEAR.' or 'No paper.' of solver {name}", paper and (paper[1] or "-"))
        marks = " | ".join("yes" if each else "no" for each in (cls.exact, cls.observable))
        rows.append(f"| [{name}](#{name}) | {links(registry, cls)} | {marks} | {when} | {line(source)} |")
    return "\n".join(rows)


def extras() -> str:
    """Return the extras of ``pyproject.toml``: the comment above each, and what it installs."""
    text = (CODE / "pyproject.toml").read_text()
    comments = {name: each for each, name in re.findall(r"^# (.+)\n(\w+) = \[", text, re.MULTILINE)}
    rows = ["| extra | for | installs |", "| --- | --- | --- |"]
    for name, needs in tomllib.loads(text)["project"]["optional-dependencies"].items():
        installs = ", ".join(re.split(r"[<>=]", each)[0] for each in needs)
        rows.append(f"| `{name}` | {line(described(f'extra {name}', comments.get(name)))} | {line(installs)} |")
    return "\n".join(rows)


def formulations(registry: Registry) -> dict[str, str]:
    """Return what the code says of each formulation; its mathematics is written by hand above."""
    texts = {}
    for name, cls in registry.formulations.items():
        solved = ", ".join(f"[{each}](solvers.md#{each})" for each in catalogue.solvers_of(registry, cls))
        feasible = line(described(f"constraints of {name}", cls.constraints))
        about_it = facts({"Task": cls.task, "Feasible": feasible, "Solved by": solved or "no solver that is installed"})
        about = prose(described(f"formulation {name}", catalogue.docstring(cls) and cls.__doc__))
        names = [each.name if each.name in record.TYPES else f"figures.{each.name}" for each in cls.columns]
        units = [f"{each.unit}: {each.meaning}".removeprefix(": ") for each in cls.columns]
        columns = named(f"column of {name}", dict(zip(names, units, strict=True)))
        texts[f"formulation {name}"] = "\n\n".join([about, about_it, with_parameters(cls.parameter_class), columns])
    return texts


def things(registry: Registry) -> dict[str, str]:
    """Return data sets, kernels, metrics and report formats."""
    common = [each.name for each in parameters.parameters_of(harness.DataSource)]
    texts = {"files": "\n\n".join([prose(described("files", FileSource.__doc__)), with_parameters(FileSource, common)])}
    texts["every data set"] = with_parameters(harness.DataSource)
    for kind in ("datasets", "kernels", "metrics", "formats"):
        parts = []
        for entry in catalogue.entries(registry, kind):
            described(f"{entry.kind} {entry.name}", entry.summary)
            parts += [f"## {entry.name}", prose(entry.summary if kind == "datasets" else _doc(entry.subject))]
            parts += [_meaning(entry.subject)] if kind == "metrics" else []
            parts += [with_parameters(entry.subject, common)] if kind in ("datasets", "kernels") else []
        texts[kind] = "\n\n".join(parts)
    return texts


def _meaning(metric: harness.Metric) -> str:
    better = {"low": "lower is better", "high": "higher is better", None: "nobody is ranked by it"}[metric.better]
    return f"In [{metric.low:g}, {metric.high:g}], {better}. For {metric.task or 'every task'}."


def texts() -> dict[str, str]:
    """Return every text by its name; what has no description is in :data:`missing` then."""
    missing.clear()
    registry = request.loaded(())
    missing.extend(f"plugin {name}: {each.reason}" for name, each in registry.broken.items())
    command = "\n\n".join(command_texts(main.cli, click.Context(main.cli, info_name=commands.PROGRAM)))
    made = {"command": command, "environment": environment(), "exit codes": exit_codes(), "extras": extras()}
    made |= {"hooks": hooks(registry), "solvers": solvers(registry), "solver table": solver_table(registry)}
    return made | public() | records() | formulations(registry) | things(registry)


# -- Sphinx -------------------------------------------------------------------------------------------------


def setup(app: Any) -> dict[str, Any]:
    """Make the texts as the build begins, put them into the pages, and warn of what is not there."""
    from sphinx.util import logging

    log = logging.getLogger("made")
    made: dict[str, str] = {}
    shown: set[str] = set()

    def make(_app: Any) -> None:
        made.update(texts())
        for each in missing:
            log.warning("undocumented: %s", each)

    def place(_app: Any, page: str, source: list[str]) -> None:
        def text(match: re.Match[str]) -> str:
            shown.add(match[1])
            if match[1] not in made:
                log.warning("nothing is made of the name %s", match[1], location=page)
            return made.get(match[1], "")

        source[0] = re.sub(r"<!-- made: ([\w -]+?) -->", text, source[0])

    def check(_app: Any, _environment: Any) -> None:
        for each in sorted(set(made) - shown):
            log.warning("no page shows what is made of: %s", each, type="made", subtype="unseen")

    app.connect("builder-inited", make)
    app.connect("env-get-outdated", lambda *_: list(PAGES))  # the code may have changed where the page has not
    app.connect("source-read", place)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
