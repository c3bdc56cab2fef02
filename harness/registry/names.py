"""Names of what plugins register: one that several plugins have is ``plugin/name`` for each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness.support.errors import UsageError


@dataclass
class NameTable:
    """The things of one kind by name, or by ``plugin/name`` where several plugins have the name; built-in ones keep theirs.

    things : name -> thing
    owners : name -> plugin; names that it has from the beginning are those of the harness itself
    kind : what the things are called in messages
    folded : returns what is the same for equal names
    """

    things: dict[str, Any] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    kind: str = ""
    folded: Callable[[str], str] = str

    def __post_init__(self) -> None:
        self._built_in = set(self.owners)

    def add(self, name: str, thing: Any, plugin: str, *, built_in: bool) -> None:
        """Add a thing of a plugin; ``built_in`` : whether the plugin comes with the harness, and so is not renamed."""
        rivals = self.rivals(name)
        bare = next((rival for rival in rivals if "/" not in rival), None)
        if bare is not None and bare not in self._built_in:
            owner = self.owners.pop(bare)
            self.things[f"{owner}/{bare}"], self.owners[f"{owner}/{bare}"] = self.things.pop(bare), owner
        key = f"{plugin}/{name}" if bare in self._built_in or (rivals and not built_in) else name
        self.things[key], self.owners[key] = thing, plugin
        if built_in:
            self._built_in.add(key)

    def rivals(self, name: str) -> list[str]:
        """Return the names of all things that are called ``name``."""
        return [key for key in self.owners if self.folded(key.rpartition("/")[2]) == self.folded(name)]

    def resolve(self, name: str) -> str:
        """Return the name of the thing that ``name`` or ``plugin/name`` means, or ``name`` if nothing is called so.

        Raises
        ------
        UsageError : several plugins have a thing of this name.
        """
        plugin, _, bare = name.rpartition("/")
        if name in self.owners or plugin:
            return bare if plugin and self.owners.get(bare) == plugin else name
        if len(rivals := sorted(self.rivals(name))) > 1:
            owners = " and ".join(self.owners[rival] for rival in rivals)
            raise UsageError(f"{self.kind} '{name}' is in several plugins, {owners}; write {' or '.join(rivals)}.")
        return name
