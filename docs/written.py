"""What the pages are written with: formulas as MathML, lines of code that wrap, plots, and files of the repository."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from pygments.formatters import HtmlFormatter
from sphinx.highlighting import PygmentsBridge
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

ROOT = Path(__file__).resolve().parents[1]
_ARGUMENT = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
UNBRACED = re.compile(
    rf"(?:\\(?:[cdt]?frac|[dt]?binom)(?:\s*{_ARGUMENT})?|\\(?:sqrt|hat|bar|tilde|vec|dot|overline|underline|math\w+)|[_^])\s*\d\d+"
)
"""An argument of several digits without braces: the first digit alone to TeX, and to docutils all of them."""
log = logging.getLogger(__name__)


def formula(self: Any, node: nodes.Node) -> None:
    """Write one formula, within a line or as a block; a warning names one that cannot be read, or is read otherwise than by TeX."""
    block, text = isinstance(node, nodes.math_block), node.astext()
    if ambiguous := UNBRACED.search(text):
        log.warning("put the arguments in braces: %s in the formula %s", ambiguous[0], text, location=node)
    try:
        mathml = tex2mathml(text, as_block=block)
    except MathError as error:
        log.warning("not a formula that can be drawn: %s (%s)", text, error, location=node)
        mathml = self.encode(text)
    self.body.append(f'<div class="mathml">{mathml}</div>\n' if block else mathml)
    raise nodes.SkipNode


class Lines(HtmlFormatter[str]):
    """The formatter of code: each line is an element with its indentation, so that it can wrap; options do not break."""

    def wrap(self, source: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """Wrap each line of code."""
        yield from super().wrap((kind, _line(text) if kind else text) for kind, text in source)


def _line(text: str) -> str:
    written = re.sub(r"<[^>]+>", "", text)
    text = re.sub(r"(?<=[\s>])--?\w[\w-]*", r'<span class="option">\g<0></span>', text)
    return f'<span class="line" style="--indent: {len(written) - len(written.lstrip(" "))}ch">{text}</span>'


class Plot(SphinxDirective):
    """``{plot} What the picture shows``: lines of Python whose last one is a figure; the build runs them and shows both.

    The plots of a page share their names. ``:hidden:`` shows the picture alone.
    """

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"hidden": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return the lines and the picture."""
        source, alt = "\n".join(self.content), self.arguments[0]
        names = self.env.temp_data.setdefault("names of plots", {})
        folder = Path(self.env.doctreedir).resolve() / "plots"
        folder.mkdir(exist_ok=True)
        picture = folder / f"{self.env.docname.replace('/', '-')}-{self.env.new_serialno('plot')}.svg"
        lines = nodes.literal_block(source, source, language="python")
        try:
            figure_of(source, names).savefig(picture, bbox_inches="tight")
        except Exception as error:
            log.warning("the plot cannot be drawn: %r", error, location=self.get_location())
            return [lines]
        image = nodes.image(uri=f"/{os.path.relpath(picture, self.env.srcdir)}", alt=alt, classes=["plot"])
        self.set_source_info(lines)
        return [image] if "hidden" in self.options else [lines, image]


def figure_of(source: str, names: dict[str, Any]) -> Any:
    """Run lines of Python, and return the value of the last expression."""
    *statements, last = ast.parse(source).body
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(ast.Module(statements, []), "<plot>", "exec"), names)
        return eval(compile(ast.Expression(last.value), "<plot>", "eval"), names)  # type: ignore[attr-defined]


class Repository(SphinxRole):
    """``{repo}`plugins/NOTATION.md```: a file of the repository, which has to be there."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the path as code."""
        if not (ROOT / self.text).exists():
            log.warning("there is no %s in the repository", self.text, location=self.get_location())
        return [nodes.literal(self.text, self.text)], []


def setup(app: Any) -> dict[str, Any]:
    """Register all of them with Sphinx; what plots measure is stored beside the pages that are built."""
    os.environ |= {"HARNESS_STORE": f"{app.doctreedir}/plots.sqlite", "MPLBACKEND": "agg"}
    PygmentsBridge.html_formatter = Lines
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.add_role("repo", Repository())
    app.add_directive("plot", Plot)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
