"""What the pages are written with: formulas as MathML, which browsers draw by themselves, and files of the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

ROOT = Path(__file__).resolve().parents[1]
log = logging.getLogger(__name__)


def formula(self: Any, node: nodes.Node) -> None:
    """Write one formula, within a line or as a block; a warning names one that cannot be read."""
    block, text = isinstance(node, nodes.math_block), node.astext()
    try:
        mathml = tex2mathml(text, as_block=block)
    except MathError as error:
        log.warning("not a formula that can be drawn: %s (%s)", text, error, location=node)
        mathml = self.encode(text)
    self.body.append(f'<div class="mathml">{mathml}</div>\n' if block else mathml)
    raise nodes.SkipNode


class Repository(SphinxRole):
    """``{repo}`plugins/NOTATION.md```: a file of the repository, which has to be there."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return the path as code."""
        if not (ROOT / self.text).exists():
            log.warning("there is no %s in the repository", self.text, location=self.get_location())
        return [nodes.literal(self.text, self.text)], []


def setup(app: Any) -> dict[str, Any]:
    """Tell Sphinx of both."""
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.add_role("repo", Repository())
    return {"parallel_read_safe": True, "parallel_write_safe": True}
