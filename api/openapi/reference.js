// Runs in the browser, on `/docs`: mounts Swagger UI above the tables of codes.

const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');
const showTheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches);
prefersDark.addEventListener('change', showTheme);
showTheme();

// The row of the fragment moves down while Swagger UI renders, so it is scrolled into view until the reader does
// something. Swagger UI rewrites the fragment, so it is read first.
const named = location.hash.startsWith('#problem-') ? document.getElementById(location.hash.slice(1)) : null;
if (named) {
  const observer = new ResizeObserver(() => named.scrollIntoView());
  observer.observe(document.getElementById('reference'));
  for (const input of ['wheel', 'touchstart', 'pointerdown', 'keydown'])
    window.addEventListener(input, () => observer.disconnect(), { once: true });
}

window.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  filter: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  requestSnippetsEnabled: true,
  validatorUrl: null,
});
