import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import {
  chromiumPath,
  differenceOf,
  keepScreenshot,
  loopVideo,
  openPage,
  pauseAt,
  shownFrame,
  stateOf,
  waitForTime,
} from '../../testing/browser.ts';
import {
  choose,
  chosenIn,
  frameAt,
  messageOf,
  openMenus,
  playerUrl,
  shownCues,
  tokenFor,
  visitPlayer,
  withToken,
} from '../../testing/player-page.ts';
import { onStage } from '../../testing/stage/stage.ts';
import type { StageStreams } from '../../testing/stage/streams.ts';

// The streams of the whole service, played by the player page. Other players: test/integration/player-docs.deep.test.ts.

let bars: StageStreams;
let captioned: StageStreams;
let audio: StageStreams;
const encryptionIn = (page: Page) => page.locator('#figure-encryption').innerText();

describe.skipIf(chromiumPath === null || !inject('postgres'))('the player page in a real Chromium', () => {
  beforeAll(async () => {
    [bars, captioned, audio] = await Promise.all([
      onStage('streams of bars'),
      onStage('streams of captioned'),
      onStage('streams of audio'),
    ]);
  });

  it('the page plays the encrypted stream: its frame changes, and the token goes to the key endpoint only, as a header', async () => {
    const token = tokenFor(bars.encrypted);
    const { page, errors, requests } = await visitPlayer({ hash: bars.encrypted, token });
    await loopVideo(page);
    await waitForTime(page, 2);
    const first = await shownFrame(page);
    expect(first.brightness).toBeGreaterThan(20);
    expect(first.contrast).toBeGreaterThan(20);
    await expect.poll(async () => differenceOf(first, await shownFrame(page))).toBeGreaterThan(2);
    await expect.poll(() => encryptionIn(page)).toBe('cbcs');
    await keepScreenshot(page, 'encrypted');
    expect([await messageOf(page), errors]).toEqual(['', []]);
    const sent = await requests();
    expect(sent.filter(({ url }) => url.includes('/stream/')).length).toBeGreaterThan(4);
    for (const { url, headers } of sent) {
      const isKeyRequest = new URL(url).pathname === `/api/key/${bars.encrypted}`;
      expect.soft(url).not.toContain(token);
      expect.soft(headers['authorization'] ?? 'none', url).toBe(isKeyRequest ? `Bearer ${token}` : 'none');
      const others = Object.entries(headers).filter(([name]) => name !== 'authorization');
      expect.soft(JSON.stringify(others), url).not.toContain(token);
    }
    expect(sent.some(({ url }) => url.endsWith(`/api/key/${bars.encrypted}`))).toBe(true);
  });

  it('the page sends the token to its own host, also when a playlist names another host', async () => {
    const { page, requests } = await openPage();
    const host = bars.service.url.replace('127.0.0.1', 'localhost');
    await page.goto(playerUrl(host, withToken(bars.encrypted)));
    await waitForTime(page, 1);
    const hosts = (await requests()).map(({ url }) => new URL(url).host);
    expect([...new Set(hosts.filter((each) => each !== ''))]).toEqual([new URL(host).host]);
  });

  // Every other reason: test/contract/player-page.test.ts.
  it("with another media's token the encrypted stream does not play, and the page shows the reason", async () => {
    const { page, errors } = await visitPlayer({ hash: bars.encrypted, token: tokenFor(bars.clear) });
    await expect.poll(() => messageOf(page)).toMatch(/^key-403: The token was refused It was made for another media/);
    // The player is removed from the page, so that nothing can begin to play later.
    await expect.poll(() => page.evaluate(`document.querySelector('video').readyState`)).toBe(0);
    expect(await stateOf(page)).toMatchObject({ time: 0, frames: 0 });
    expect(errors).toEqual([]);
  });

  it('C38.18: without a token the page asks for one, and requests no key', async () => {
    const watched = await visitPlayer({ hash: bars.encrypted });
    await expect.poll(() => messageOf(watched.page)).toMatch(/^key-401: This stream is encrypted and needs a token/);
    expect((await watched.requests()).filter(({ url }) => url.includes('/api/key/'))).toEqual([]);
    expect([watched.errors, watched.complaints]).toEqual([[], []]);
  });

  it('C38.17: before a stream without a cover plays, a frame of its storyboard is its poster, then its own', async () => {
    const watched = await visitPlayer({});
    const { page, complaints } = watched;
    await page.route(/\.m4s$/, () => undefined);
    await page.goto(playerUrl(bars.service.url, { hash: bars.clear, embedded: '1' }));
    await expect.poll(() => page.getAttribute('video', 'poster')).toMatch(/^data:image\/jpeg;/);
    await expect.poll(async () => (await shownFrame(page)).contrast).toBeGreaterThan(20);
    await keepScreenshot(page, 'poster-of-storyboard');
    await page.unroute(/\.m4s$/);
    await page.reload();
    await expect.poll(() => page.isEnabled('#play')).toBe(true);
    await expect.poll(() => page.getAttribute('video', 'poster')).toBeNull();
    expect((await shownFrame(page)).contrast).toBeGreaterThan(20);
    expect(complaints).toEqual([]);
  });

  it('an encrypted stream asks for https where the browser does not decrypt', async () => {
    const { page } = await openPage();
    const host = 'http://media.example';
    await page.route(`${host}/**`, async (route) => {
      const url = route.request().url().replace(host, bars.service.url);
      await route.fulfill({ response: await route.fetch({ url }) });
    });
    await page.goto(playerUrl(host, withToken(bars.encrypted)));
    await expect.poll(() => messageOf(page)).toMatch(/^insecure: Encrypted streams need https/);
  });

  it('C14.17: the page plays the clear stream without a token, and shows a frame of its storyboard while seeking', async () => {
    const { page, requests } = await visitPlayer({ hash: bars.clear });
    await waitForTime(page, 1);
    expect((await requests()).some(({ url }) => url.includes('/api/key/'))).toBe(false);
    const { image, position } = await frameAt(page, 0.75);
    expect(image).toMatch(/\/storyboard\/sheet_1\.jpg"\)$/);
    // Second 9 of 12 is on the fifth tile.
    expect(position).toBe('-640px 0px');
    await keepScreenshot(page, 'storyboard');
  });

  it('C14.10, C14.11: the page plays an encrypted stream of audio, shows its waveform, and changes the language', async () => {
    const { page, errors } = await visitPlayer(withToken(audio.encrypted));
    await loopVideo(page);
    await waitForTime(page, 0.1);
    await expect.poll(() => encryptionIn(page)).toBe('cbcs');
    const poster = `${audio.service.url}/stream/${audio.encrypted}/waveform.webp`;
    await expect.poll(() => page.getAttribute('video', 'poster')).toBe(poster);
    await expect.poll(async () => (await shownFrame(page)).contrast).toBeGreaterThan(2);
    await keepScreenshot(page, 'audio');
    await expect.poll(() => chosenIn(page, 'audio')).toBe('German');
    await choose(page, 'audio', 'English');
    await expect.poll(() => chosenIn(page, 'audio')).toBe('English');
    const before = (await stateOf(page)).time;
    await expect.poll(async () => (await stateOf(page)).time).not.toBe(before);
    expect([await messageOf(page), errors]).toEqual(['', []]);
  });

  it('C14.13: the captions menu shows the chosen track, and a key turns it off and on again', async () => {
    const { page, errors } = await visitPlayer({ hash: captioned.clear });
    await waitForTime(page, 0.1);
    await pauseAt(page, 6);
    await expect.poll(() => page.locator('#captions option').allInnerTexts()).toEqual(['Off', 'German', 'English']);
    expect(await shownCues(page)).toEqual([]);
    const bare = await shownFrame(page);

    // The key and the button begin with the language of the browser.
    const toggle = page.locator('#captions-toggle');
    await page.keyboard.press('c');
    await expect.poll(() => chosenIn(page, 'captions')).toBe('English');
    expect(await toggle.getAttribute('aria-pressed')).toBe('true');
    await toggle.click();
    await expect.poll(() => toggle.getAttribute('aria-pressed')).toBe('false');

    await choose(page, 'captions', 'German');
    await expect.poll(() => shownCues(page)).toEqual(['Grüße']);
    await expect.poll(async () => differenceOf(bare, await shownFrame(page))).toBeGreaterThan(0.1);
    await keepScreenshot(page, 'captions');
    // The captions stay after clicks on the video, and the keyboard belongs to the video again.
    await page.click('#video', { position: { x: 40, y: 40 } });
    await pauseAt(page, 7);
    expect(await shownCues(page)).toEqual(['Grüße']);

    await page.keyboard.press('c');
    await expect.poll(() => shownCues(page)).toEqual([]);
    expect(await chosenIn(page, 'captions')).toBe('Off');
    await page.keyboard.press('c');
    await expect.poll(() => shownCues(page)).toEqual(['Grüße']);

    // By keyboard alone: the list has its own keys while it has the focus.
    await openMenus(page);
    await page.focus('#captions');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => shownCues(page)).toEqual(['Greetings']);
    expect(await chosenIn(page, 'captions')).toBe('English');
    expect(errors).toEqual([]);
  });

  it('the slider seeks, and the button pauses and resumes', async () => {
    const { page } = await visitPlayer(withToken(bars.encrypted));
    await loopVideo(page);
    await waitForTime(page, 0.5);
    const isPaused = () => page.evaluate(`document.querySelector('video').paused`);
    await page.click('#play');
    await expect.poll(isPaused).toBe(true);
    await page.locator('#seek').hover();
    await expect.poll(() => page.locator('#scrub-tip').isVisible()).toBe(true);
    // While the bar is dragged it and its clock are at the pointer, and playback stays where it is.
    const shown = await page.evaluate<string[]>(`(() => {
      const seek = document.querySelector('#seek');
      seek.value = '6';
      seek.dispatchEvent(new Event('input'));
      document.querySelector('video').dispatchEvent(new Event('timeupdate'));
      return [seek.value, seek.style.getPropertyValue('--played'), document.querySelector('#now').textContent];
    })()`);
    expect([Number(shown[0]), Number.parseFloat(shown[1] ?? ''), shown[2]]).toEqual([6, expect.closeTo(50, 0), '0:06']);
    expect((await stateOf(page)).time).toBeLessThan(5);
    await page.locator('#seek').fill('9');
    await expect.poll(async () => (await stateOf(page)).time).toBe(9);
    await page.click('#play');
    await waitForTime(page, 9.5);
    expect(await isPaused()).toBe(false);
  });

  it('the page fits a phone: no horizontal scrolling, and touch targets of 44 pixels', async () => {
    const small = { width: 320, height: 640 };
    const { page } = await visitPlayer(withToken(bars.encrypted), small);
    await waitForTime(page, 1);
    expect((await stateOf(page)).overflow).toBe(0);
    for (const button of await page.locator('.controls button:visible').all()) {
      const box = await button.boundingBox();
      expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(44);
    }
    await keepScreenshot(page, 'phone');
    const refused = await visitPlayer({ hash: bars.encrypted, token: tokenFor(bars.clear) }, small);
    await expect.poll(() => messageOf(refused.page)).toMatch(/^key-403: /);
    // The message fits over the video and does not cover the controls.
    const [message, stage, controls] = await Promise.all(
      ['#message', '#stage', '.controls'].map((name) => refused.page.locator(name).first().boundingBox()),
    );
    expect(message?.y ?? -1).toBeGreaterThanOrEqual(stage?.y ?? 0);
    expect((message?.y ?? 0) + (message?.height ?? 0)).toBeLessThanOrEqual((controls?.y ?? 0) + 1);
    expect((await stateOf(refused.page)).overflow).toBe(0);
    await keepScreenshot(refused.page, 'phone-refused');
  });
});
