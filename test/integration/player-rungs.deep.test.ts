import { beforeAll, describe, expect, inject, it } from 'vitest';
import { chromiumPath, loopVideo, pauseAt, stateOf, waitForTime } from '../../testing/browser.ts';
import { audioSegments, choose, chosenIn, messageOf, visitPlayer, withToken } from '../../testing/player-page.ts';
import { onStage } from '../../testing/stage/stage.ts';

// The choice of a rung and of a language on the player page.

describe.skipIf(chromiumPath === null || !inject('postgres'))('the menus of an encrypted stream', () => {
  beforeAll(async () => {
    await onStage('streams of bars');
  });

  it('the page changes to the rung and to the language that are chosen, and shows both in its menus', async () => {
    const watched = await visitPlayer(withToken('bars-encrypted'));
    const { page, errors } = watched;
    await loopVideo(page);
    await waitForTime(page, 1);
    await expect.poll(() => chosenIn(page, 'audio')).toMatch(/^English/);
    expect(await audioSegments(watched, 'de')).toBe(0);
    // A busy machine drops frames, and the player leaves a rung out for that.
    await pauseAt(page, 1);
    // What is loaded for the next two seconds stays as it is, so each place lies behind that.
    for (const [height, seconds] of [
      [360, 9],
      [540, 11.5],
    ] as const) {
      await choose(page, 'quality', `${height}p · `);
      await page.locator('#seek').fill(String(seconds));
      await expect.poll(async () => (await stateOf(page)).height).toBe(height);
    }
    await choose(page, 'audio', 'German');
    await expect.poll(() => audioSegments(watched, 'de')).toBeGreaterThan(0);
    await expect.poll(() => chosenIn(page, 'audio')).toMatch(/^German/);
    expect([await messageOf(page), errors]).toEqual(['', []]);
  });
});
