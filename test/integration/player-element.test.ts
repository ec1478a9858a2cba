import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { chromiumPath, openBrowser, openPage } from '../../testing/browser.ts';
import { serveReactPage } from '../../testing/react-page.ts';
import { clear, encrypted, makeStreams, type Streams } from './player-streams.ts';

// `<reelwright-player>` in a page of another origin, whose policy allows the service's file and frame and nothing else.

/** The tests share two cores with servers and browsers. */
const slow = { timeout: 60_000 };
let streams: Streams;
let browser: Browser;
let pages: { origin: string; stop(): Promise<void> };

async function serveEmptyPage(service: string) {
  const policy = `default-src 'none'; script-src ${service} 'unsafe-eval'; frame-src ${service}`;
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html', 'content-security-policy': policy });
    response.end(
      `<!doctype html><title>app</title><script type="module" src="${service}/player/element.js"></script><body></body>`,
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, stop };
}

const tokenFor = (hash: string, lifetimeSec: number) =>
  signPlaybackToken(
    { hash, exp: Math.floor(Date.now() / 1000) + lifetimeSec },
    streams.secrets.values.KEY_TOKEN_SECRET,
  );

const eventNames = ['ready', 'play', 'playing', 'pause', 'timeupdate', 'tokenneeded', 'tokenfailed', 'error'];

/** Puts an element with these attributes into a page; `globalThis.seen` has its events. */
async function open(attributes: Record<string, string>, tokens: readonly string[] = []): Promise<Page> {
  const { page } = await openPage(browser);
  onTestFinished(() => page.context().close());
  await page.goto(pages.origin);
  await page.evaluate(`customElements.whenDefined('reelwright-player')`);
  await page.evaluate(`
    globalThis.seen = [];
    globalThis.asked = [];
    globalThis.player = document.createElement('reelwright-player');
    for (const name of ${JSON.stringify(eventNames)})
      player.addEventListener(name, ({ detail }) => seen.push({ name, ...detail }));
    const tokens = ${JSON.stringify(tokens)};
    if (tokens.length > 0) player.getToken = (request) => (asked.push(request), Promise.resolve(tokens.shift()));
    for (const [name, value] of Object.entries(${JSON.stringify(attributes)})) player.setAttribute(name, value);
    document.body.append(player);
  `);
  return page;
}

const seen = (page: Page) => page.evaluate<{ name: string; [field: string]: unknown }[]>('seen');
const names = async (page: Page) => (await seen(page)).map(({ name }) => name);
const currentTime = (page: Page) => page.evaluate<number>('player.currentTime');

describe.skipIf(chromiumPath === null)('<reelwright-player> in a real Chromium', () => {
  beforeAll(async () => {
    streams = await makeStreams();
    pages = await serveEmptyPage(streams.service.baseUrl);
    browser = await openBrowser();
  }, 480_000);

  afterAll(async () => {
    await browser?.close();
    await pages?.stop();
    await streams?.stop();
  });

  it.each(['shaka', 'hls'])('the element plays an encrypted stream in %s and reports what happens', async (engine) => {
    const page = await open({ hash: encrypted, token: tokenFor(encrypted, 600), engine });
    await expect.poll(() => names(page), slow).toContain('ready');
    await page.evaluate('player.play()');
    await expect.poll(() => currentTime(page), slow).toBeGreaterThan(0.5);
    expect(await page.evaluate('[player.paused, Math.round(player.duration)]')).toEqual([false, 12]);
    await page.evaluate('player.pause()');
    await expect.poll(() => page.evaluate('player.paused')).toBe(true);
    await page.evaluate('player.currentTime = 8');
    await expect.poll(() => currentTime(page)).toBe(8);
    expect(await names(page)).toEqual(expect.arrayContaining(['ready', 'play', 'playing', 'timeupdate', 'pause']));
    expect(JSON.stringify(await seen(page))).not.toContain('"error"');
  });

  it('the element asks for a token when it has an expired one, and plays with the new one', async () => {
    const page = await open({ hash: encrypted, token: tokenFor(encrypted, -60) }, [tokenFor(encrypted, 600)]);
    await expect.poll(() => names(page), slow).toContain('ready');
    expect(await page.evaluate('asked')).toEqual([{ hash: encrypted, reason: 'refused' }]);
    await page.evaluate('player.play()');
    await expect.poll(() => currentTime(page), slow).toBeGreaterThan(0.5);
  });

  it('the element goes on playing when its token is replaced', async () => {
    const page = await open({ hash: encrypted, token: tokenFor(encrypted, 600) });
    await expect.poll(() => names(page), slow).toContain('ready');
    await page.evaluate('player.play()');
    await expect.poll(() => currentTime(page), slow).toBeGreaterThan(1);
    await page.evaluate(`player.token = ${JSON.stringify(tokenFor(encrypted, 900))}`);
    await expect.poll(() => currentTime(page), slow).toBeGreaterThan(2);
    expect((await names(page)).filter((name) => name === 'ready')).toEqual(['ready']);
  });

  it('the element reports why a stream does not play when no token is to be given', async () => {
    const page = await open({ hash: encrypted });
    await expect.poll(() => names(page), slow).toContain('error');
    const error = (await seen(page)).find(({ name }) => name === 'error');
    expect(error).toMatchObject({ kind: 'key-401', title: 'This stream is encrypted and needs a token' });
  });

  it('the element shows another stream when its hash changes, and has a name for screen readers', async () => {
    const page = await open({ hash: 'no-such-stream' });
    await expect.poll(() => names(page), slow).toContain('error');
    await page.evaluate(`player.hash = ${JSON.stringify(clear)}`);
    await expect.poll(() => names(page), slow).toContain('ready');
    expect(await page.locator('reelwright-player iframe').getAttribute('title')).toBe(`Video ${clear}`);
  });

  it('the React example plays an encrypted stream by the token route of its application, and hands over problems', async () => {
    const { page, errors } = await openPage(browser);
    onTestFinished(() => page.context().close());
    const at = { host: streams.service.baseUrl, tokenFor: (hash: string) => tokenFor(hash, 600) };
    await page.goto(await serveReactPage({ ...at, hash: encrypted }));
    const player = 'document.querySelector("reelwright-player")';
    await expect.poll(() => page.evaluate(`${player}?.duration > 0`), slow).toBe(true);
    await page.evaluate(`${player}.play()`);
    await expect.poll(() => page.evaluate(`${player}.currentTime`), slow).toBeGreaterThan(0.5);
    expect([errors, await page.evaluate('problems')]).toEqual([[], []]);
    await page.goto(await serveReactPage({ ...at, hash: 'no-such-stream' }));
    await expect.poll(() => page.evaluate<object[]>('problems'), slow).not.toEqual([]);
  });
});
