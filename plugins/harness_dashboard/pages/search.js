/* A box that finds pages, solvers, data sets and words: links below it, for mouse and keyboard. */

import { make } from "./parts.js";

const MOST = 12;
let entries = [];

/* What can be found from now on: [kind, name, address]. */
export function findable(found) {
  entries = found;
}

/* The entries with every one of the words in their names; first those that begin with what was typed. */
function matching(typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const found = entries.map((entry) => ({ entry, name: entry[1].toLowerCase() })).filter(({ name }) => words.every((word) => name.includes(word)));
  return found.sort((a, b) => b.name.startsWith(words[0]) - a.name.startsWith(words[0]) || a.name.length - b.name.length).map(({ entry }) => entry);
}

/* Make the box work. The arrows go through what was found, Enter takes the first, Escape leaves; "/" leads to the box. */
export function search(box, list, told) {
  const close = () => { list.hidden = true; told.textContent = ""; };
  function show() {
    const found = matching(box.value);
    list.replaceChildren(...found.slice(0, MOST).map(([kind, name, address]) => make("li", {}, make("a", { href: address }, name, make("small", {}, kind)))),
      ...(found.length > MOST ? [make("li", { class: "soft" }, `and ${found.length - MOST} more: type more of the name`)] : []),
      ...(!found.length && box.value.trim() ? [make("li", { class: "soft" }, "Nothing has this name.")] : []));
    list.hidden = !list.childElementCount;
    told.textContent = list.hidden ? "" : `${found.length} found`;
  }
  const links = () => [box, ...list.querySelectorAll("a")];
  function walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      box.focus();
      close();
    } else if (event.key === "Enter" && event.target === box) {
      event.preventDefault();
      links()[1]?.click();
    } else if (step && !list.hidden) {
      event.preventDefault();
      const all = links();
      all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
    }
  }
  box.addEventListener("input", show);
  box.addEventListener("focus", show);
  for (const each of [box, list]) each.addEventListener("keydown", walk);
  list.addEventListener("click", (event) => {
    if (!event.target.closest("a")) return;
    box.value = "";
    close();
  });
  document.addEventListener("click", (event) => { if (!event.target.closest("search, [role=search]")) close(); });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
    event.preventDefault();
    box.focus();
  });
}
