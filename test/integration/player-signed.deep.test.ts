import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { chromiumPath, openPage, stateOf, type WatchedPage, waitForTime } from '../../testing/browser.ts';
import { serveGuidePage } from '../../testing/guide-page.ts';
import { callMedia, newTicket, publishSigned, withdrawTickets } from './long-streams.ts';
import { frameAt, messageOf, tokenFor, visitPlayer } from '../../testing/player-page.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// Signed streams of 90 seconds in the player page, in the element, and in the pages of examples/players without the
// recipes that renew a ticket (those: test/integration/player-tickets.deep.test.ts).

const [clear, encrypted] = ['signed-clear', 'signed-encrypted'];
const credentialsOf = async (hash: string) => ({ hash, ticket: await newTicket(hash), token: tokenFor(hash) });

/** The paths of streams that the page has requested. */
const streamPaths = async ({ requests }: WatchedPage) =>
  (await requests()).map(({ url }) => new URL(url).pathname).filter((path) => /^\/(?:s|stream)\//.test(path));

/** Waits until the time of the video has not changed for a second. @returns when it stopped, by `Date.now()` */
async function stopOf(page: Page): Promise<number> {
  let last = { time: -1, atMs: Date.now() };
  await expect
    .poll(
      async () => {
        const { time } = await stateOf(page);
        if (time !== last.time) last = { time, atMs: Date.now() };
        return Date.now() - last.atMs;
      },
      { timeout: 60_000, interval: 100 },
    )
    .toBeGreaterThan(1_000);
  return last.atMs;
}

const before = (line: string, code: string) => (html: string) => html.replace(line, () => `${code}\n${line}`);
const shaka = before('await player.load', 'player.configure({ streaming: { bufferingGoal: 2, rebufferingGoal: 1 } });');
/** The pages, which load at most two seconds and a segment ahead. */
const pages: Record<string, (html: string) => string> = {
  shaka,
  dash: shaka,
  hls: (html) => html.replace('new Hls({', 'new Hls({ maxBufferLength: 2, maxMaxBufferLength: 2,'),
  dashjs: before(
    'player.attachSource',
    `player.updateSettings({ streaming: { buffer: {
       bufferTimeDefault: 2, bufferTimeAtTopQuality: 2, bufferTimeAtTopQualityLongForm: 2 } } });`,
  ),
  videojs: before('player.src', 'videojs.Vhs.GOAL_BUFFER_LENGTH = videojs.Vhs.MAX_GOAL_BUFFER_LENGTH = 2;'),
};
const cases = Object.keys(pages).flatMap((player) =>
  (player === 'videojs' ? [clear] : [clear, encrypted]).map((hash) => [player, hash] as const),
);

describe.skipIf(chromiumPath === null || !inject('postgres'))('signed streams in a real Chromium', () => {
  let service: string;
  beforeAll(async () => {
    ({ url: service } = await onStage('service'));
    await Promise.all([publishSigned(clear, { encrypt: false }), publishSigned(encrypted, { encrypt: true })]);
  });

  it.each([clear, encrypted])(
    'C33.15: the page plays %s by its ticket, and requests nothing without it',
    async (hash) => {
      const credentials = await credentialsOf(hash);
      const watched = await visitPlayer(credentials);
      const { page, errors } = watched;
      await waitForTime(page, 2);
      if (hash === clear) expect((await frameAt(page, 0.9)).image).toContain(`/s/${credentials.ticket}/`);
      const paths = await streamPaths(watched);
      expect(paths.length).toBeGreaterThan(5);
      expect(paths.filter((path) => !path.startsWith(`/s/${credentials.ticket}/${hash}/`))).toEqual([]);
      expect([await messageOf(page), errors]).toEqual(['', []]);
    },
  );

  it.each([clear, encrypted])(
    'C33.17: the page stops within ten seconds after the tickets of %s are withdrawn, and says why',
    async (hash) => {
      const watched = await visitPlayer(await credentialsOf(hash));
      const { page } = watched;
      await waitForTime(page, 3);
      const withdrawnAt = Date.now();
      await withdrawTickets(hash);
      await expect.poll(() => messageOf(page), { interval: 100 }).toMatch(/^ticket-withdrawn: This link was withdrawn/);
      expect(Date.now() - withdrawnAt).toBeLessThan(10_000);
      const [{ time }, { length }] = [await stateOf(page), await streamPaths(watched)];
      await new Promise((resolve) => setTimeout(resolve, 2_000));
      expect([(await stateOf(page)).time, (await streamPaths(watched)).length]).toEqual([time, length]);
    },
  );

  /** Opens a page of another origin with the file of the element. */
  async function openApp(page: Page): Promise<void> {
    const server = createServer((_request, response) => response.setHeader('content-type', 'text/html').end('<p>'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.evaluate(`import('${service}/player/element.js')`);
  }

  it('C33.16: the element plays on by the next ticket when one expires, and when all so far are withdrawn', async () => {
    const watched = await openPage();
    const { page } = watched;
    await openApp(page);
    await page.exposeFunction('nextTicket', () => newTicket(encrypted));
    const attributes = { hash: encrypted, token: tokenFor(encrypted), ticket: await newTicket(encrypted, 10) };
    await page.evaluate(`(() => {
      globalThis.seen = [];
      globalThis.asked = [];
      globalThis.player = document.createElement('reelwright-player');
      for (const name of ['ready', 'waiting', 'ticketneeded', 'error'])
        player.addEventListener(name, () => seen.push(name));
      player.getTicket = (request) => (asked.push(request.reason), nextTicket());
      player.muted = true;
      for (const [name, value] of Object.entries(${JSON.stringify(attributes)})) player.setAttribute(name, value);
      document.body.append(player);
      player.play();
    })()`);
    const timeOf = () => page.evaluate<number>('player.currentTime');
    const asked = () => page.evaluate<string[]>('asked');
    await expect.poll(timeOf).toBeGreaterThan(1);
    await page.evaluate('seen.length = 0');
    await expect.poll(asked, { timeout: 20_000 }).toEqual(['expiring']);
    await expect.poll(timeOf, { timeout: 60_000 }).toBeGreaterThan(15);
    await withdrawTickets(encrypted);
    await expect.poll(asked, { timeout: 30_000 }).toEqual(['expiring', 'refused']);
    expect(await page.evaluate('seen')).toEqual(['ticketneeded', 'ticketneeded']);
    const time = await timeOf();
    await expect.poll(timeOf, { timeout: 60_000 }).toBeGreaterThan(time + 15);
    expect(await page.evaluate('seen')).toEqual(['ticketneeded', 'ticketneeded']);
    expect(new Set((await streamPaths(watched)).map((path) => path.split('/')[2])).size).toBe(3);
  });

  it('C33.16: the element says why a stream does not play when it gets no ticket', async () => {
    const { page } = await openPage();
    await openApp(page);
    await page.evaluate(`(() => {
      globalThis.problems = [];
      globalThis.player = document.createElement('reelwright-player');
      player.addEventListener('error', ({ detail }) => problems.push(detail.kind));
      player.hash = ${JSON.stringify(clear)};
      document.body.append(player);
    })()`);
    await expect.poll(() => page.evaluate('problems'), { timeout: 10_000 }).toEqual(['ticket-missing']);
  });

  it.each(cases)(
    'C33.17: the page %s without renewal stops within ten seconds of the withdrawal for %s',
    async (player, hash) => {
      const watched = await openPage();
      const { page } = watched;
      const ticket = await newTicket(hash);
      const change = (html: string) =>
        (pages[player]?.(html) ?? html).replace('${host}/stream/', `\${host}/s/${ticket}/`);
      const at = { player, baseUrl: service, hash, tokenSecret: secrets.KEY_TOKEN_SECRET };
      await page.goto(await serveGuidePage({ ...at, change }));
      const answers: { readonly status: number; readonly atMs: number }[] = [];
      page.on('response', (response) => {
        if (response.url().includes(`/s/${ticket}/`)) answers.push({ status: response.status(), atMs: Date.now() });
      });
      await page.evaluate(`{
      const video = Object.assign(document.querySelector('video'), { muted: true, autoplay: true });
      if (video.readyState > 0) void video.play();
    }`);
      await waitForTime(page, 3);
      const withdrawnAt = Date.now();
      await withdrawTickets(hash);
      expect((await stopOf(page)) - withdrawnAt).toBeLessThan(10_000);
      const late = answers.filter(({ atMs }) => atMs > withdrawnAt + 5_000);
      expect(answers.some(({ status }) => status === 403)).toBe(true);
      expect(late.filter(({ status }) => status !== 403)).toEqual([]);
      expect((await callMedia(hash)).playback_generation).toBeGreaterThan(0);
    },
  );
});
