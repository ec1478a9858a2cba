import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dataFolderAt, readOrMakeSecrets, type Secrets } from '../../demo/data-folder.ts';
import { choosePort, type Service, startService } from '../../demo/service.ts';
import { chromiumPath, keepScreenshot, phone } from '../../testing/browser.ts';
import { dropFile, faultsOf, openIn } from '../../testing/console-page.ts';
import { checkout } from '../../testing/checkout.ts';
import { findProgram, type S3Server, startS3 } from '../../testing/servers.ts';
import { smallLadder } from '../../testing/stage/service.ts';
import { makeCaptionedVideo } from '../../testing/stage/streams.ts';
import { shownCues } from '../../testing/player-page.ts';

// The walk of a person through the console of the whole service, whose sources are in an S3 server of another origin:
// from a file that is dropped to a media that is deleted.

let folder: string;
let clip: Buffer;
let secrets: Secrets;
let s3: S3Server;
let service: Service;
let receiver: Server;
let webhooks = 0;
/** Webhooks are refused. */
let isReceiverDown = false;

async function start(): Promise<void> {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-walk-'));
  await chmod(folder, 0o755);
  clip = await readFile(await makeCaptionedVideo(folder));
  receiver = createServer((request, response) => {
    request.resume().on('end', () => {
      webhooks += 1;
      response.writeHead(isReceiverDown ? 503 : 200).end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const data = await dataFolderAt(join(folder, 'data'));
  secrets = await readOrMakeSecrets(data);
  const port = await choosePort('0');
  s3 = await startS3({ corsOrigin: `http://127.0.0.1:${port}` });
  await mkdir(join(s3.dir ?? '', 'source'));
  const profile = { ladder: smallLadder, storyboard: 'always', captions: 'always' };
  const settings = {
    CONSOLE: 'home',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_BACKOFF: '0s',
    MEDIA_PROFILES: JSON.stringify({ profiles: { default: profile } }),
    SOURCE_BUCKET: 'source',
    SOURCE_S3_ENDPOINT: s3.endpoint,
    SOURCE_S3_ACCESS_KEY_ID: s3.accessKeyId,
    SOURCE_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    UPLOAD_BUCKET: 'source',
    UPLOAD_S3_ACCESS_KEY_ID: s3.accessKeyId,
    UPLOAD_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const env = { ...process.env, X264_PRESET: 'ultrafast' };
  const { signal } = new AbortController();
  service = await startService({ checkout, data, secrets, port, env, settings, signal });
}

/** @returns the frame that plays */
async function play(page: Page): Promise<Frame> {
  const player = page.frameLocator('reelwright-player iframe');
  await player.locator('#big-play').click();
  const frame = page.frames().find((each) => each.url().includes('/player/'));
  await expect.poll(() => frame?.evaluate<number>('document.querySelector("video").currentTime')).toBeGreaterThan(1);
  await player.locator('#captions-toggle').click();
  await expect.poll(() => frame && shownCues(frame)).toEqual(['Greetings']);
  if (frame === undefined) throw new Error('the page has no player');
  return frame;
}

const statusOf = (page: Page) => page.locator('.title-line .badge').innerText();

describe.skipIf(chromiumPath === null || findProgram('versitygw') === null)('a walk through the console', () => {
  beforeAll(start);
  afterAll(async () => {
    await service?.stop();
    await s3?.stop();
    receiver?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('C31.12, C31.9: on a phone in dark colours a dropped file becomes a stream that plays, is reported, made again and deleted', async () => {
    const home = `${service.baseUrl}/#key=${secrets.values.API_KEY}`;
    const { page, errors, complaints, requests } = await openIn({ size: phone, scheme: 'dark' }, home);
    await page.locator('.view').waitFor();

    await dropFile(page, { name: 'walk home.mkv', type: 'video/x-matroska', bytes: clip });
    await expect.poll(() => page.locator('.upload [role=status]').innerText()).toContain('is uploaded');
    const parts = (await requests()).filter(({ method, url }) => method === 'PUT' && url.startsWith(s3.endpoint));
    expect(new Set(parts.map(({ headers }) => headers['x-api-key']))).toEqual(new Set([undefined]));
    const { port } = receiver.address() as AddressInfo;
    await page.fill('[name=callback_url]', `http://127.0.0.1:${port}/`);
    expect(await faultsOf(page)).toEqual([]);
    await keepScreenshot(page, 'walk-uploaded', 'console');
    const hash = await page.inputValue('[name=hash]');
    expect(hash).toMatch(/^walk-home-/);
    isReceiverDown = true;
    await page.click('.form button[type=submit]');

    await page.locator('.title-line').waitFor();
    await expect.poll(() => statusOf(page)).toBe('completed');
    await expect.poll(() => page.locator('.timeline').innerText()).toContain('processing');
    const tracks = page.locator('.card', { has: page.locator('h2', { hasText: 'Tracks' }) });
    await expect.poll(() => tracks.innerText()).toMatch(/Mb\/s[\s\S]*A profile with quality gives each rung a score\./);
    const times = page.locator('.card', { hasText: 'Time and usage' });
    await expect.poll(() => times.innerText()).toMatch(/Processors[\s\S]*Attempt 1 completed/);
    await expect
      .poll(() => times.locator('.spans .spans li > :first-child').allInnerTexts())
      .toEqual(['fetch', 'process', 'publish']);
    const frame = await play(page);
    await expect.poll(() => page.locator('.side').innerText()).toContain('not delivered');
    isReceiverDown = false;
    const before = webhooks;
    await page.click('text=Deliver again');
    await expect.poll(() => page.locator('.side').innerText()).toMatch(/^delivered$/m);
    expect(webhooks).toBe(before + 1);
    expect(frame.isDetached()).toBe(false);
    expect(await faultsOf(page)).toEqual([]);
    await keepScreenshot(page, 'walk-plays', 'console');

    await expect.poll(() => page.locator('.attempts li').count()).toBe(2);

    const first = page.url();
    await page.click('.actions >> text=Run again');
    await expect.poll(() => page.url()).not.toBe(first);
    await page.locator('.title-line').waitFor();
    await expect.poll(() => statusOf(page)).toBe('completed');

    await page.click('.title-line h1 a');
    await page.locator('.share-link, [name=share-duration]').first().waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await keepScreenshot(page, 'walk-medium', 'console');
    await page.click('.actions >> text=Delete');
    await page.click('dialog >> text=Delete for good');
    const status = async () => (await fetch(`${service.baseUrl}/stream/${hash}/master.m3u8`)).status;
    await expect.poll(status).toBe(410);
    await expect.poll(() => statusOf(page)).toMatch(/^delet/);
    const ofPolicy = complaints.filter((text) => /Content Security Policy|CORS/.test(text));
    expect([errors, ofPolicy]).toEqual([[], []]);
  });
});
