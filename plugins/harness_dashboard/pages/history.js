/* What asv's own pages lack: a commit, or a project, that has no page on the web is no link. */

(() => {
  "use strict";
  const NO_PAGE = "#commit/"; // as front.py has it
  const leadsNowhere = (link) => (link.getAttribute("href") ?? "").startsWith(NO_PAGE) || (link.id === "project-name" && link.getAttribute("href") === "#");

  function mend(root) {
    for (const link of root.querySelectorAll("a[href]")) if (leadsNowhere(link)) link.removeAttribute("href");
  }

  document.addEventListener("DOMContentLoaded", () => {
    mend(document);
    new MutationObserver(() => mend(document)).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["href"] });
  });

  const open = window.open.bind(window); // a click on a point of a graph opens its commit
  window.open = (address, ...rest) => (String(address).startsWith(NO_PAGE) ? null : open(address, ...rest));
})();
