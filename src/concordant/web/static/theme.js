// The chosen colour scheme, before anything is drawn.
try {
  const scheme = localStorage.getItem("scheme");
  if (scheme === "light" || scheme === "dark") document.documentElement.classList.add(scheme);
} catch { /* a private window keeps no choice */ }
