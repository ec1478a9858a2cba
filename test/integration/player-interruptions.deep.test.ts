import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import {
  chromiumPath,
  keepScreenshot,
  messageOf,
  openBrowser,
  openMenus,
  openPage,
  stateOf,
  waitForTime,
} from '../../testing/browser.ts';
import { clear, encrypted, makeCaptionedVideo, makeStreams, smallLadder, type Streams } from './player-streams.ts';

// What a viewer meets when a part of the stream cannot be loaded, in every engine of the player page. The stream is
// encrypted and has three segments; the second one and what follows fail.

let folder: string;
let streams: Streams;
let browser: Browser;

const engines = ['shaka', 'dash', 'hls'];
const later = /\/seg_[2-9]\.m4s$/;
const every = /\.m4s$/;
/** However slow the machine is. */
const patient = { timeout: 120_000 };

async function visit(fragment: Record<string, string>, failing = later): Promise<Page> {
  const { page, errors } = await openPage(browser);
  onTestFinished(async () => {
    await page.context().close();
    expect(errors).toEqual([]);
  });
  await page.goto(`${streams.service.baseUrl}/player/`);
  await page.route(failing, (route) => route.abort());
  await page.goto(`${streams.service.baseUrl}/player/#${new URLSearchParams(fragment).toString()}`);
  if (failing === later) await waitForTime(page, 0.1);
  return page;
}

/** What a player cannot read: each of them waits for the rest of the other's. */
const headOnly = Buffer.alloc(20_000, 0xff);
headOnly.writeUInt32BE(headOnly.length);
headOnly.write('moof', 4);
const noBoxes = Buffer.alloc(20_000, 7);

const tokenFor = (hash: string) =>
  signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + 3600 }, streams.secrets.values.KEY_TOKEN_SECRET);

/** Chooses the smaller rung, the second language and captions. The label of `Automatic` has a height too. */
async function choose(page: Page): Promise<void> {
  await openMenus(page);
  for (const [menu, label] of Object.entries(chosen)) {
    const option = page.locator(`#${menu} option`, { hasText: label });
    await page.selectOption(`#${menu}`, (await option.getAttribute('value')) ?? '');
  }
}
const chosen = { quality: '90p ·', audio: 'German', captions: 'English' };

const choices = async (page: Page) =>
  Promise.all(Object.keys(chosen).map((menu) => page.locator(`#${menu} option:checked`).innerText()));
const expected = Object.values(chosen).map((label) => expect.stringContaining(label) as string);

/** Plays what is loaded, at four times its speed, until playback stands still. @returns where */
async function playToTheEnd(page: Page, message: RegExp): Promise<number> {
  await page.evaluate(`document.querySelector('video').playbackRate = 4`);
  await expect.poll(() => messageOf(page), patient).toMatch(message);
  return (await stateOf(page)).time;
}

describe.skipIf(chromiumPath === null)('a part of the stream that cannot be loaded, in a real Chromium', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-interruptions-'));
    const clip = await makeCaptionedVideo(folder);
    const profiles = { profiles: { default: { ladder: smallLadder, first_bitrate: 300_000 } } };
    streams = await makeStreams(clip, { MEDIA_PROFILES: JSON.stringify(profiles) });
    browser = await openBrowser();
  }, 480_000);

  afterAll(async () => {
    await browser?.close();
    await streams?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(engines)(
    'in %s what is buffered plays on, and another try goes on there with the same quality, audio and captions',
    async (engine) => {
      const page = await visit({ hash: encrypted, engine, token: tokenFor(encrypted) });
      await choose(page);
      const stopped = await playToTheEnd(page, /^part-unreachable: A part of the stream could not be loaded/);
      await keepScreenshot(page, `interrupted-${engine}`);
      expect(stopped).toBeGreaterThan(5);
      expect(await choices(page)).toEqual(expected);
      await page.unroute(later);
      await page.click('#retry');
      await waitForTime(page, stopped + 1);
      expect(await messageOf(page)).toBe('');
      await expect.poll(() => choices(page)).toEqual(expected);
      await expect.poll(async () => (await stateOf(page)).height).toBe(90);
    },
    240_000,
  );

  it.each(engines)(
    'in %s playback goes on by itself when the browser is online again',
    async (engine) => {
      const page = await visit({ hash: clear, engine });
      await page.context().setOffline(true);
      const stopped = await playToTheEnd(page, /^stream-unreachable: You are offline/);
      expect(stopped).toBeGreaterThan(5);
      await page.unroute(later);
      await page.context().setOffline(false);
      await waitForTime(page, stopped + 1);
      expect(await messageOf(page)).toBe('');
    },
    240_000,
  );

  it('a stream of which nothing can be loaded any more is named as such, and not as one with a missing part', async () => {
    const page = await visit({ hash: clear });
    await page.route('**/stream/**', (route) => route.abort());
    expect(await playToTheEnd(page, /^stream-unreachable: The server cannot be reached/)).toBeGreaterThan(5);
  }, 240_000);

  it('playback goes on by itself when a part is there again', async () => {
    // hls.js makes no further try of its own.
    const page = await visit({ hash: clear, engine: 'hls' });
    const stopped = await playToTheEnd(page, /^part-unreachable: /);
    await page.unroute(later);
    await waitForTime(page, stopped + 1);
    expect(await messageOf(page)).toBe('');
  }, 240_000);

  it.each(engines)(
    'in %s a stream whose first part cannot be loaded says so, and begins when it can',
    async (engine) => {
      const page = await visit({ hash: clear, engine }, every);
      await expect.poll(() => messageOf(page), patient).toMatch(/^part-unreachable: /);
      expect(await page.locator('#spinner').isVisible()).toBe(false);
      await page.unroute(every);
      // It may have begun by itself meanwhile.
      await page.dispatchEvent('#retry', 'click');
      await waitForTime(page, 0.1);
      expect(await messageOf(page)).toBe('');
    },
    240_000,
  );

  it('a part that the server does not have is named as missing there', async () => {
    const page = await visit({ hash: clear });
    await page.unroute(later);
    await page.route(later, (route) => route.fulfill({ status: 404 }));
    await playToTheEnd(page, /^part-404: A part of the stream could not be loaded The server does not have it/);
  }, 240_000);

  it.each([
    ['shaka', 'hls', headOnly],
    ['hls', 'shaka', noBoxes],
  ])(
    'after a damaged segment in %s the other player (%s) goes on at the same place with the same tracks',
    async (engine, other, body) => {
      const page = await visit({ hash: clear, engine });
      await choose(page);
      // Before the route that fails: of two, the later one answers.
      await page.route(later, (route) => route.fulfill({ body }));
      await expect.poll(() => messageOf(page), patient).toMatch(/^(?:shaka-\d+|hls-error): /);
      const stopped = Number(await page.inputValue('#seek'));
      await page.unroute(later);
      // The first try of the other player fails as well.
      await page.route('**/master.m3u8', (route) => route.abort());
      await page.click('#other-player');
      await expect.poll(() => messageOf(page), patient).toMatch(/^stream-unreachable: /);
      await page.unroute('**/master.m3u8');
      await page.click('#retry');
      await waitForTime(page, stopped + 0.5);
      expect(await page.inputValue('#engine')).toBe(other);
      await expect.poll(() => choices(page), patient).toEqual(expected);
    },
    240_000,
  );
});
