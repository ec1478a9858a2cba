import { beforeAll, describe, expect, inject, it } from 'vitest';
import { chromiumPath, keepScreenshot, openPage } from '../../testing/browser.ts';
import { enterConsole, faultsOf } from '../../testing/console-page.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// The console over the whole service: it plays what the service made.

const encrypted = 'captioned-encrypted';
let home: string;

async function enter() {
  const watched = await openPage();
  await enterConsole(watched.page, { url: `${home}/console/#/media/${encrypted}`, key: secrets.API_KEY });
  return watched;
}

describe.skipIf(chromiumPath === null || !inject('postgres'))('the console of the whole service', () => {
  beforeAll(async () => {
    ({ url: home } = (await onStage('streams of captioned')).service);
  });

  it('C31.11: the console plays an encrypted stream with captions and storyboard, and sends its token to the key endpoint alone', async () => {
    const { page, requests, errors, complaints } = await enter();
    const player = page.frameLocator('reelwright-player iframe');
    await player.locator('#big-play').click();
    const time = () =>
      player.locator('video').evaluate((video) => (video as unknown as { currentTime: number }).currentTime);
    await expect.poll(time).toBeGreaterThan(1);
    await player.locator('#captions-toggle').click();
    const cues = () =>
      player.locator('video').evaluate((video) =>
        [
          ...(
            video as unknown as {
              textTracks: Iterable<{ mode: string; activeCues: Iterable<{ text: string }> | null }>;
            }
          ).textTracks,
        ]
          .filter(({ mode }) => mode === 'showing')
          .flatMap(({ activeCues }) => [...(activeCues ?? [])].map(({ text }) => text)),
      );
    await expect.poll(cues).toEqual(['Greetings']);
    const bar = (await player.locator('#seek').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(bar.x + bar.width / 2, bar.y + bar.height / 2);
    await expect.poll(() => player.locator('#scrub-frame').isVisible()).toBe(true);
    await keepScreenshot(page, 'player', 'console');
    const withToken = (await requests()).filter(({ headers }) => headers['authorization'] !== undefined);
    expect(withToken.map(({ url }) => new URL(url).pathname)).toEqual([`/api/key/${encrypted}`]);
    expect([errors, complaints]).toEqual([[], []]);
    expect(await faultsOf(page)).toEqual([]);
  });

  it('C31.13: a link plays the encrypted stream for a week, in a browser without an API key', async () => {
    const { page } = await enter();
    await page.selectOption('[name=share-duration]', { label: '7 days' });
    await page.click('text=Make a link');
    const link = await page.locator('.share-link').inputValue();
    const [, payload = ''] = /^[^#]+\/player\/#hash=captioned-encrypted&token=([\w-]+)\./.exec(link) ?? [];
    const { hash, exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { hash: string; exp: number };
    expect([hash, Math.round((exp - Date.now() / 1000) / 86_400)]).toEqual([encrypted, 7]);
    const other = await openPage();
    await other.page.goto(link);
    // The browser of the tests lets it begin by itself.
    const time = () => other.page.evaluate<number>('document.querySelector("video").currentTime');
    await expect.poll(time).toBeGreaterThan(0.5);
    const keys = (await other.requests()).flatMap(({ headers }) => headers['x-api-key'] ?? []);
    expect(keys).toEqual([]);
  });
});
