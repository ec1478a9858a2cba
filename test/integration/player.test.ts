import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { checkEncryptedStream } from '../../demo/check.ts';
import { getJob } from '../../demo/jobs.ts';
import {
  chromiumPath,
  differenceOf,
  keepScreenshot,
  loopVideo,
  messageOf,
  openBrowser,
  openMenus,
  openPage,
  shownFrame,
  stateOf,
  waitForTime,
  type WatchedPage,
} from '../../testing/browser.ts';

import { clear, encrypted, makeStreams, startForger, type Streams } from './player-streams.ts';

// The streams of the whole service: decrypted by a program, and played by the player page in a browser.

let streams: Streams;

beforeAll(async () => {
  streams = await makeStreams();
}, 480_000);

afterAll(() => streams?.stop());

function tokenFor(hash: string, { lifetimeSec = 600, secret = streams.secrets.values.KEY_TOKEN_SECRET } = {}): string {
  return signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + lifetimeSec }, secret);
}

describe('the encrypted stream', () => {
  const { signal } = new AbortController();
  const tools = { ffmpeg: findProgram('ffmpeg', process.env), packager: findProgram('packager', process.env) };

  /** Fetches, decrypts and decodes the stream through a server that changes the answers by `change`. */
  async function check(name: string, change = (_path: string, bytes: Buffer) => bytes) {
    const forger = await startForger(streams.service.baseUrl, change);
    onTestFinished(() => forger.stop());
    const { results } = streams.job;
    const encryption = { ...results.encryption!, key_endpoint: `${forger.baseUrl}/api/key/${encrypted}` };
    return await checkEncryptedStream({
      baseUrl: forger.baseUrl,
      hash: encrypted,
      token: tokenFor(encrypted),
      results: { ...results, encryption },
      tools,
      workDir: join(streams.folder, name),
      signal,
    });
  }

  it('the encrypted stream decrypts with the key of the key endpoint, and its top rung has an SSIM over 0.9', async () => {
    const renditions = await check('whole');
    expect(renditions.map(({ kind }) => kind).toSorted()).toEqual(['audio', 'audio', 'video', 'video']);
    const top = renditions.find(({ url }) => url.includes('/r540_h264/'));
    const inputs = ['-i', top?.file ?? '', '-i', streams.source];
    const args = ['-nostdin', '-v', 'info', ...inputs, '-filter_complex', '[0:v][1:v]ssim', '-an', '-f', 'null', '-'];
    const { stderrTail } = await runCommand({ program: tools.ffmpeg, args }, { timeoutMs: 60_000 });
    expect(Number(/SSIM .*All:([0-9.]+)/.exec(stderrTail)?.[1])).toBeGreaterThan(0.9);
  });

  it('the stream check fails with another key', async () => {
    const other = check('other-key', (path, bytes) => (path.startsWith('/api/key/') ? Buffer.alloc(16, 7) : bytes));
    await expect(other).rejects.toThrow(/does not decrypt|does not decode|decodes with errors/);
  });

  it('the stream check fails with a damaged segment', async () => {
    const damaged = check('damaged', (path, bytes) =>
      path.endsWith('/video/r360_h264/seg_2.m4s') ? Buffer.from(bytes).fill(0, bytes.length >> 1) : bytes,
    );
    await expect(damaged).rejects.toThrow(/does not decrypt|does not decode|decodes with errors/);
  });

  it('the stream check fails with a missing segment and with a clear init segment', async () => {
    const missing = check('missing', (path, bytes) =>
      path.endsWith('/playlist.m3u8') ? Buffer.from(bytes.toString().replace(/#EXTINF:.*\n.*seg_2.*\n/, '')) : bytes,
    );
    await expect(missing).rejects.toThrow(/decodes to .* instead of/);
    const bare = check('bare', (path, bytes) =>
      path.endsWith('/init.mp4') ? Buffer.from(bytes.toString('latin1').replaceAll('cbcs', 'cenc'), 'latin1') : bytes,
    );
    await expect(bare).rejects.toThrow(/is not protected by cbcs/);
  });
});

let browser: Browser;

function address(fragment: Record<string, string>, baseUrl = streams.service.baseUrl): string {
  return `${baseUrl}/player/#${new URLSearchParams(fragment).toString()}`;
}

/** Opens the player page with `fragment`, in a new profile. */
async function visit(fragment: Record<string, string>, viewport?: { width: number; height: number }) {
  const watched = await openPage(browser, viewport);
  onTestFinished(() => watched.page.context().close());
  await watched.page.goto(address(fragment));
  return watched;
}

async function expectMotion({ page, errors }: WatchedPage): Promise<void> {
  await loopVideo(page);
  await waitForTime(page, 1);
  const first = await shownFrame(page);
  expect(first.brightness).toBeGreaterThan(20);
  expect(first.contrast).toBeGreaterThan(20);
  await expect.poll(async () => differenceOf(first, await shownFrame(page))).toBeGreaterThan(2);
  expect(await messageOf(page)).toBe('');
  expect(errors).toEqual([]);
}

describe.skipIf(chromiumPath === null)('the player page in a real Chromium', () => {
  beforeAll(async () => {
    browser = await openBrowser();
  });

  afterAll(() => browser?.close());

  it('the page plays the encrypted stream with its token: time advances and the frame changes', async () => {
    const watched = await visit({ hash: encrypted, token: tokenFor(encrypted) });
    await expectMotion(watched);
    await expect.poll(() => watched.page.locator('#figure-encryption').innerText()).toBe('cbcs');
    await keepScreenshot(watched.page, 'encrypted');
  });

  it('the page sends the token to the key endpoint only, as a header', async () => {
    const token = tokenFor(encrypted);
    const { page, requests } = await visit({ hash: encrypted, token });
    await waitForTime(page, 2);
    const sent = await requests();
    expect(sent.filter(({ url }) => url.includes('/stream/')).length).toBeGreaterThan(4);
    for (const { url, headers } of sent) {
      const isKeyRequest = new URL(url).pathname === `/api/key/${encrypted}`;
      expect.soft(url).not.toContain(token);
      expect.soft(headers['authorization'] ?? 'none', url).toBe(isKeyRequest ? `Bearer ${token}` : 'none');
      const others = Object.entries(headers).filter(([name]) => name !== 'authorization');
      expect.soft(JSON.stringify(others), url).not.toContain(token);
    }
    expect(sent.some(({ url }) => url.endsWith(`/api/key/${encrypted}`))).toBe(true);
  });

  it('the page sends the token to its own host, also when a playlist names another host', async () => {
    const watched = await openPage(browser);
    onTestFinished(() => watched.page.context().close());
    const page = streams.service.baseUrl.replace('127.0.0.1', 'localhost');
    await watched.page.goto(address({ hash: encrypted, token: tokenFor(encrypted) }, page));
    await waitForTime(watched.page, 1);
    const hosts = (await watched.requests()).map(({ url }) => new URL(url).host);
    expect([...new Set(hosts.filter((host) => host !== ''))]).toEqual([new URL(page).host]);
  });

  const refusals: [string, () => string, RegExp][] = [
    ['without a token', () => '', /^key-401: This stream is encrypted and needs a token/],
    [
      'with an expired token',
      () => tokenFor(encrypted, { lifetimeSec: -60 }),
      /^key-403: The token was refused It expired on /,
    ],
    [
      'with a forged token',
      () => tokenFor(encrypted, { secret: 'a secret of another service' }),
      /^key-403: The token was refused Its signature is not valid/,
    ],
    [
      "with another media's token",
      () => tokenFor(clear),
      /^key-403: The token was refused It was made for another media/,
    ],
    ['with a text that is not a token', () => 'nonsense', /^key-403: The token was refused It is not a playback token/],
  ];

  it.each(refusals)(
    '%s the encrypted stream does not play, and the page shows the reason',
    async (name, token, message) => {
      const { page, errors } = await visit({ hash: encrypted, ...(token() === '' ? {} : { token: token() }) });
      await expect.poll(() => messageOf(page)).toMatch(message);
      // The player is removed from the page, so that nothing can begin to play later.
      await expect.poll(() => page.evaluate(`document.querySelector('video').readyState`)).toBe(0);
      expect(await stateOf(page)).toMatchObject({ time: 0, frames: 0 });
      expect(errors).toEqual([]);
      await keepScreenshot(page, name.replaceAll(/\W+/g, '-'));
    },
  );

  it.each(['shaka', 'hls'])(
    'an encrypted stream asks for https in %s where the browser does not decrypt',
    async (engine) => {
      const { page } = await openPage(browser);
      onTestFinished(() => page.context().close());
      const host = 'http://media.example';
      await page.route(`${host}/**`, async (route) => {
        const url = route.request().url().replace(host, streams.service.baseUrl);
        await route.fulfill({ response: await route.fetch({ url }) });
      });
      await page.goto(address({ hash: encrypted, engine, token: tokenFor(encrypted) }, host));
      await expect.poll(() => messageOf(page), { timeout: 60_000 }).toMatch(/^insecure: Encrypted streams need https/);
    },
  );

  it('the page shows stream-404 for a hash without a stream', async () => {
    const { page } = await visit({ hash: 'no-such-stream' });
    await expect.poll(() => messageOf(page)).toMatch(/^stream-404: This stream does not exist/);
    await keepScreenshot(page, 'missing');
  });

  it.each(['shaka', 'hls', 'dash'])('the page plays the clear stream in %s without a token', async (engine) => {
    const watched = await visit({ hash: clear, engine });
    await expectMotion(watched);
    await keepScreenshot(watched.page, `clear-${engine}`);
    expect((await watched.requests()).some(({ url }) => url.includes('/api/key/'))).toBe(false);
  });

  it.each(['hls', 'dash'])(
    'the page plays the encrypted stream in %s, with the token sent for the licence only',
    async (engine) => {
      const token = tokenFor(encrypted);
      const watched = await visit({ hash: encrypted, engine, token });
      await expectMotion(watched);
      await expect.poll(() => watched.page.locator('#figure-encryption').innerText()).toBe('cbcs');
      const sent = await watched.requests();
      const withToken = sent.filter(({ headers, url }) => JSON.stringify([headers, url]).includes(token));
      expect([...new Set(withToken.map(({ url }) => new URL(url).pathname))]).toEqual([
        `/api/key/${encrypted}/clearkey`,
      ]);
    },
  );

  it.each(['shaka', 'dash', 'hls'])(
    'C14.17: the page shows a frame of the storyboard while seeking in %s',
    async (engine) => {
      const { page } = await visit({ hash: clear, engine });
      await waitForTime(page, 1);
      const bar = (await page.locator('#seek').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      await page.mouse.move(bar.x + bar.width * 0.75, bar.y + bar.height / 2);
      await expect.poll(() => page.locator('#scrub-frame').isVisible()).toBe(true);
      const { backgroundImage, backgroundPosition } = await page.locator('#scrub-frame').evaluate((frame) => {
        const style = (
          globalThis as unknown as { getComputedStyle(of: unknown): Record<string, string> }
        ).getComputedStyle(frame);
        return { backgroundImage: style['backgroundImage'], backgroundPosition: style['backgroundPosition'] };
      });
      expect(backgroundImage).toMatch(/\/storyboard\/sheet_1\.jpg"\)$/);
      // Second 9 of 12 is on the fifth tile.
      expect(backgroundPosition).toBe('-640px 0px');
      await keepScreenshot(page, `storyboard-${engine}`);
    },
  );

  it('the page shows key-403 in hls.js for a token of another media, and plays after the other player is chosen', async () => {
    const { page } = await visit({ hash: encrypted, engine: 'hls', token: tokenFor(clear) });
    await expect.poll(() => messageOf(page), { timeout: 60_000 }).toMatch(/^key-403: The token was refused/);
    await page.fill('#token', tokenFor(encrypted));
    await page.selectOption('#engine', 'shaka');
    await page.fill('#token', tokenFor(encrypted));
    await page.click('#picker button');
    await waitForTime(page, 1);
    expect(await messageOf(page)).toBe('');
  });

  it.each(['shaka', 'hls'])('the page switches the quality while playing in %s', async (engine) => {
    const { page } = await visit({ hash: encrypted, engine, token: tokenFor(encrypted) });
    await loopVideo(page);
    await waitForTime(page, 0.5);
    const height = async () => (await stateOf(page)).height;
    const choose = async (text: string) => {
      const value = await page.locator('#quality option', { hasText: text }).last().getAttribute('value');
      await openMenus(page);
      await page.selectOption('#quality', value ?? '');
    };
    await choose('360p · ');
    await page.locator('#seek').fill('0.2');
    await expect.poll(height).toBe(360);
    await choose('540p · ');
    await expect.poll(height).toBe(540);
    await openMenus(page);
    await page.selectOption('#quality', 'auto');
    await expect.poll(() => page.locator('#quality').inputValue()).toBe('auto');
  });

  it.each(['shaka', 'hls'])(
    'the page begins with the default audio track in %s and switches to the other',
    async (engine) => {
      const { page, requests } = await visit({ hash: encrypted, engine, token: tokenFor(encrypted) });
      await loopVideo(page);
      await waitForTime(page, 0.5);
      const segmentsOf = async (language: string) =>
        (await requests()).filter(({ url }) => url.includes(`/audio_${language}_`) && url.endsWith('.m4s')).length;
      const [before, chosen] = [await segmentsOf('de'), await page.locator('#audio option:checked').innerText()];
      expect(chosen).toMatch(/^English/);
      expect(before).toBe(0);
      const german = await page.locator('#audio option', { hasText: 'German' }).getAttribute('value');
      await openMenus(page);
      await page.selectOption('#audio', german ?? '');
      await expect.poll(() => segmentsOf('de')).toBeGreaterThan(0);
      await page.locator('#seek').fill('0');
      await waitForTime(page, 2);
      expect(await page.locator('#audio option:checked').innerText()).toMatch(/^German/);
    },
  );

  it('the slider seeks, and the button pauses and resumes', async () => {
    const { page } = await visit({ hash: encrypted, token: tokenFor(encrypted) });
    await loopVideo(page);
    await waitForTime(page, 0.5);
    const isPaused = () => page.evaluate(`document.querySelector('video').paused`);
    await page.click('#play');
    await expect.poll(isPaused).toBe(true);
    await page.locator('#seek').hover();
    await expect.poll(() => page.locator('#scrub-tip').isVisible()).toBe(true);
    await page.locator('#seek').fill('9');
    await expect.poll(async () => (await stateOf(page)).time).toBe(9);
    await page.click('#play');
    await waitForTime(page, 9.5);
    expect(await isPaused()).toBe(false);
  });

  it('the page plays a pasted job of the API', async () => {
    const { page } = await visit({});
    expect(await messageOf(page)).toMatch(/^nothing: /);
    await page.fill('#pick', JSON.stringify(await getJob(streams.job.job_id, streams.api), null, 2));
    await page.fill('#token', tokenFor(encrypted));
    await page.click('#picker button');
    await waitForTime(page, 1);
    await page.fill('#pick', JSON.stringify({ hash: 'x', type: 'image:thumbnail', status: 'completed', results: {} }));
    await page.click('#picker button');
    expect(await page.locator('#picker-fault').innerText()).toContain('has no stream');
  });

  it('the page fits a phone: no horizontal scrolling, and touch targets of 44 pixels', async () => {
    const { page } = await visit({ hash: encrypted, token: tokenFor(encrypted) }, { width: 320, height: 640 });
    await waitForTime(page, 1);
    expect((await stateOf(page)).overflow).toBe(0);
    for (const button of await page.locator('.controls button:visible').all()) {
      const box = await button.boundingBox();
      expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(44);
    }
    await keepScreenshot(page, 'phone');
    const refused = await visit({ hash: encrypted, token: tokenFor(clear) }, { width: 320, height: 640 });
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
