import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { addStaticFile } from './static-file.ts';

// `/`: links to the pages that this server has, and the icon of all of them.

const pages = [
  { url: '/console/', title: 'Console', text: 'jobs and media, for people with an API key' },
  { url: '/player/', title: 'Player', text: 'plays a stream of this service' },
  { url: '/docs', title: 'API reference', text: 'every route, with a form to try it' },
  { url: '/openapi.json', title: 'OpenAPI document', text: 'for generated clients' },
  { url: '/readyz', title: 'Readiness', text: 'whether database, queue and buckets can be reached' },
  { url: '/metrics', title: 'Metrics', text: 'in the Prometheus text format' },
];

const style = `
:root{color-scheme:light dark;background:light-dark(#fff,#14171f);color:light-dark(#1a2033,#e9ecf4)}
a{color:light-dark(#2745b8,#9db2ff)}
body{font:16px/1.6 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}
h1{display:flex;align-items:center;gap:.6rem;font-size:1.5rem}`;

/** Adds `/`, unless another page is there, and `/favicon.ico`, after all other routes. */
export async function addHomePage(app: FastifyInstance): Promise<void> {
  const icon = await readFile(join(import.meta.dirname, '../../web/icon.svg'));
  addStaticFile(app, { urls: ['/favicon.ico'], name: 'icon.svg', bytes: icon });
  if (app.hasRoute({ method: 'GET', url: '/' })) return;
  const links = pages
    .filter(({ url }) => app.hasRoute({ method: 'GET', url }))
    .map(({ url, title, text }) => `<li><a href="${url.slice(1)}">${title}</a>: ${text}</li>`);
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reelwright</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="favicon.ico" type="image/svg+xml">
<style>${style}</style></head><body><main>
<h1><img src="favicon.ico" alt="" width="32" height="32"> Reelwright</h1>
<p>Media processing and delivery. This server has:</p>
<ul>${links.join('\n')}</ul>
</main></body></html>`;
  const styleHash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; img-src 'self'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`;
  const headers = { 'content-security-policy': policy };
  addStaticFile(app, { urls: ['/'], name: 'index.html', bytes: Buffer.from(html), headers });
}
