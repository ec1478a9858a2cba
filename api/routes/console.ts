import { readdir, readFile } from 'node:fs/promises';
import { extname, join, relative } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { addStaticFile, isServable } from '#platform/http/static-file.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { forBrowser, sharedModules } from './console-modules.ts';

// `/console/`: the page for people with an API key. It is static: all that it shows comes from the routes of the API,
// with the key that was typed in. The files are read at start and have fixed routes.

/**
 * Nothing of another host, no script or style in the page's text, and no page of another origin around it.
 *
 * @param uploadOrigin the S3 server that the page sends parts of files to; null for none
 */
const contentSecurityPolicy = (uploadOrigin: string | null) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self'${uploadOrigin === null ? '' : ` ${uploadOrigin}`}`,
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

export async function addConsoleRoutes(
  app: FastifyInstance,
  {
    config,
    uploads,
    webDir,
  }: Pick<ApiDependencies, 'uploads'> & {
    readonly config: Pick<ApiDependencies['config'], 'console'>;
    readonly webDir: string;
  },
): Promise<void> {
  const headers = {
    'content-security-policy': contentSecurityPolicy((await uploads?.parts.clientOrigin()) ?? null),
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
  const folder = join(webDir, 'console');
  app.get('/console', (_request, reply) => reply.redirect('console/', 308));
  // A browser keeps the fragment of the address.
  if (config.console === 'home') app.get('/', (_request, reply) => reply.redirect('console/', 302));
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !isServable(file)) continue;
    const name = relative(folder, file);
    const urls = name === 'index.html' ? ['/console/', '/console/index.html'] : [`/console/${name}`];
    const bytes = await readFile(file);
    const served = extname(name) === '.js' ? Buffer.from(forBrowser(bytes.toString(), name)) : bytes;
    addStaticFile(app, { urls, name, bytes: served, headers });
  }
  for (const [name, text] of await sharedModules())
    addStaticFile(app, { urls: [`/console/${name}`], name, bytes: Buffer.from(text), headers });
}
