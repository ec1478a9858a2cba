import { jobErrors, requestErrors } from '#domain/errors.ts';
import { statusOfProblem } from '#platform/http/problem-response.ts';

// `/docs`: Swagger UI over `/openapi.json`, and the codes of problems and of failed jobs, to which problem documents
// link.

const style = `
:root{color-scheme:light dark}
body{margin:0;font:16px/1.5 system-ui,sans-serif}
:root.dark-mode body{background:#1c2022;color:#e4e6e6}
.codes{max-width:1460px;margin:0 auto;padding:0 20px 3rem}
.codes a{color:inherit}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0}
tr:target{outline:2px solid}`;

/** The page, HTML. */
export function docsPage(): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reelwright API</title>
<meta name="viewport" content="width=device-width,initial-scale=1">
<link rel="icon" href="favicon.ico" type="image/svg+xml">
<link rel="stylesheet" href="docs/swagger-ui.css"><style>${style}</style>
<script src="docs/swagger-ui.js" defer></script><script src="docs/reference.js" defer></script></head><body>
<div id="reference"></div>
<section class="codes"><h2 id="problems">Problems</h2>
<p>Refused requests are answered with <code>application/problem+json</code> (RFC 9457) and one of these codes.</p>
<div class="scroll"><table><tr><th>code</th><th>status</th><th>meaning</th></tr>${problemRows()}</table></div>
<h2 id="job-errors">Errors of failed jobs</h2>
<div class="scroll"><table><tr><th>code</th><th>retryable</th><th>meaning</th></tr>${jobErrorRows()}</table></div></section>
</body></html>`;
}

function problemRows(): string {
  const codes = Object.keys(requestErrors) as (keyof typeof requestErrors)[];
  const cells = codes.map((code) => [
    `problem-${code}`,
    code,
    statusOfProblem(code),
    requestErrors[code].publicMessage,
  ]);
  return cells.map(row).join('');
}

function jobErrorRows(): string {
  return Object.entries(jobErrors)
    .map(([code, { retryable, publicMessage }]) =>
      row([`error-${code}`, code, retryable ? 'yes' : 'no', publicMessage]),
    )
    .join('');
}

function row([id, code, ...cells]: readonly (string | number)[]): string {
  const rest = cells.map((cell) => `<td>${escapeHtml(String(cell))}</td>`).join('');
  return `<tr id="${id}"><td><code>${code}</code></td>${rest}</tr>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
