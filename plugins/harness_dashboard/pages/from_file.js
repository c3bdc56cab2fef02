/* A page that was opened as a file is given no modules: say so in the place of a blank page. A classic script, which is. */
if (location.protocol === "file:") document.getElementById("from-file").hidden = false;
