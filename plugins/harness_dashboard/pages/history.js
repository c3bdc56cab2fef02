/* What asv's own pages lack: a commit, or a project, that has no page on the web is no link; dark where ours are dark. */

(() => {
  "use strict";
  const NO_PAGE = /^#[0-9a-f]{8,}$/; // asv puts the hash of a commit behind its setting show_commit_url, which is "#" where there is none
  const leadsNowhere = (link) => NO_PAGE.test(link.getAttribute("href")) || (link.id === "project-name" && link.getAttribute("href") === "#");

  function mend(root) {
    for (const link of root.querySelectorAll("a[href]")) if (leadsNowhere(link)) link.removeAttribute("href");
  }

  document.addEventListener("DOMContentLoaded", () => {
    mend(document);
    new MutationObserver(() => mend(document)).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ["href"] });
  });

  const dark = matchMedia("(prefers-color-scheme: dark)");
  function theme() {
    let own = null;
    try { own = localStorage.getItem("theme"); } catch { /* a browser may forbid it */ }
    document.documentElement.dataset.theme = own || (dark.matches ? "dark" : "light");
  }
  dark.addEventListener("change", theme);
  theme();

  const open = window.open.bind(window); // a click on a point of a graph opens its commit
  window.open = (address, ...rest) => (NO_PAGE.test(address) ? null : open(address, ...rest));
})();
