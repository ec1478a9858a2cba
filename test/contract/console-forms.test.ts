import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openUploadBucket, type UploadBucket } from '#platform/storage/upload-bucket.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { chromiumPath, openLastingPage } from '../../testing/browser.ts';
import { dropFile, enterConsole, focusedIn } from '../../testing/console-page.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';

// What a person types into the forms of the console stays, and what is wrong with it stands at its field.

const imageKey = 'images/ab/photo/0123456789abcdef/large.png';
let api: ApiUnderTest;
let uploads: UploadBucket;
let page: Page;
let folder: string;
let png: Buffer;

const state = () => page.locator('.upload [role=status]').innerText();

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

  it('C31.6: what is typed during an upload stays, also when another file is dropped on the form', async () => {
    const held = Promise.withResolvers<void>();
    await page.route('**/parts/**', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.setInputFiles('input[type=file]', { name: 'First Photo.png', mimeType: 'image/png', buffer: png });
    await expect.poll(() => page.locator('input[type=file]').isDisabled()).toBe(true);
    const options = '{"outputs": [{"variant": "mine", "width": 32, "format": "webp"}]}';
    await page.fill('[name=options]', options);
    held.resolve();
    await expect.poll(state).toContain('First Photo.png is uploaded');
    const value = (name: string) => page.inputValue(`[name=${name}]`);
    await expect
      .poll(async () => [await value('type'), await value('options'), await focusedIn(page)])
      .toEqual(['image:thumbnail', options, 'options']);
    await expect.poll(() => value('hash')).toMatch(/^First-Photo-[0-9a-f]{6}$/);
    await page.selectOption('[name=type]', 'video:cover');
    await dropFile(page, { name: 'second.png', type: 'image/png', bytes: png });
    await expect.poll(state).toContain('second.png is uploaded');
    await expect.poll(() => value('hash')).toMatch(/^second-[0-9a-f]{6}$/);
    await expect.poll(async () => [await value('type'), await value('options')]).toEqual(['video:cover', options]);
    await page.selectOption('[name=type]', 'image:thumbnail');
    await page.click('.form button[type=submit]');
    await expect.poll(() => page.locator('.view h1').innerText()).toMatch(/^second-/);
    const { json } = await api.call('/api/jobs?type=image:thumbnail');
    expect(json.jobs).toMatchObject([{ hash: expect.stringMatching(/^second-/), status: 'queued' }]);
    const takesText = `{
      const dataTransfer = new DataTransfer();
      dataTransfer.setData('text/plain', 'movie-1');
      window.dispatchEvent(new DragEvent('dragover', { dataTransfer, bubbles: true, cancelable: true }));
    }`;
    await expect.poll(() => page.evaluate(takesText)).toBe(true);
  });
});
