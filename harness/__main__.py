"""``python -m harness``: the command, where its script is not on the path."""

from harness.cli.main import main

if __name__ == "__main__":
    main()
