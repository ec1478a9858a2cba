import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { chromiumPath, keepScreenshot, loopVideo, pauseAt, stateOf, waitForTime } from '../../testing/browser.ts';
import { messageOf, tokenFor, visitPlayer } from '../../testing/player-page.ts';
import { onStage } from '../../testing/stage/stage.ts';

// The controls of the player page in a real Chromium: keyboard, menus, full screen, errors and small windows.

const [clear, encrypted] = ['bars-clear', 'bars-encrypted'];

/** Plays the clear stream, which begins again at its end, and pauses it near its beginning. */
async function visitPaused(viewport?: { width: number; height: number }): Promise<Page> {
  const { page } = await visitPlayer({ hash: clear }, viewport);
  await waitForTime(page, 0.3);
  await loopVideo(page);
  await pauseAt(page, 0.3);
  await expect.poll(() => page.getAttribute('#stage', 'data-state')).toBe('paused');
  return page;
}

/** Presses a key, after which the video comes to a time. */
async function pressTo(page: Page, key: string, seconds: number): Promise<void> {
  await page.keyboard.press(key);
  await expect.poll(async () => (await stateOf(page)).time).toBeCloseTo(seconds, 0);
}
const isMuted = (page: Page) => page.getAttribute('#mute', 'aria-pressed');
const volumeOf = async (page: Page) => Number(await page.inputValue('#volume'));

describe.skipIf(chromiumPath === null || !inject('postgres'))('the controls of the player page', () => {
  beforeAll(async () => {
    await onStage('streams of bars');
  });

  it('each key does what the help says', async () => {
    const page = await visitPaused();
    await pressTo(page, '5', 6);
    await pressTo(page, 'ArrowRight', 11);
    await pressTo(page, 'j', 1);
    await pressTo(page, 'l', 11);
    await pressTo(page, 'ArrowLeft', 6);
    await pressTo(page, 'End', 12);
    await pressTo(page, 'Home', 0);
    await pressTo(page, 'ArrowLeft', 0);
    // The browser's own keys are left to it.
    await pressTo(page, 'Control+ArrowRight', 0);
    await expect.poll(() => page.getAttribute('#seek', 'aria-valuetext')).toBe('0:00 of 0:12');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => volumeOf(page)).toBeCloseTo(0.95);
    await page.keyboard.press('ArrowUp');
    await expect.poll(() => volumeOf(page)).toBeCloseTo(1);
    await page.keyboard.press('Shift+M');
    await expect.poll(() => isMuted(page)).toBe('true');
    await page.keyboard.press('ArrowUp');
    await expect.poll(() => isMuted(page)).toBe('false');
    await expect.poll(() => volumeOf(page)).toBeCloseTo(0.05);
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => isMuted(page)).toBe('true');
    await page.locator('#volume').fill('0.5');
    await expect.poll(() => isMuted(page)).toBe('false');
    await page.locator('#volume').fill('0');
    await expect.poll(() => isMuted(page)).toBe('true');
    const expectSpeedAfter = async (keys: string, speed: number) => {
      for (const key of keys) await page.keyboard.press(key);
      await expect.poll(() => page.evaluate(`document.querySelector('video').playbackRate`)).toBe(speed);
    };
    await expectSpeedAfter('<<<<', 0.5);
    await expectSpeedAfter('>>>>>>>', 2);
    await expectSpeedAfter('<<<<', 1);
    await page.click('#pick');
    await page.keyboard.type('mk');
    await expect
      .poll(async () => [await page.inputValue('#pick'), await isMuted(page)])
      .toEqual([`${clear}mk`, 'true']);
    await page.locator('#pick').blur();
    await page.keyboard.press('?');
    await pressTo(page, '5', 0);
    await expect.poll(() => page.locator('#help').innerText()).toContain('5 seconds forward');
    await keepScreenshot(page, 'help');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('#help').isVisible()).toBe(false);
    await page.keyboard.press(' ');
    await expect.poll(() => page.getAttribute('#stage', 'data-state')).toBe('playing');
    await expect.poll(() => page.getAttribute('#play', 'aria-label')).toBe('Pause');
    await page.keyboard.press('k');
    await expect.poll(() => page.getAttribute('#play', 'aria-label')).toBe('Play');
  });

  it('at the end the stream can be played again, and the same choice begins it again', async () => {
    const { page } = await visitPlayer({ hash: clear });
    await waitForTime(page, 0.3);
    await expect
      .poll(async () => [await page.title(), await page.innerText('#title')])
      .toEqual([`${clear} · Reelwright player`, clear]);
    await expect
      .poll(() => page.locator('#recent option').evaluateAll((all) => all.map((one) => one.textContent)))
      .toEqual([clear]);
    await expect.poll(() => page.innerText('#figure-size')).toMatch(/^(?:960 × 540|640 × 360)$/);
    for (const figure of ['#figure-bitrate', '#figure-network'])
      await expect.poll(() => page.innerText(figure)).toMatch(/^\d+(?:\.\d M| k)b\/s$/);
    await expect.poll(() => page.innerText('#figure-buffer')).toMatch(/^\d+\.\d s$/);
    await expect.poll(() => page.innerText('#figure-dropped')).toMatch(/^\d+ of \d+$/);
    await page.keyboard.press('End');
    await expect.poll(() => page.getAttribute('#play', 'aria-label')).toBe('Play');
    await expect.poll(() => page.locator('#big-play').isVisible()).toBe(true);
    await page.click('#big-play');
    await expect.poll(async () => (await stateOf(page)).time).toBeLessThan(6);
    await expect.poll(() => page.locator('#big-play').isVisible()).toBe(false);
    await page.keyboard.press('5');
    await page.click('#picker button');
    await expect.poll(async () => (await stateOf(page)).time).toBeLessThan(5);
    await waitForTime(page, 0.3);
  });

  it.each(['#play', '#mute', '#volume', '#seek', '#fullscreen', '#help-open'])(
    'the keyboard works after a click on %s',
    async (control) => {
      const page = await visitPaused();
      await page.click(control);
      if (control === '#help-open') await page.click('#help-close');
      if (control === '#play') await page.click(control);
      await page.keyboard.press('0');
      await expect.poll(async () => (await stateOf(page)).time).toBe(0);
      const muted = await isMuted(page);
      await pressTo(page, 'ArrowRight', 5);
      await page.keyboard.press('m');
      await expect.poll(() => isMuted(page)).toBe(muted === 'true' ? 'false' : 'true');
      await page.keyboard.press(' ');
      await expect.poll(() => page.getAttribute('#stage', 'data-state')).toBe('playing');
    },
  );

  it('a control that was reached by Tab keeps its own keys', async () => {
    const page = await visitPaused();
    await page.focus('#seek');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await expect.poll(() => page.evaluate(`document.activeElement.id`)).toBe('mute');
    await page.keyboard.press(' ');
    await expect.poll(() => isMuted(page)).toBe('true');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => volumeOf(page)).toBeCloseTo(0.05);
    await expect.poll(() => page.getAttribute('#stage', 'data-state')).toBe('paused');
  });

  it('full screen lays the controls over the video and hides them while it plays without input', async () => {
    const { page } = await visitPlayer({ hash: clear });
    await loopVideo(page);
    await waitForTime(page, 0.3);
    await page.keyboard.press('f');
    await expect.poll(() => page.evaluate(`document.fullscreenElement?.id`)).toBe('stage');
    const height = await page.evaluate<number>(`innerHeight`);
    await expect.poll(async () => (await page.locator('#video').boundingBox())?.height).toBe(height);
    const opacity = () => page.evaluate<string>(`getComputedStyle(document.querySelector('.controls')).opacity`);
    await expect.poll(opacity).toBe('0');
    await page.mouse.move(300, 300);
    await page.mouse.move(320, 320);
    await expect.poll(opacity).toBe('1');
    await keepScreenshot(page, 'full-screen');
    await page.keyboard.press('f');
    await expect.poll(() => page.evaluate('document.fullscreenElement')).toBeNull();
    await page.dblclick('#video', { position: { x: 40, y: 40 } });
    await expect.poll(() => page.evaluate(`document.fullscreenElement?.id`)).toBe('stage');
  });

  it('an error offers what helps: the token field, another try', async () => {
    const { page } = await visitPlayer({ hash: encrypted });
    await expect.poll(() => messageOf(page)).toMatch(/^key-401: /);
    await expect
      .poll(async () => [await page.isEnabled('#seek'), await page.isEnabled('#play')])
      .toEqual([false, false]);
    await expect.poll(() => page.locator('#message button:visible').allInnerTexts()).toEqual(['Enter a token']);
    await expect.poll(() => page.getAttribute('#stage', 'data-state')).toBe('failed');
    await page.click('#enter-token');
    await expect.poll(() => page.evaluate(`document.activeElement.id`)).toBe('token');
    await page.keyboard.type(tokenFor(encrypted));
    await page.keyboard.press('Enter');
    await waitForTime(page, 0.3);

    const { page: offline } = await visitPlayer({});
    await offline.route('**/master.m3u8', (route) => route.abort());
    await offline.fill('#pick', clear);
    await offline.click('#picker button');
    await expect.poll(() => messageOf(offline)).toMatch(/^stream-unreachable: /);
    await keepScreenshot(offline, 'unreachable');
    await expect.poll(() => offline.locator('#message button:visible').allInnerTexts()).toEqual(['Try again']);
    await offline.fill('#pick', '/');
    await offline.click('#picker button');
    await expect.poll(() => offline.innerText('#picker-fault')).toMatch(/^Enter a media hash/);
    await offline.unroute('**/master.m3u8');
    // It begins by itself when the browser is online again.
    await offline.evaluate(`window.dispatchEvent(new Event('online'))`);
    await waitForTime(offline, 0.3);
    await offline.fill('#pick', clear);
    await offline.click('#picker button');
    await expect.poll(() => offline.locator('#picker-fault').isVisible()).toBe(false);

    const { page: damaged } = await visitPlayer({});
    await damaged.route('**/master.m3u8', (route) => route.fulfill({ body: 'no playlist' }));
    await damaged.fill('#pick', clear);
    await damaged.click('#picker button');
    await expect.poll(() => messageOf(damaged)).toMatch(/^shaka-\d+: /);
    expect(await damaged.locator('#message button:visible').allInnerTexts()).toEqual(['Try again']);
    await damaged.unroute('**/master.m3u8');
    await damaged.click('#retry');
    await waitForTime(damaged, 0.3);
  });
});
