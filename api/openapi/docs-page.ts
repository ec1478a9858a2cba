import { requestErrors } from '#domain/errors.ts';
import { jobErrors } from '#domain/errors.ts';
import { statusOfProblem } from '#platform/http/problem-response.ts';
import { openApiDocument, pathOf } from './document.ts';
import type { DocumentedRoute } from '#platform/http/route-doc.ts';

// `/docs`: the OpenAPI document as one HTML page, without scripts and without requests to other hosts.

const style = `
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
h2{margin-top:3rem}h3{margin-top:2rem;font-family:ui-monospace,monospace;font-size:1rem}
code,pre{font-family:ui-monospace,monospace;font-size:.875rem}
pre{overflow:auto;padding:1rem;border:1px solid #8884;border-radius:.5rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0}
.method{display:inline-block;min-width:4rem;font-weight:700}`;

/** The page, HTML. */
export function docsPage(routes: readonly DocumentedRoute[]): string {
  const { components } = openApiDocument(routes) as { components: { schemas: Record<string, unknown> } };
  const tags = [...new Set(routes.map(({ doc }) => doc.tag))];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reelwright API</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><style>${style}</style></head><body>
<h1>Reelwright API</h1>
<p>The same as a document for programs: <a href="/openapi.json">/openapi.json</a> (OpenAPI 3.1).</p>
${tags
  .map(
    (tag) =>
      `<h2>${tag}</h2>${routes
        .filter(({ doc }) => doc.tag === tag)
        .map(routeSection)
        .join('')}`,
  )
  .join('')}
<h2>Problems</h2><p>Refused requests are answered with <code>application/problem+json</code> (RFC 9457).</p>
<table><tr><th>code</th><th>status</th><th>meaning</th></tr>${problemRows()}</table>
<h2>Errors of jobs</h2><table><tr><th>code</th><th>retryable</th><th>meaning</th></tr>${jobErrorRows()}</table>
<h2>Shapes</h2>${Object.entries(components.schemas).map(shapeSection).join('')}
</body></html>`;
}

function routeSection({ method, url, doc }: DocumentedRoute): string {
  const answers = Object.entries(doc.answers).map(([status, { description, schemas = [] }]) => {
    const shapes = schemas.map((name) => `<a href="#shape-${name}">${name}</a>`).join(' or ');
    return `<tr><td>${status}</td><td>${escapeHtml(description)} ${shapes}</td></tr>`;
  });
  const problems = doc.problems.map(
    (code) => `<tr><td>${statusOfProblem(code)}</td><td><a href="#problem-${code}">${code}</a></td></tr>`,
  );
  const body = doc.body === undefined ? '' : `<p>Body: <a href="#shape-${doc.body.name}">${doc.body.name}</a></p>`;
  const example = doc.body?.example === undefined ? '' : pre(doc.body.example);
  return `<section><h3><span class="method">${method}</span> ${escapeHtml(pathOf(url))}</h3>
<p>${escapeHtml(doc.summary)}. ${escapeHtml(doc.description ?? '')}</p>${body}${example}
<table>${answers.join('')}${problems.join('')}</table></section>`;
}

function problemRows(): string {
  const codes = Object.keys(requestErrors) as (keyof typeof requestErrors)[];
  return codes
    .map((code) => {
      const cells = [`<code>${code}</code>`, statusOfProblem(code), escapeHtml(requestErrors[code].publicMessage)];
      return `<tr id="problem-${code}">${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr>`;
    })
    .join('');
}

function jobErrorRows(): string {
  return Object.entries(jobErrors)
    .map(
      ([code, { retryable, publicMessage }]) =>
        `<tr><td><code>${code}</code></td><td>${retryable ? 'yes' : 'no'}</td><td>${escapeHtml(publicMessage)}</td></tr>`,
    )
    .join('');
}

function shapeSection([name, schema]: [string, unknown]): string {
  return `<details id="shape-${name}"><summary><code>${name}</code></summary>${pre(schema)}</details>`;
}

function pre(value: unknown): string {
  return `<pre>${escapeHtml(JSON.stringify(value, null, 2))}</pre>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
