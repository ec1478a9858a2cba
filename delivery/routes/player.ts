import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, relative, sep } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { addStaticFile, isServable } from '#platform/http/static-file.ts';

// The player page: the files of `web/`, and Shaka Player from its package. All files are read at start and
// have fixed routes, so no request can name another file.

const vendored = { address: 'vendor/shaka-player.js', file: 'shaka-player/dist/shaka-player.compiled.js' } as const;

/** The fragment of the page's address holds a token: only files of this server run, and nothing is sent elsewhere. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob: data:",
  "connect-src 'self' data:",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** `web/console/` is served by the surface `api`. */
const isOfConsole = (file: string) => file.startsWith(`console${sep}`);

export async function addPlayerRoutes(app: FastifyInstance, { webDir }: { readonly webDir: string }): Promise<void> {
  const require = createRequire(import.meta.url);
  const files = new Map<string, string>();
  for (const entry of await readdir(webDir, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && isServable(file) && !isOfConsole(relative(webDir, file)))
      files.set(relative(webDir, file), file);
  }
  files.set(vendored.address, require.resolve(vendored.file));

  app.get('/player', (_request, reply) => reply.redirect('player/', 308));
  for (const [address, file] of files) {
    const urls = address === 'index.html' ? ['/player/', '/player/index.html'] : [`/player/${address}`];
    const headers = {
      'content-security-policy': contentSecurityPolicy,
      // Pages of other origins load the element as a module.
      ...(address === 'element.js' && {
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
      }),
    };
    addStaticFile(app, { urls, name: address, bytes: await readFile(file), headers });
  }
}
