import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { chromiumPath, openPage, type WatchedPage } from '../../testing/browser.ts';
import { serveReactPage } from '../../testing/react-page.ts';
import { onStage } from '../../testing/stage/stage.ts';
import { tokenFor } from '../../testing/player-page.ts';

// `<reelwright-player>` in a page of another origin, whose policy allows the service's file and frame and nothing else.

const [clear, encrypted] = ['bars-clear', 'bars-encrypted'];
let service: string;
let pages: { origin: string; stop(): Promise<void> };

async function serveEmptyPage() {
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

const eventNames = 'ready play playing pause seeked ended timeupdate durationchange volumechange'
  .split(' ')
  .concat('ratechange tokenneeded tokenfailed playblocked waitingfor error'.split(' '));

/** Puts an element with these attributes into a page; `globalThis.seen` has its events. */
async function open(attributes: Record<string, string>, tokens: readonly string[] = []): Promise<Page> {
  const { page } = await openWatched(attributes, tokens);
  return page;
}

async function openWatched(attributes: Record<string, string>, tokens: readonly string[] = []): Promise<WatchedPage> {
  const watched = await openPage();
  const { page } = watched;
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
  return watched;
}

/** Messages that look like the player's, from a window or an origin that is not its own. */
const forgedMessages = () => `
  const frame = player.shadowRoot.querySelector('iframe').contentWindow;
  const data = { channel: 'reelwright-player', name: 'ended', state: { currentTime: -1 }, detail: {} };
  const service = ${JSON.stringify(service)};
  for (const init of [
    { source: window, origin: service, data },
    { source: frame, origin: location.origin, data },
    { source: frame, origin: service, data: { ...data, channel: 'other' } },
  ])
    window.dispatchEvent(new MessageEvent('message', init));
`;

const seen = (page: Page) => page.evaluate<{ name: string; [field: string]: unknown }[]>('seen');
const names = async (page: Page) => (await seen(page)).map(({ name }) => name);
const currentTime = (page: Page) => page.evaluate<number>('player.currentTime');

describe.skipIf(chromiumPath === null || !inject('postgres'))('<reelwright-player> in a real Chromium', () => {
  beforeAll(async () => {
    ({ url: service } = (await onStage('streams of bars')).service);
    pages = await serveEmptyPage();
  });
  afterAll(() => pages?.stop());

  it('the element plays an encrypted stream and reports what happens', async () => {
    const page = await open({ hash: encrypted, token: tokenFor(encrypted) });
    await expect.poll(() => names(page)).toContain('ready');
    await page.evaluate('player.play()');
    await expect.poll(() => currentTime(page)).toBeGreaterThan(0.5);
    expect(await page.evaluate('[player.paused, Math.round(player.duration)]')).toEqual([false, 12]);
    await page.evaluate('player.pause()');
    await expect.poll(() => page.evaluate('player.paused')).toBe(true);
    await page.evaluate('player.currentTime = 8');
    await expect.poll(() => currentTime(page)).toBe(8);
    await page.evaluate('(player.volume = 0.5), (player.currentTime = 11.5), player.play()');
    await expect.poll(() => names(page)).toContain('ended');
    expect(await page.evaluate('[player.volume, player.muted]')).toEqual([0.5, false]);
    const happened = new Set((await seen(page)).map(({ name }) => name));
    const others = ['ratechange', 'tokenneeded', 'tokenfailed', 'playblocked', 'waitingfor', 'error'];
    expect([...happened]).toEqual(expect.arrayContaining(eventNames.filter((name) => !others.includes(name))));
    expect(happened).not.toContain('error');
    await page.evaluate('(seen.length = 0), player.remove()');
    await page.evaluate(`window.dispatchEvent(new MessageEvent('message', {
      origin: ${JSON.stringify(service)},
      data: { channel: 'reelwright-player', name: 'ended', state: {}, detail: {} },
    }))`);
    expect(await seen(page)).toEqual([]);
  });

  it('the element asks for a token when it has an expired one, and plays with the new one', async () => {
    const page = await open({});
    await page.evaluate(`{
      player.getToken = (request) => (asked.push(request), new Promise((resolve) => (globalThis.give = resolve)));
      player.hash = ${JSON.stringify(encrypted)};
      player.token = ${JSON.stringify(tokenFor(encrypted, { lifetimeSec: -60 }))};
    }`);
    await expect.poll(() => names(page)).toContain('tokenneeded');
    const frame = page.frameLocator('reelwright-player iframe');
    const shown = ['#spinner', '#big-play', '#message', 'header', '#picker', '.figures'];
    const visible = await Promise.all(shown.map((each) => frame.locator(each).isVisible()));
    expect(shown.filter((_, index) => visible[index])).toEqual(['#spinner']);
    await page.evaluate(`give(${JSON.stringify(tokenFor(encrypted))})`);
    await expect.poll(() => names(page)).toContain('ready');
    expect(await page.evaluate('asked')).toEqual([{ hash: encrypted, reason: 'refused' }]);
    // It waits for the page around to play it.
    expect(await page.evaluate('player.paused')).toBe(true);
    await page.evaluate('player.play()');
    await expect.poll(() => currentTime(page)).toBeGreaterThan(0.5);
  });

  it('C38.18: without a token the element asks for one before it requests the key, and nothing is refused', async () => {
    const watched = await openWatched({ hash: encrypted }, [tokenFor(encrypted)]);
    const { page, complaints } = watched;
    await expect.poll(() => names(page)).toContain('ready');
    expect(await page.evaluate('asked')).toEqual([{ hash: encrypted, reason: 'missing' }]);
    const keys = (await watched.requests()).filter(({ url }) => url.includes('/api/key/'));
    expect(keys.map(({ headers }) => headers['authorization']?.split(' ')[0])).toEqual(['Bearer']);
    expect(complaints).toEqual([]);
  });

  it('the element says why a stream does not play when its page fails to give a token, or gives none in time', async () => {
    const page = await open({});
    await page.evaluate(`{
      player.getToken = () => Promise.reject(new Error('signed out'));
      player.hash = ${JSON.stringify(encrypted)};
    }`);
    await expect.poll(() => names(page)).toContain('error');
    expect((await names(page)).slice(0, 3)).toEqual(['tokenneeded', 'tokenfailed', 'error']);
    expect(await page.evaluate(`player.paused`)).toBe(true);
    const silent = await open({});
    // What takes 15 seconds takes one.
    await silent.addInitScript(
      `{ const { setTimeout } = window; window.setTimeout = (run, ms) => setTimeout(run, ms === 15_000 ? 1000 : ms); }`,
    );
    await silent.evaluate(`{
      player.getToken = () => new Promise(() => undefined);
      player.hash = ${JSON.stringify(encrypted)};
    }`);
    await expect.poll(() => names(silent)).toContain('error');
    expect((await names(silent)).slice(0, 2)).toEqual(['tokenneeded', 'error']);
  });

  it('C38.19: while playback waits the element says for what, in an event and an attribute', async () => {
    const { page } = await openWatched({});
    const waitingFor = () => page.evaluate('player.getAttribute("waiting-for")');
    await page.route(/\.m4s$/, () => undefined);
    await page.evaluate(`(player.hash = ${JSON.stringify(clear)}), player.play()`);
    await expect.poll(waitingFor).toBe('network');
    const waits = async () => (await seen(page)).filter(({ name }) => name === 'waitingfor');
    expect(await waits()).toMatchObject([{ reason: 'network', message: 'Waiting for the network.', currentTime: 0 }]);
    await page.evaluate(`player.hash = 'no-such-stream'`);
    await expect.poll(waitingFor).toBeNull();
    expect((await waits()).at(-1)).toMatchObject({ reason: '', message: '' });
  });

  it('the element goes on playing when its token is replaced', async () => {
    const page = await open({ hash: encrypted, token: tokenFor(encrypted) });
    await expect.poll(() => names(page)).toContain('ready');
    await page.evaluate('player.play()');
    await expect.poll(() => currentTime(page)).toBeGreaterThan(1);
    await page.evaluate(`player.token = ${JSON.stringify(tokenFor(encrypted, { lifetimeSec: 900 }))}`);
    await page.evaluate(`player.setAttribute('label', 'Trailer')`);
    await expect.poll(() => currentTime(page)).toBeGreaterThan(2);
    expect((await names(page)).filter((name) => name === 'ready')).toEqual(['ready']);
    expect(await page.locator('reelwright-player iframe').getAttribute('title')).toBe('Trailer');
  });

  it('a token and commands that come while the frame loads are not lost', async () => {
    const page = await open({});
    await page.evaluate(`(async () => {
      player.hash = ${JSON.stringify(encrypted)};
      await null;
      player.token = ${JSON.stringify(tokenFor(encrypted))};
      player.muted = true;
      player.play();
    })()`);
    await expect.poll(() => currentTime(page)).toBeGreaterThan(0.5);
    expect(await page.evaluate('[player.paused, player.muted]')).toEqual([false, true]);
    expect(await names(page)).not.toContain('error');
  });

  it('the element takes messages of its own frame alone, and the frame takes commands of the page around it alone', async () => {
    const page = await open({ hash: clear });
    await expect.poll(() => names(page)).toContain('ready');
    await page.evaluate('player.play()');
    await expect.poll(() => currentTime(page)).toBeGreaterThan(0.3);
    await page.evaluate(forgedMessages());
    const frame = page.frames()[1];
    await frame?.evaluate(`window.postMessage({ channel: 'reelwright-player', command: 'pause' }, '*')`);
    for (const command of ['toString', 'seek'])
      await page.evaluate(`player.shadowRoot.querySelector('iframe').contentWindow
        .postMessage({ channel: 'reelwright-player', command: '${command}' }, '*')`);
    const before = await currentTime(page);
    await expect.poll(() => currentTime(page)).toBeGreaterThan(before + 0.3);
    const events = await names(page);
    expect(events.filter((name) => ['ended', 'pause', 'playblocked'].includes(name))).toEqual([]);
    // A pause while playback waits for a seek is no refusal of the browser.
    await page.evaluate('player.pause(), (player.currentTime = 9), player.play(), player.pause()');
    await expect.poll(() => currentTime(page)).toBe(9);
    expect(await names(page)).not.toContain('playblocked');
  });

  it('the element shows another stream when its hash changes, and has a name for screen readers', async () => {
    const page = await open({ hash: 'no-such-stream' });
    await expect.poll(() => names(page)).toContain('error');
    const entries = await page.evaluate('history.length');
    await page.evaluate(`player.hash = ${JSON.stringify(clear)}`);
    await expect.poll(() => names(page)).toContain('ready');
    expect(await page.evaluate('history.length')).toBe(entries);
    const size = await page.locator('reelwright-player').boundingBox();
    expect((size?.width ?? 0) / (size?.height ?? 1)).toBeCloseTo(16 / 9, 2);
    const mayUse = page.frames()[1]?.evaluate('[document.fullscreenEnabled, document.pictureInPictureEnabled]');
    expect(await mayUse).toEqual([true, true]);
    expect(await page.locator('reelwright-player iframe').getAttribute('title')).toBe(`Video ${clear}`);
  });

  it('the React example plays an encrypted stream by the token route of its application, and hands over problems', async () => {
    const { page, errors } = await openPage();
    const at = { host: service, tokenFor: (hash: string) => tokenFor(hash) };
    await page.goto(await serveReactPage({ ...at, hash: encrypted }));
    const player = 'document.querySelector("reelwright-player")';
    await expect.poll(() => page.evaluate(`${player}?.duration > 0`)).toBe(true);
    await page.evaluate(`${player}.play()`);
    await expect.poll(() => page.evaluate(`${player}.currentTime`)).toBeGreaterThan(0.5);
    expect([errors, await page.evaluate('problems')]).toEqual([[], []]);
    await page.goto(await serveReactPage({ ...at, hash: 'no-such-stream' }));
    await expect.poll(() => page.evaluate<object[]>('problems')).not.toEqual([]);
  });
});
