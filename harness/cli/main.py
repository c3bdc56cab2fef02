"""The ``harness`` command itself: finds its sub-commands, turns errors into sentences and exit codes.

``harness --help`` imports this module, click and at most one sub-command's options, nothing numerical.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import signal
import sys
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

import click

import harness
from harness.cli import options
from harness.cli.commands import PROGRAM, LazyGroup
from harness.report.output import give_up, say
from harness.support.errors import HarnessError, NotKept, PluginError, UsageError
from harness.support.printable import plain_line

if TYPE_CHECKING:
    from collections.abc import Sequence

VARIABLES = {
    "HARNESS_STORE": "the default result store; `harness results --path` prints it",
    "HARNESS_DATA": "a folder of raw files of the papers' data sets, searched before that of `harness data fetch`",
    "HARNESS_CACHE": "the folder of what can be made again: fetched files, parsed data, points given in memory",
    "HARNESS_MACHINE": "a name of this machine's class, where machines with the same processor differ in speed",
    "NUMBA_CACHE_DIR": "the folder of compiled code",
    "HARNESS_DISABLE_PLUGINS": "plugins that are not loaded, a list of names",
    "HARNESS_DEBUG": "1: the traceback of an error",
    "COLUMNS": "the width of tables, where they go into a pipe",
    "NO_COLOR": "1: no bold text",
    "TERM": "dumb: no bold text either",
    "TMPDIR": "the folder in which each run's own folder is made",
}
"""The environment variables of the command: name -> meaning."""

EXIT_USAGE, EXIT_NOT_KEPT, EXIT_FAULT, EXIT_INTERRUPTED = 2, 3, 70, 130
EXIT_CODES = {
    0: "all well",
    1: "a run or a check failed, or all were skipped",
    EXIT_USAGE: "bad usage or bad data",
    EXIT_NOT_KEPT: "results could not be stored",
    EXIT_FAULT: "a fault of the harness or of a plugin",
    EXIT_INTERRUPTED: "interrupted",
}
"""Exit code -> meaning."""


class Program(LazyGroup):
    """The command itself: its errors become sentences and exit codes."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run the command and exit: no error leaves a traceback, each kind has its exit code."""
        try:
            _check_environment(extra.get("args") or sys.argv[1:])
            code = super().main(*args, **{"prog_name": PROGRAM, **extra, "standalone_mode": False})
        except (Exception, KeyboardInterrupt) as error:
            message, code = _ending(error)
            faulty = code == EXIT_FAULT or isinstance(error, OSError)
            if faulty and os.environ.get("HARNESS_DEBUG", "") not in ("", "0"):
                raise
            say(f"{PROGRAM}: {message}")
        sys.exit(code if isinstance(code, int) else 0)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the environment variables, then the exit codes."""
        with formatter.section("Environment variables"):
            formatter.write_dl(list(VARIABLES.items()))
        super().format_epilog(ctx, formatter)


def _check_environment(arguments: Sequence[str]) -> None:
    """Raise UsageError if the working directory was deleted, or a name cannot be written into records."""
    try:
        names = [*arguments, os.getcwd()]  # noqa: PTH109 (no path is made of it)
    except FileNotFoundError:
        raise UsageError("the working directory was deleted; change to one that exists.") from None
    for name in names:
        if any("\ud800" <= letter <= "\udfff" for letter in name):  # how Python passes on bytes that it cannot decode
            raise UsageError(
                f"the name {plain_line(name)!r} is not valid {sys.getfilesystemencoding()}; rename the file or folder, or "
                "set LC_ALL=C.UTF-8 if the name is UTF-8."
            )


def _open_streams() -> None:
    """Open standard streams that the caller closed (``>&-``) on the null device: no other file then takes their numbers."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (open until the command ends)


def _ending(error: BaseException) -> tuple[str, int]:
    """Return the sentence and the exit code of an error that ends the command."""
    match error:
        case click.ClickException():
            return _usage(error), EXIT_USAGE
        case NotKept():
            return str(error), EXIT_NOT_KEPT
        case PluginError():
            return str(error), EXIT_FAULT
        case HarnessError():
            return str(error), EXIT_USAGE
        case click.Abort() | KeyboardInterrupt():  # click passes on an interrupt as Abort; the interrupt names a plugin
            place = error.__cause__.args if error.__cause__ else ()
            return f"{' '.join(['interrupted', *map(str, place)])}.", EXIT_INTERRUPTED
        case OSError():
            _flush_output()
            return f"{': '.join(str(part) for part in (error.filename, error.strerror or error) if part)}.", EXIT_USAGE
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return f"internal error: {text}; set HARNESS_DEBUG=1 for the traceback", EXIT_FAULT


def _flush_output() -> None:
    """Write what click has not written yet; a standard output that cannot be written is given up."""
    try:
        sys.stdout.flush()
    except OSError:
        give_up(sys.stdout)


def _heed_interrupts() -> None:
    """Raise KeyboardInterrupt at the first SIGINT; end the command at the second, as ending its processes may take seconds.

    The processes of runs end with this one. A command that was started to ignore interrupts ignores them.
    """

    def first(_number: int, _frame: object) -> NoReturn:
        signal.signal(signal.SIGINT, second)
        raise KeyboardInterrupt

    def second(_number: int, _frame: object) -> NoReturn:
        shown_again = b"\r\x1b[2K\x1b[?25h" if os.isatty(2) else b""  # the cursor, which a live display hides
        os.write(2, shown_again + b"harness: interrupted twice; ended at once.\n")
        os._exit(EXIT_INTERRUPTED)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, first)
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # last of all: else the signal is the exit code


def _usage(error: click.ClickException) -> str:
    """Return click's error as one sentence, followed by the help to read."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else PROGRAM
    return f"{message}{'' if message.endswith(('?', '?)')) else '.'} See `{path} --help`."


@click.command(
    cls=Program,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog=f"Exit codes: {', '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}.",
)
@click.version_option(harness.__version__, prog_name="svm-harness")
@click.option("--plugin-path", is_eager=True, **options.PLUGIN_PATH)
@click.pass_context
def cli(ctx: click.Context, /, **_given: Any) -> None:
    """Measure SVM training algorithms side by side.

    \b
      harness compare --plugins lasvm,fw
      harness compare --plugins smo,libsvm --datasets ./my_data.csv

    Solvers are plugins. The harness counts their kernel evaluations, limits their time and memory, and certifies what
    they return.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(EXIT_USAGE)


def _begin(words: str) -> None:
    """Start the processes of a comparison while its options are read, which takes as long as their imports.

    A study sets the number of their threads; an executor starts them elsewhere.
    """
    if words.startswith("compare ") and not re.search(r"--(help|dry-run|study|executor)\b|(^| )-h\b", words):
        from harness.run import host_process

        threads = re.search(r"--threads[ =](\d+)", words)
        host_process.begin(int(threads[1]) if threads else 1, fork=True)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Entry point of the command."""
    _open_streams()
    try:
        _begin(" ".join(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    # only now: what was forked above is as Python starts a process
    gc.set_threshold(100_000)  # new objects before a search for garbage: imports make many, and no garbage
    warnings.formatwarning = lambda message, *_args, **_keywords: f"{PROGRAM}: warning: {plain_line(str(message))}\n"
    _heed_interrupts()
    try:
        cli.main(args=arguments)
    finally:
        gc.freeze()  # the interpreter looks for garbage as it ends
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # nothing is written any more
            signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))
    raise AssertionError("unreachable: main exits")


if __name__ == "__main__":
    main()
