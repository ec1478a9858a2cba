import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { chromiumPath, keepScreenshot, phone, stateOf, waitForTime } from '../../testing/browser.ts';
import { faultsOf } from '../../testing/console-page.ts';
import { visitPlayer, withToken } from '../../testing/player-page.ts';
import { onStage } from '../../testing/stage/stage.ts';
import type { StageStreams } from '../../testing/stage/streams.ts';

// What a link to the player page says beside its stream, and a player in a small frame.

let streams: StageStreams;

async function visit(more: Record<string, string>, viewport?: { width: number; height: number }) {
  const { page, errors, complaints } = await visitPlayer({ ...withToken(streams.encrypted), ...more }, viewport);
  onTestFinished(() => expect([...errors, ...complaints]).toEqual([]));
  return page;
}

describe.skipIf(chromiumPath === null || !inject('postgres'))('links to the player page in a real Chromium', () => {
  beforeAll(async () => {
    streams = await onStage('streams of captioned');
  });

  it('C38.15: a link has a title, begins at a time, and a clean one shows details when they are asked for', async () => {
    const title = '<b>São Paulo</b> 🎬';
    const page = await visit({ title, t: '0:10', clean: '1' }, phone);
    await waitForTime(page, 10);
    expect((await stateOf(page)).overflow).toBe(0);
    expect([await page.title(), await page.innerText('#title')]).toEqual([title, title]);
    expect(await page.innerText('body')).not.toContain(streams.encrypted);
    const shown = () => Promise.all(['.figures', '.picker'].map((part) => page.isVisible(part)));
    expect(await shown()).toEqual([false, false]);
    await keepScreenshot(page, 'clean-link');
    expect(await faultsOf(page)).toEqual([]);
    await page.click('#details-open');
    expect(await shown()).toEqual([true, true]);
    expect(await page.getAttribute('#details-open', 'aria-expanded')).toBe('true');
    await page.click('#details-open');
    expect(await shown()).toEqual([false, false]);
  });

  it('a link without them shows the hash, its details and no button for them', async () => {
    const page = await visit({});
    await waitForTime(page, 0.1);
    expect([await page.title(), await page.innerText('#title')]).toEqual([
      `${streams.encrypted} · Reelwright player`,
      streams.encrypted,
    ]);
    expect([await page.isVisible('.figures'), await page.isVisible('#details-open')]).toEqual([true, false]);
  });

  it('the seek bar is marked where a chapter begins', async () => {
    const page = await visit({});
    await expect.poll(() => page.locator('#marks i').count()).toBe(1);
    const left = await page.evaluate<string>(`document.querySelector('#marks i').style.left`);
    expect(Number.parseFloat(left)).toBeCloseTo(50, 0);
  });

  it('in a frame of 16:9 the video fills it, and the controls lie over the video', async () => {
    const frame = { width: 390, height: 219 };
    const page = await visit({ embedded: '1' }, frame);
    await expect.poll(() => page.isEnabled('#play')).toBe(true);
    expect(await page.locator('#video').boundingBox()).toEqual({ x: 0, y: 0, ...frame });
    const controls = await page.locator('#controls').boundingBox();
    expect((controls?.y ?? 0) + (controls?.height ?? 0)).toBeCloseTo(frame.height, 0);
    await page.click('#settings');
    expect(await page.locator('#panel').isVisible()).toBe(true);
    await keepScreenshot(page, 'small-frame');
  });
});
