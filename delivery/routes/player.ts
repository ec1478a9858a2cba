import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { matchesEtag } from '#platform/http/request-headers.ts';

// The player page: the files of `web/`, and the players that it loads, out of the installed packages. No file is looked
// up by what a request says: all of them are read at start, and their addresses are routes.

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
};

/** Address below `/player/` → the file in its package. */
const vendored = {
  'vendor/shaka-player.js': 'shaka-player/dist/shaka-player.compiled.js',
  'vendor/hls.js': 'hls.js/dist/hls.min.js',
} as const;

export async function addPlayerRoutes(app: FastifyInstance, { webDir }: { readonly webDir: string }): Promise<void> {
  const require = createRequire(import.meta.url);
  const files = new Map<string, string>();
  for (const entry of await readdir(webDir, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && extname(file) in contentTypes) files.set(file.slice(webDir.length).replace(/^\/+/, ''), file);
  }
  for (const [address, specifier] of Object.entries(vendored)) files.set(address, require.resolve(specifier));

  app.get('/player', (_request, reply) => reply.redirect('/player/', 308));
  for (const [address, file] of files) {
    const bytes = await readFile(file);
    const headers = {
      'content-type': contentTypes[extname(file)] ?? 'application/octet-stream',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
    };
    const urls = address === 'index.html' ? ['/player/', '/player/index.html'] : [`/player/${address}`];
    for (const url of urls)
      app.get(url, (request, reply) => {
        reply.headers(headers);
        const isKnown = matchesEtag(request.headers['if-none-match'], headers.etag);
        return isKnown ? reply.code(304).send() : reply.send(bytes);
      });
  }
}
