import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page, Route } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openUploadBucket, type UploadBucket } from '#platform/storage/upload-bucket.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { chromiumPath, openLastingPage } from '../../testing/browser.ts';
import { dropFile, enterConsole, faultsOf, goTo } from '../../testing/console-page.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';

// What a person types into the forms of the console stays, what is wrong with it stands at its field, and only the last
// answer is shown.

const imageKey = 'images/ab/photo/0123456789abcdef/large.png';
let api: ApiUnderTest;
let uploads: UploadBucket;
let page: Page;
let folder: string;
let png: Buffer;

/** Holds the next request to a path. @returns resolves when it is asked; lets it go on */
async function hold(path: string) {
  const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = async (route: Route) => {
    asked.resolve();
    await held.promise;
    // What the page gave up goes nowhere.
    await route.continue().catch(() => undefined);
  };
  await page.route(({ pathname }) => pathname === path, holding, { times: 1 });
  return { asked: asked.promise, letGo: () => held.resolve() };
}

const isOfWholeImage = (url: string) => url.includes('/thumb/') && !url.includes('w=');

describe.skipIf(chromiumPath === null)('the forms of the console', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-forms-'));
    const storage = { bucket: 'sources', dir: join(folder, 'sources') };
    await mkdir(storage.dir);
    const settings = { publicEndpoint: undefined, prefix: 'uploads/', expiryMs: 3_600_000, openMax: 100 };
    uploads = openUploadBucket({ store: storage, ...settings });
    api = await startApi({ console: 'on' }, { uploads, source: openObjectStore(storage) });
    png = await sharp({ create: { width: 64, height: 48, channels: 3, background: '#27496d' } })
      .png()
      .toBuffer();
    await api.putMedia(imageKey, png, 'image/png');
    page = (await openLastingPage()).page;
    await enterConsole(page, { url: `${api.url}/console/#/new`, key: apiKey });
  });
  afterAll(async () => {
    await page?.context().close();
    await api?.close();
    await uploads?.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  it('C31.27: dropped files are uploaded and submitted by themselves, the second one too, and a fault stands at its file', async () => {
    const held = Promise.withResolvers<void>();
    await page.route('**/parts/**', async (route) => {
      await held.promise;
      await route.continue();
    });
    const file = (name: string) => ({ name, mimeType: 'image/png', buffer: png });
    await page.setInputFiles('input[type=file]', [file('First Photo.png'), file('third.png')]);
    const rows = page.locator('.uploads li');
    await expect.poll(() => rows.count()).toBe(2);
    await goTo(page, '#/jobs');
    await dropFile(page, { name: 'second.png', type: 'image/png', bytes: png });
    await dropFile(page, { name: 'notes.txt', type: 'text/plain', bytes: Buffer.from('no media') });
    await expect.poll(() => page.locator('.view h1').innerText()).toBe('Submit');
    await expect.poll(() => rows.count()).toBe(4);
    expect(await rows.filter({ hasText: 'second.png' }).innerText()).toContain('waits for the files before it');
    expect(await faultsOf(page)).toEqual([]);
    held.resolve();
    await expect.poll(() => rows.locator('a').count()).toBe(3);
    const refused = rows.filter({ hasText: 'notes.txt' });
    await expect.poll(() => refused.innerText()).toContain('This is not a video, audio or image file');
    const { json } = await api.call('/api/jobs?type=image:thumbnail');
    const hashes = json.jobs.map((job: { hash: string }) => job.hash.replace(/-[0-9a-f]{6}$/, '')).toSorted();
    expect(hashes).toEqual(['First-Photo', 'second', 'third']);
    await rows.filter({ hasText: 'second.png' }).locator('a').click();
    await expect.poll(() => page.locator('.view h1').innerText()).toMatch(/^second-/);
    const takesText = `{
      const dataTransfer = new DataTransfer();
      dataTransfer.setData('text/plain', 'movie-1');
      window.dispatchEvent(new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true }));
    }`;
    await expect.poll(() => page.evaluate(takesText)).toBe(true);
  });

  it('C31.31: a later answer to the first size that was asked for does not replace the image of the last one', async () => {
    const { asked, letGo } = await hold('/api/console/links');
    await goTo(page, `#/images?key=${imageKey}`);
    await asked;
    await page.fill('input[name=w]', '16');
    await page.keyboard.press('Enter');
    const shown = page.locator('.view');
    await expect.poll(() => shown.innerText()).toContain('16 × 12');
    const first = page.waitForEvent('requestfinished', (request) => isOfWholeImage(request.url()));
    letGo();
    await first;
    await sleep(500);
    expect(await shown.innerText()).toContain('16 × 12');
  });

  it('C32.20: the plan of what was in the form before is not shown', async () => {
    const { asked, letGo } = await hold('/api/rollouts/plan');
    await goTo(page, '#/rollouts/new');
    await page.fill('[name=to_profile]', 'default');
    await page.click('text=Show the plan');
    await asked;
    await page.fill('[name=hash_prefix]', 'lectures-');
    letGo();
    const button = page.locator('.view button[type=submit]');
    await expect.poll(() => button.isEnabled()).toBe(true);
    expect(await button.innerText()).toBe('Show the plan');
    expect(await page.locator('.fault:visible').count()).toBe(0);
    await button.click();
    await expect.poll(() => button.innerText()).toBe('Start the rollout');
  });
});
