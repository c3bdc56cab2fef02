"""``harness dashboard serve``: the site in a browser of this machine."""

from __future__ import annotations

import click

from harness.cli.dashboard.shared import CONFIG
from harness.errors import UsageError

HOST = "127.0.0.1"


@click.command("serve", short_help="Show the web site on this machine.")
@click.option("--config", **CONFIG)
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: any free one.")
def command(config: str | None, port: int) -> None:
    """Serve the site that `harness dashboard build` made, to this machine alone, until Ctrl-C."""
    import functools
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    from harness.dashboard import configuration

    folder = configuration.load(config or configuration.FILE_NAME).html_dir
    if not (folder / "index.html").exists():
        raise UsageError(f"there is no site in {folder}; make it first: harness dashboard build.")

    class Quiet(SimpleHTTPRequestHandler):
        """Files of the site; every request a line would bury the address."""

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its name in the library)
            """Say nothing."""

    try:
        server = ThreadingHTTPServer((HOST, port), functools.partial(Quiet, directory=str(folder)))
    except OSError as error:
        raise UsageError(
            f"--port: {port} cannot be used ({error.strerror}); name another, or 0 for any free one."
        ) from None
    with server:
        click.echo(f"http://{HOST}:{server.server_address[1]}/ (solvers side by side: /solvers.html); Ctrl-C stops it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            click.echo("stopped")
