"""The blocks of code of a Markdown page, found by sybil; ``python blocks.py PAGE`` runs them, see test_blocks.py for the rules."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import SkipTest

from sybil import Document, Example, Region
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown.lexers import RawFencedCodeBlockLexer
from sybil.parsers.myst import CodeBlockParser, SkipParser

TITLE = re.compile(r"(?:#|//|--|%) ([\w./-]+\.\w+)\n")
FILE = re.compile(r"<!-- file: (\S+) -->\n\Z")
ENDS = re.compile(r"^(.*\S) +# exit code (\d+)$", re.MULTILINE)
python = PythonEvaluator()


class Blocks(CodeBlockParser):
    """Every block, whatever its language; directives are none."""

    language = "any"

    def __call__(self, document: Document) -> Iterator[Region]:
        for region in (*self.lexers(document), *RawFencedCodeBlockLexer()(document)):
            if not region.lexemes.setdefault("arguments", "").startswith("{"):
                region.parsed, region.evaluator = region.lexemes["source"], evaluate
                yield region


def file_of(example: Example) -> str:
    """Return the file that a block is written to; empty if it is run."""
    named = TITLE.match(example.parsed) or FILE.search(example.document.text[: example.start])
    return named[1] if named else ""


def evaluate(example: Example) -> None:
    language, source, name = example.region.lexemes["arguments"], example.parsed, file_of(example)
    if name:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(source)
    elif language == "python":
        python(example)
    elif language == "sh":
        lines = ENDS.sub(r"code=0; { \1; } || code=$?; [ $code = \2 ]", source.replace("\\\n", " "))
        script = f"set -euo pipefail\ntrap 'echo \"failed: $BASH_COMMAND\" >&2' ERR\n{lines}"
        code = subprocess.run(["bash", "-c", script], check=False).returncode
        assert code == 0, f"{example.path}:{example.line}: exit code {code}"


def document(page: Path) -> Document:
    return Document.parse(str(page), Blocks(), SkipParser())


def examples(page: Path) -> list[Example]:
    """Return the blocks of a page, those that are not run too."""
    return [each for each in document(page).examples() if each.region.evaluator is evaluate]


def blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of a page in one language."""
    return [str(each.parsed) for each in examples(page) if each.region.lexemes["arguments"] == language]


if __name__ == "__main__":
    sys.path[0] = ""  # what a page imports is what it has written
    for each in document(Path(sys.argv[1])).examples():
        try:
            each.evaluate()
        except SkipTest as reason:
            print(f"{each.path}:{each.line}: not run: {reason}")
