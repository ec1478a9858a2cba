import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { onTestFinished } from 'vitest';

// The pages of examples/players, served from another origin than the service's, with the libraries from
// node_modules instead of the CDN.

const checkout = join(import.meta.dirname, '..');
const libraries: Record<string, string> = {
  'shaka-player.compiled.js': 'node_modules/shaka-player/dist/shaka-player.compiled.js',
  'dash.all.min.js': 'node_modules/dashjs/dist/modern/umd/dash.all.min.js',
  'hls.min.js': 'node_modules/hls.js/dist/hls.min.js',
  'video.min.js': 'node_modules/video.js/dist/video.min.js',
  'video-js.min.css': 'node_modules/video.js/dist/video-js.min.css',
};

interface GuidePage {
  /** The name of the page without `.html`. */
  readonly player: string;
  readonly baseUrl: string;
  readonly hash: string;
  readonly tokenSecret: string;
  /** A change to the page. */
  readonly change?: (html: string) => string;
}

/** Serves a page until the test ends. @returns its address */
export async function serveGuidePage({ player, baseUrl, hash, tokenSecret, change }: GuidePage): Promise<string> {
  const source = await readFile(join(checkout, 'examples/players', `${player}.html`), 'utf8');
  const token = signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + 600 }, tokenSecret);
  const written = source
    .replaceAll(/https:\/\/cdn\.jsdelivr\.net\/npm\/[^"]*\//g, '/')
    .replace('https://MEDIA_HOST', baseUrl)
    .replace("'HASH'", `'${hash}'`)
    .replace('/HASH/', `/${hash}/`)
    .replace("'TOKEN'", `'${token}'`);
  const html = change?.(written) ?? written;
  const server = createServer((request, response) => {
    const library = libraries[(request.url ?? '').slice(1)];
    if (library === undefined) response.writeHead(200, { 'content-type': 'text/html' }).end(html);
    else void readFile(join(checkout, library)).then((bytes) => response.end(bytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}
