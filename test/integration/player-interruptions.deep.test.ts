import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { chromiumPath, keepScreenshot, stateOf, waitForTime } from '../../testing/browser.ts';
import { choose, chosenIn, messageOf, playerUrl, visitPlayer, withToken } from '../../testing/player-page.ts';
import { onStage } from '../../testing/stage/stage.ts';

// What a viewer meets when a part of the stream cannot be loaded. The stream is encrypted and has three segments; the
// second one and what follows fail.

const [clear, encrypted] = ['captioned-clear', 'captioned-encrypted'];
const later = /\/seg_[2-9]\.m4s$/;
const every = /\.m4s$/;
async function visit(fragment: Record<string, string>, failing = later): Promise<Page> {
  const { page, errors } = await visitPlayer({});
  onTestFinished(() => expect(errors).toEqual([]));
  await page.route(failing, (route) => route.abort());
  await page.goto(playerUrl((await onStage('service')).url, fragment));
  if (failing === later) await waitForTime(page, 0.1);
  return page;
}

/** A try by hand. The page tries again by itself too, and may have begun meanwhile: then the button is not shown. */
const tryAgain = (page: Page) => page.dispatchEvent('#retry', 'click');

/** A segment that the player cannot read. */
const headOnly = Buffer.alloc(20_000, 0xff);
headOnly.writeUInt32BE(headOnly.length);
headOnly.write('moof', 4);

/** The smaller rung, the second language and captions. */
const chosen = { quality: '90p ·', audio: 'German', captions: 'English' };

const choices = (page: Page) => Promise.all(Object.keys(chosen).map((menu) => chosenIn(page, menu)));
const expected = Object.values(chosen).map((label) => expect.stringContaining(label) as string);
async function chooseAll(page: Page): Promise<void> {
  for (const [menu, label] of Object.entries(chosen)) await choose(page, menu, label);
  await expect.poll(() => choices(page)).toEqual(expected);
}

/** Plays what is loaded, at four times its speed, until playback stands still. @returns where */
async function playToTheEnd(page: Page, message: RegExp): Promise<number> {
  await page.evaluate(`document.querySelector('video').playbackRate = 4`);
  await expect.poll(() => messageOf(page)).toMatch(message);
  return (await stateOf(page)).time;
}

describe.skipIf(chromiumPath === null || !inject('postgres'))(
  'a part of the stream that cannot be loaded, in a real Chromium',
  () => {
    beforeAll(async () => {
      await onStage('streams of captioned');
    });

    it('what is buffered plays on, and another try goes on there with the same quality, audio and captions', async () => {
      const page = await visit(withToken(encrypted));
      await chooseAll(page);
      const stopped = await playToTheEnd(page, /^part-unreachable: A part of the stream could not be loaded/);
      await keepScreenshot(page, 'interrupted');
      expect(stopped).toBeGreaterThan(5);
      expect(await choices(page)).toEqual(expected);
      await page.unroute(later);
      await tryAgain(page);
      await waitForTime(page, stopped + 1);
      await expect.poll(() => messageOf(page)).toBe('');
      await expect.poll(() => choices(page)).toEqual(expected);
      await expect.poll(async () => (await stateOf(page)).height).toBe(90);
    });

    it('playback goes on by itself when the browser is online again', async () => {
      const page = await visit({ hash: clear });
      await page.context().setOffline(true);
      const stopped = await playToTheEnd(page, /^stream-unreachable: You are offline/);
      expect(stopped).toBeGreaterThan(5);
      await page.unroute(later);
      await page.context().setOffline(false);
      await waitForTime(page, stopped + 1);
      await expect.poll(() => messageOf(page)).toBe('');
    });

    it('a stream whose first part cannot be loaded says so, and begins when it can', async () => {
      const page = await visit({ hash: clear }, every);
      await expect.poll(() => messageOf(page)).toMatch(/^part-unreachable: /);
      expect(await page.locator('#spinner').isVisible()).toBe(false);
      await page.unroute(every);
      await tryAgain(page);
      await waitForTime(page, 0.1);
      await expect.poll(() => messageOf(page)).toBe('');
    });

    it('C38.19: on a slow line the page says how much arrives of what is needed', async () => {
      const bars = await onStage('streams of bars');
      const { page, complaints } = await visitPlayer({});
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Network.enable');
      const line = { offline: false, latency: 50, downloadThroughput: 30_000, uploadThroughput: -1 };
      await devtools.send('Network.emulateNetworkConditions', line);
      await page.goto(playerUrl(bars.service.url, { hash: bars.clear }));
      const wait = page.locator('#wait');
      // The rate is the player's estimate, which the figures show too.
      const said = () =>
        page.evaluate<string>(
          `document.querySelector('#wait').innerText.replace(document.querySelector('#figure-network').innerText, 'RATE')`,
        );
      const expectedText =
        /^Waiting for the network: RATE of \d+(?:\.\d M| k)b\/s needed\. (?:A lower|There is no lower) quality/;
      await expect.poll(said, { timeout: 40_000 }).toMatch(expectedText);
      await keepScreenshot(page, 'slow-line');
      await devtools.send('Network.emulateNetworkConditions', { ...line, downloadThroughput: -1 });
      await waitForTime(page, 0.1);
      await expect.poll(() => wait.isHidden()).toBe(true);
      expect(complaints).toEqual([]);
    });

    it('after a damaged segment another try goes on at the same place with the same tracks', async () => {
      const page = await visit({ hash: clear });
      await chooseAll(page);
      // Before the route that fails: of two, the later one answers.
      await page.route(later, (route) => route.fulfill({ body: headOnly }));
      await expect.poll(() => messageOf(page)).toMatch(/^shaka-\d+: /);
      const stopped = Number(await page.inputValue('#seek'));
      // The first of the other tries fails as well.
      await page.route('**/master.m3u8', (route) => route.abort());
      await page.unroute(later);
      await tryAgain(page);
      await expect.poll(() => messageOf(page)).toMatch(/^stream-unreachable: /);
      await page.unroute('**/master.m3u8');
      await tryAgain(page);
      await waitForTime(page, stopped + 0.5);
      await expect.poll(() => choices(page)).toEqual(expected);
    });
  },
);
