import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import {
  chromiumPath,
  desktop,
  keepScreenshot,
  loopVideo,
  pauseAt,
  phone,
  stateOf,
  waitForTime,
} from '../../testing/browser.ts';
import { faultsOf, focusedIn } from '../../testing/console-page.ts';
import { chosenIn, visitPlayer, withToken } from '../../testing/player-page.ts';
import { onStage } from '../../testing/stage/stage.ts';
import { markupName, type StageStreams } from '../../testing/stage/streams.ts';

// The menus inside the stage, the frame over the seek bar, and a page that texts of a source cannot change. A name in
// the source is markup.

let streams: StageStreams;

/** Opens the page, which has complained of nothing by the end of the test. */
async function visit(fragment: Record<string, string>, viewport = desktop): Promise<Page> {
  const { page, errors, complaints } = await visitPlayer(fragment, viewport);
  onTestFinished(() => expect([...errors, ...complaints]).toEqual([]));
  await waitForTime(page, 0.1);
  await loopVideo(page);
  return page;
}

const speedOf = (page: Page) => page.evaluate<number>(`document.querySelector('video').playbackRate`);

/** The rectangle of an element in the window. */
async function boxOf(page: Page, selector: string) {
  const box = await page.locator(selector).boundingBox();
  if (box === null) throw new Error(`${selector} is not visible`);
  return { left: box.x, right: box.x + box.width, top: box.y, bottom: box.y + box.height };
}

describe.skipIf(chromiumPath === null || !inject('postgres'))('the menus of the player page in a real Chromium', () => {
  beforeAll(async () => {
    streams = await onStage('streams of captioned');
  });

  it('C38.20: the menu offers another device where the browser has one, for clear streams alone', async () => {
    const page = await visit({ hash: streams.clear });
    const button = page.locator('#cast');
    await page.click('#settings');
    expect(await button.isVisible()).toBe(false);
    // Devices are outside of the browser: this one says that it has found one, for the next page.
    await page.addInitScript(`{
      const remote = Object.assign(new EventTarget(), {
        state: 'disconnected',
        watchAvailability: async (callback) => (setTimeout(() => callback(true), 0), 1),
        prompt: async () => {
          remote.state = remote.state === 'connected' ? 'disconnected' : 'connected';
          remote.dispatchEvent(new Event(remote.state === 'connected' ? 'connect' : 'disconnect'));
        },
      });
      Object.defineProperty(HTMLMediaElement.prototype, 'remote', { value: remote });
    }`);
    await page.reload();
    await waitForTime(page, 0.1);
    await page.click('#settings');
    expect(await button.innerText()).toBe('Play on another device');
    expect(await page.evaluate(`document.querySelector('video').disableRemotePlayback`)).toBe(false);
    await button.click();
    await expect.poll(() => button.innerText()).toBe('Play here again');
    await button.click();
    await expect.poll(() => button.innerText()).toBe('Play on another device');
    await page.evaluate(
      `location.hash = ${JSON.stringify(`#${new URLSearchParams(withToken(streams.encrypted)).toString()}`)}`,
    );
    await expect.poll(() => page.innerText('#figure-encryption')).toBe('cbcs');
    await waitForTime(page, 0.1);
    expect(await button.isVisible()).toBe(false);
  });

  it('names of a source are text, and the page has nothing to complain of', async () => {
    const page = await visit(withToken(streams.encrypted));
    await page.evaluate('window.attacked = () => { window.isAttacked = true; }');
    const chapters = () => page.locator('#chapter option').allInnerTexts();
    await expect.poll(chapters).toEqual([`0:00 ${markupName}`, '0:09 End']);
    expect(await page.locator('#audio option').allInnerTexts()).toEqual(['English', `German · ${markupName}`]);
    await pauseAt(page, 5);
    const bar = await boxOf(page, '#seek');
    await page.mouse.move((bar.left + bar.right) / 4, (bar.top + bar.bottom) / 2);
    await expect.poll(() => page.locator('#scrub-title').innerText()).toBe(markupName);
    expect(await page.locator('#scrub-time').innerText()).toBe('0:03');
    expect(await page.locator('#stage img, #stage script').count()).toBe(0);
    expect(await page.evaluate('window.isAttacked')).toBeUndefined();
  });

  it('in full screen the keyboard opens the menus, changes speed and chapter, and Escape closes the menus alone', async () => {
    const page = await visit({ hash: streams.clear });
    await page.keyboard.press('f');
    await expect.poll(() => page.evaluate('document.fullscreenElement?.id')).toBe('stage');
    await page.keyboard.press('s');
    expect(await focusedIn(page)).toBe('quality');
    const menus = ['quality', 'audio', 'captions', 'speed', 'chapter', 'picture-in-picture'];
    const shown = await page.locator('#stage #panel :is(select, button):visible').all();
    expect(await Promise.all(shown.map((each) => each.getAttribute('id')))).toEqual(menus);
    await keepScreenshot(page, 'menus-full-screen');
    await page.focus('#speed');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => speedOf(page)).toBe(1.25);
    await page.focus('#chapter');
    await page.keyboard.press('ArrowDown');
    await expect.poll(async () => (await stateOf(page)).time).toBeGreaterThanOrEqual(9);
    await pauseAt(page, 1);
    await expect.poll(() => chosenIn(page, 'chapter')).toBe(`0:00 ${markupName}`);
    expect(await page.getAttribute('#settings', 'aria-expanded')).toBe('true');
    await page.keyboard.press('Escape');
    expect(await page.locator('#panel').isVisible()).toBe(false);
    expect(await page.getAttribute('#settings', 'aria-expanded')).toBe('false');
    expect(await focusedIn(page)).toBe('settings');
    expect(await page.evaluate('document.fullscreenElement?.id')).toBe('stage');
    await page.keyboard.press('<');
    await expect.poll(() => speedOf(page)).toBe(1);
  });

  it('picture in picture begins from the menus', async () => {
    const page = await visit({ hash: streams.clear });
    await page.click('#settings');
    await page.click('#picture-in-picture');
    await expect.poll(() => page.evaluate('document.pictureInPictureElement?.id')).toBe('video');
    await page.click('#picture-in-picture');
    await expect.poll(() => page.evaluate('document.pictureInPictureElement')).toBeNull();
    // A click elsewhere closes the menus, and another stream has none of these.
    expect(await page.locator('#panel').isVisible()).toBe(true);
    await page.click('#title');
    expect(await page.locator('#panel').isVisible()).toBe(false);
    await page.evaluate(`location.hash = ''`);
    await expect.poll(() => page.locator('#quality option').allInnerTexts()).toEqual(['Automatic']);
    const hidden = ['#chapter-field', '#captions-toggle'].map((menu) => page.getAttribute(menu, 'hidden'));
    expect(await Promise.all(hidden)).toEqual(['', '']);
    const empty = ['quality', 'audio', 'captions'].map((menu) => page.isDisabled(`#${menu}`));
    expect(await Promise.all(empty)).toEqual([true, true, true]);
    expect(await page.locator('#captions option').allInnerTexts()).toEqual(['None']);
  });

  it.each([
    ['light' as const, desktop],
    ['dark' as const, phone],
  ])('axe finds no fault in %s colours, with the menus closed and open (%j)', async (colorScheme, size) => {
    const page = await visit({ hash: streams.clear }, size);
    await page.emulateMedia({ colorScheme });
    await pauseAt(page, 5);
    for (const isOpen of [false, true]) {
      if (isOpen) await page.click('#settings');
      await keepScreenshot(page, `menus-${colorScheme}-${size.width}-${isOpen ? 'open' : 'closed'}`);
      expect(await faultsOf(page)).toEqual([]);
      expect((await stateOf(page)).overflow).toBe(0);
    }
  });
});
