from pathlib import Path

PLUGINS = Path(__file__).parent
