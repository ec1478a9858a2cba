import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { chromiumPath, differenceOf, openBrowser, openPage, pictureOf, stateOf } from '../../testing/browser.ts';
import { clear, encrypted, makeStreams, type Streams } from './player-streams.ts';

// The pages of docs/players.md, run in a real Chromium from another origin than the service's.

const checkout = join(import.meta.dirname, '../..');
const guide = await readFile(join(checkout, 'docs/players.md'), 'utf8');
const libraries: Record<string, string> = {
  'shaka-player.compiled.js': 'node_modules/shaka-player/dist/shaka-player.compiled.js',
  'hls.min.js': 'node_modules/hls.js/dist/hls.min.js',
};

describe.skipIf(chromiumPath === null)('docs/players.md', () => {
  let streams: Streams;
  let browser: Browser;
  beforeAll(async () => {
    streams = await makeStreams();
    browser = await openBrowser();
  }, 480_000);
  afterAll(async () => {
    await browser?.close();
    await streams?.stop();
  });

  /** Serves the page of a player, for a stream, with the libraries from node_modules instead of the CDN. */
  async function servePage(player: string, hash: string): Promise<string> {
    const token = signPlaybackToken(
      { hash, exp: Math.floor(Date.now() / 1000) + 600 },
      streams.secrets.values.KEY_TOKEN_SECRET,
    );
    const html = (new RegExp(`^\`\`\`html ${player}\\n([\\s\\S]*?)^\`\`\``, 'm').exec(guide)?.[1] ?? '')
      .replaceAll(/https:\/\/cdn\.jsdelivr\.net\/npm\/[^"]*\//g, '/')
      .replace('https://MEDIA_HOST', streams.service.baseUrl)
      .replace("'HASH'", `'${hash}'`)
      .replace("'TOKEN'", `'${token}'`);
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

  it.each([
    ['shaka', encrypted],
    ['shaka', clear],
    ['hls', encrypted],
    ['hls', clear],
    ['dash', encrypted],
    ['dash', clear],
  ])('the %s page of docs/players.md plays %s from another origin', async (player, hash) => {
    const { page, errors } = await openPage(browser);
    onTestFinished(() => page.context().close());
    await page.goto(await servePage(player, hash));
    await page.evaluate('Object.assign(document.querySelector("video"), { muted: true, autoplay: true, loop: true })');
    await page.waitForFunction('document.querySelector("video").currentTime > 1', undefined, { timeout: 90_000 });
    const first = await pictureOf(page);
    await expect.poll(async () => differenceOf(first, await pictureOf(page))).toBeGreaterThan(2);
    await expect.poll(async () => (await stateOf(page)).frames).toBeGreaterThan(20);
    expect(errors).toEqual([]);
  });
});
