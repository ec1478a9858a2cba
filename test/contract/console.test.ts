import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jobErrorCodes } from '#domain/errors.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import { chromiumPath, desktop, keepScreenshot, phone, type SentRequest } from '../../testing/browser.ts';
import { checkout } from '../../testing/checkout.ts';
import { faultsOf, faultsOfViews, goTo, openIn, originsOf, type Views } from '../../testing/console-page.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';
import { partlyFailedResults } from './results.ts';

// The console in a real Chromium, over an API with jobs of every kind.

let api: ApiUnderTest;
const ids: Record<string, string> = {};

const hues = [
  ['harbour-at-dawn', '#27496d', '#e8a87c'],
  ['alpine-crossing', '#1f4e5f', '#cfe8ef'],
  ['night-market', '#2b1b3d', '#ff7a59'],
  ['paper-birds', '#f0e6d2', '#b5654a'],
  ['tidal-flats', '#35524a', '#a2c5ac'],
  ['signal-tower', '#3b3355', '#f2c14e'],
] as const;

const plain = (height: number, background: string) =>
  ({ create: { width: 640, height, channels: 3, background } }) as const;

/** An image of two colours, as a cover of a video. Not drawn as SVG, whose loader the images of `/thumb` block. */
async function coverImage(from: string, to: string): Promise<Buffer> {
  const below = await sharp(plain(180, to)).png().toBuffer();
  return await sharp(plain(360, from))
    .composite([{ input: below, gravity: 'south' }])
    .jpeg()
    .toBuffer();
}

async function submitted(body: object): Promise<string> {
  return (await api.submit(body)).json.job_id as string;
}

async function makeJobs(): Promise<void> {
  await api.putSource('clip.mp4', 'x');
  for (const [hash, from, to] of hues) {
    const key = `videos/ab/${hash}/0123456789abcdef/cover.jpg`;
    const bytes = await coverImage(from, to);
    await api.putMedia(key, bytes, 'image/jpeg');
    const id = await submitted({ type: 'video:cover', hash, source: 'clip.mp4' });
    const cover: JobResults<'video:cover'> = {
      key,
      format: 'jpg',
      size: bytes.length,
      width: 640,
      height: 360,
      timestamp_sec: 4,
    };
    await api.complete(id, { ...cover, dominant_color: from });
    ids['completed'] = id;
  }
  const failing = {
    type: 'video:full',
    hash: 'broken-reel',
    source: 'clip.mp4',
    callback_url: 'https://example.com/hooks/media',
  };
  ids['failed'] = await submitted(failing);
  await api.fail(ids['failed'], partlyFailedResults());
  await api.putMedia('videos/ab/h/0123456789abcdef/cover.jpg', await coverImage('#444a55', '#8c93a3'), 'image/jpeg');
  ids['queued'] = await submitted({ type: 'video:full', hash: 'waiting-reel', source: 'clip.mp4' });
  ids['running'] = await submitted({ type: 'video:transcode', hash: 'running-reel', source: 'clip.mp4' });
  await api.d.jobs.claim({ jobId: ids['running'], attempt: 1, owner: 'test', leaseMs: 600_000 });
  await setRunning(42);
}

async function setRunning(progress: number): Promise<void> {
  await api.d.database.pool.query(
    `update jobs set progress = $1, phase = 'encoding', eta = now() + interval '3 minutes' where id = $2`,
    [progress, ids['running']],
  );
}

beforeAll(async () => {
  api = await startApi({ console: 'on' });
  await makeJobs();
});
afterAll(() => api?.close());

it('C31.2: the console runs under a policy without inline script or style, and loads no other host', async () => {
  const { headers, text } = await api.raw('/console/');
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*|data:|blob:/);
  expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|javascript:/);
  const bare = await api.raw('/console');
  // Relative, for a proxy that mounts the service under a path.
  expect([bare.status, bare.headers.get('location')]).toEqual([308, 'console/']);
  expect(headers.get('referrer-policy')).toBe('no-referrer');
});

it('C31.5: the advice of the console for each error of a job is the one of the page of error codes', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/reference/errors.md'), 'utf8');
  const advice = await import(join(checkout, 'web/console/advice.js'));
  const { jobAdvice } = advice as { jobAdvice: Record<string, string> };
  const written = jobErrorCodes.map((code) => {
    const cells =
      page
        .split('\n')
        .find((line) => line.startsWith(`| \`${code}\``))
        ?.split(' | ') ?? [];
    const text = (cells[3] ?? '')
      .replace(/ \|$/, '')
      .replaceAll('`', '')
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    return [code, text];
  });
  expect(jobAdvice).toEqual(Object.fromEntries(written));
});

const hasKey = ({ url, headers }: SentRequest) => `${url} ${JSON.stringify(headers)}`.includes(apiKey);

async function signIn(page: Page): Promise<void> {
  await page.fill('#key', apiKey);
  await page.click('#sign-in-button');
  await page.locator('.view').waitFor();
}

describe.skipIf(chromiumPath === null)('the console in a real Chromium', () => {
  const light = { size: desktop, scheme: 'light' } as const;
  const visit = (fragment: string, look: Parameters<typeof openIn>[0] = light) =>
    openIn(look, `${api.url}/console/${fragment}`);

  /** Opens a view as someone who is signed in. */
  async function enter(...place: Parameters<typeof visit>) {
    const watched = await visit(...place);
    await signIn(watched.page);
    return watched;
  }

  // All pages, on both sizes in light and dark: console-walk.deep.test.ts.
  it('C31.9, C31.2: axe finds no fault of a view on a dark phone, and the policy reports none of any', async () => {
    const watched = await visit('', { size: phone, scheme: 'dark' });
    const name = 'phone-dark';
    expect(await faultsOf(watched.page)).toEqual([]);
    await keepScreenshot(watched.page, `sign-in-${name}`, 'console');
    await signIn(watched.page);
    const image = encodeURIComponent('videos/ab/night-market/0123456789abcdef/cover.jpg');
    const views: Views = {
      home: ['#/', '.day'],
      media: ['#/media', '.tile img[src]'],
      jobs: ['#/jobs', '.sizer .row'],
      medium: ['#/media/harbour-at-dawn', '.shot img[src]'],
      submit: ['#/new', '.to-submit'],
      images: [`#/images?key=${image}`, '.shown-image'],
    };
    for (const [fragment, shown] of Object.values(views)) {
      await goTo(watched.page, fragment);
      await watched.page.locator(shown).first().waitFor();
    }
    const ofJobs: Views = {
      'job-failed': [`#/jobs/${ids['failed']}`, '.error-card'],
      'job-running': [`#/jobs/${ids['running']}`, '.card .progress'],
    };
    expect(await faultsOfViews(watched.page, ofJobs, name)).toEqual([]);
    expect([watched.complaints, watched.errors, await originsOf(watched)]).toEqual([[], [], [api.url]]);
  });

  it('C31.3: the API key is in no storage, cookie or address, and only its exchange carries it', async () => {
    const { page, requests } = await enter('#/jobs');
    await page.locator('.sizer .row').first().waitFor();
    const kept = await page.evaluate<string>(
      `JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie, location.href, document.documentElement.outerHTML])`,
    );
    expect(kept).not.toMatch(new RegExp(`${apiKey}|rws_`));
    expect((await requests()).filter(hasKey).map(({ method, url }) => [method, new URL(url).pathname])).toEqual([
      ['POST', '/api/sessions'],
    ]);
  });

  it('C31.3: a wrong key is refused at its field, and signing out forgets what was shown', async () => {
    const { page } = await visit('');
    await page.fill('#key', 'a-key-of-another-server');
    await page.click('#sign-in-button');
    await expect.poll(() => page.locator('#sign-in-fault').innerText()).toBe('This is not an API key of the server.');
    await signIn(page);
    await page.click('#sign-out');
    await expect
      .poll(async () => [await page.locator('#main').innerHTML(), await page.locator('#sign-in').isVisible()])
      .toEqual(['', true]);
  });

  it('C31.4: the list shows status, progress and why a job waits, and follows changes', async () => {
    const { page } = await enter('#/jobs');
    await setRunning(42);
    const row = (hash: string) => page.locator('.sizer .row', { hasText: hash });
    await expect
      .poll(() => row('running-reel').innerText())
      .toMatch(/processing[\s\S]*42 %[\s\S]*encoding, about 3 min left/);
    await expect.poll(() => row('waiting-reel').locator('.doing').innerText()).toMatch(/queue|behind|pool/);
    await setRunning(57);
    await expect.poll(() => row('running-reel').innerText()).toContain('57 %');
    await setRunning(42);
    await page.selectOption('select[name=status]', 'failed');
    await expect.poll(() => page.locator('.sizer .row').count()).toBe(1);
    await expect.poll(() => page.locator('.count').innerText()).toBe('1 job');
    await page.fill('input[name=prefix]', 'nothing-has-this-hash');
    await page.press('input[name=prefix]', 'Enter');
    await expect.poll(() => page.locator('.empty h2').innerText()).toBe('No job matches');
  });

  it('C31.4: the arrow keys walk through the list, and Enter opens a job', async () => {
    const { page } = await enter('#/jobs?status=completed');
    await page.locator('.sizer .row a').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    const second = await page.locator('.sizer .row[aria-rowindex="3"] a').innerText();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe(second);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.view h1').innerText()).toBe(second);
  });

  it('C31.5: the page of a failed job says what to do, and a retry leads to the new jobs', async () => {
    const { page } = await enter(`#/jobs/${ids['failed']}`);
    const card = page.locator('.error-card');
    await expect.poll(() => card.innerText()).toContain('Check the media bucket and its key; then retry the jobs.');
    await expect.poll(() => page.locator('.side').innerText()).toContain('https://example.com/hooks/media');
    await expect.poll(() => page.locator('.stages').innerText()).toMatch(/cover\s+ready\s+preview\s+storage_error/);
    await page.click('text=Retry');
    await expect.poll(() => page.url()).toContain('#/jobs?hash=broken-reel');
    await expect.poll(() => page.locator('.sizer .row').count()).toBe(3);
  });

  it('C31.5: an active job is followed by its events, and cancelled after a confirmation', async () => {
    const id = await submitted({ type: 'video:cover', hash: 'to-cancel', source: 'clip.mp4' });
    const { page } = await enter(`#/jobs/${id}`);
    await page.click('.actions >> text=Cancel');
    await page.locator('dialog').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.click('dialog >> text=Keep it');
    await api.d.jobs.claim({ jobId: id, attempt: 1, owner: 'test', leaseMs: 60_000 });
    await expect.poll(() => page.locator('.timeline').innerText()).toContain('processing');
    await page.click('.actions >> text=Cancel');
    await page.click('dialog >> text=Cancel the job');
    await expect.poll(() => page.locator('.title-line .badge').innerText()).toBe('cancelled');
    expect((await api.call(`/api/jobs/${id}`)).json.status).toBe('cancelled');
  });

  it('C31.5: a webhook is shown with its attempts and delivered again', async () => {
    const id = await submitted({
      type: 'video:cover',
      hash: 'hooked',
      source: 'clip.mp4',
      callback_url: 'https://example.com/h',
    });
    await api.fail(id);
    const pool = api.d.database.pool;
    await pool.query(
      `insert into webhook_attempts (event_id, attempt, started_at, duration_ms, status_code)
       select id, 1, now(), 84, 500 from webhook_events where job_id = $1`,
      [id],
    );
    await pool.query(`update webhook_events set next_attempt_at = null where job_id = $1`, [id]);
    await pool.query(`update jobs set callback_status = 'callback_failed' where id = $1`, [id]);
    const { page } = await enter(`#/jobs/${id}`);
    await expect.poll(() => page.locator('.attempts').innerText()).toMatch(/HTTP 500\s+.*, 84 ms/);
    await page.click('text=Deliver again');
    await expect.poll(() => page.locator('.side').innerText()).toContain('waits for its delivery');
  });

  it('C31.5: the rungs of a stream stand side by side with their bits and the score of each', async () => {
    const id = await submitted({ type: 'video:transcode', hash: 'scored', source: 'clip.mp4' });
    const guide = await readFile(join(import.meta.dirname, '../../docs/guides/api.md'), 'utf8');
    const section = guide.slice(guide.indexOf('### video:transcode\n'));
    const shown = /```json results\n([\s\S]*?)```/.exec(section)?.[1] ?? 'null';
    const results = JSON.parse(shown) as JobResults<'video:transcode'>;
    const scored = results.video_tracks.map((track, index) => ({
      ...track,
      quality: { measure: 'vmaf' as const, score: 95 - index, crf: 23 + index },
    }));
    const warnings = [{ code: 'odd_source', message: 'It is <odd>.' }];
    await api.complete(id, { ...results, video_tracks: scored, warnings });
    const { page } = await enter(`#/jobs/${id}`);
    const rows = page.locator('tbody tr', { hasText: 'Video' });
    await expect.poll(() => rows.count()).toBe(scored.length);
    await expect.poll(() => rows.first().innerText()).toContain('VMAF 95, CRF 23');
    await expect.poll(() => page.locator('.view').innerText()).not.toContain('A profile with quality');
    const widths = await page
      .locator('.bits')
      .evaluateAll((bars) =>
        bars.map((bar) =>
          (bar as unknown as { style: { getPropertyValue(name: string): string } }).style.getPropertyValue('--share'),
        ),
      );
    expect(widths.filter((share) => share === '100%')).toHaveLength(1);
    await expect.poll(() => page.locator('tbody').innerText()).toMatch(/Audio\s+en\s+aac, 2 ch[\s\S]*alternate/);
    await expect
      .poll(() => page.locator('.card:has(h2:text-is("Warnings"))').innerText())
      .toMatch(/odd_source\s+It is <odd>\./);
    expect(await faultsOf(page)).toEqual([]);
    await goTo(page, '#/media');
    const tile = page.locator('.tile', { hasText: 'scored' });
    await expect
      .poll(() => tile.innerText())
      .toMatch(/\d+ (?:s|min)\s+scored\s+\d+p · (?:encrypted · )?(?:now|.* ago)/);
  });

  it('C31.14: lost results are shown, and the job is made again', async () => {
    const id = await submitted({ type: 'video:cover', hash: 'lost-cover', source: 'clip.mp4' });
    const key = videoKey('lost-cover', '0123456789abcdef', 'cover.jpg');
    const bytes = await coverImage('#3b3355', '#f2c14e');
    await api.putMedia(key, bytes, 'image/jpeg');
    await api.complete(id, { key, format: 'jpg', size: bytes.length, width: 640, height: 360, timestamp_sec: 4 });
    const { page } = await enter(`#/jobs/${id}`);
    await page.locator('.shot a[href*="/thumb/"]').first().waitFor();
    await expect.poll(() => page.locator('.shot').innerText()).toMatch(/cover\s+640 × 360 · \d+(?:\.\d)? k?B/);
    await expect.poll(() => page.locator('.notice').count()).toBe(0);
    await api.d.media.delete([key]);
    await page.reload();
    const notice = page.locator('.notice', { hasText: 'missing in the media bucket' });
    await notice.waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await notice.locator('text=Make them again').click();
    await page.click('dialog >> text=Make it again');
    await expect.poll(() => page.url()).not.toContain(id);
    await expect.poll(() => page.locator('.side').first().innerText()).toContain('Run again from');
  });

  it('C31.6: what the server refuses stands at its field', async () => {
    const { page } = await enter('#/new');
    await page.click('.advanced summary');
    await page.fill('[name=hash]', 'a b');
    await page.fill('[name=options]', '{"transcode": {"encrypt": 1}}');
    await page.fill('[name=callback_url]', 'nonsense');
    await page.click('text=Submit the job');
    const faults = page.locator('.field-fault:visible');
    await expect.poll(() => faults.count()).toBe(4);
    await expect.poll(async () => (await faults.allInnerTexts()).join('\n')).toMatch(/\/options\/transcode\/encrypt/);
    await expect.poll(() => page.locator('[aria-invalid]').count()).toBe(4);
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('source');
    expect(await faultsOf(page)).toEqual([]);
    await keepScreenshot(page, 'submit-faults', 'console');
    await page.fill('[name=options]', '{');
    await page.click('text=Submit the job');
    await expect.poll(() => faults.allInnerTexts()).toEqual([expect.stringContaining('This is not JSON')]);
  });

  it('C31.10: actions are shown of the routes that a server has, and of no other', async () => {
    const { page } = await enter(`#/jobs/${ids['completed']}`);
    await expect.poll(() => page.locator('text=Make again').count()).toBe(1);
    await expect.poll(() => page.locator('#drop-hint').isVisible()).toBe(true);
    const other = await visit(`#/jobs/${ids['completed']}`);
    await other.page.route('**/openapi.json', async (route) => {
      const json = (await (await route.fetch()).json()) as { paths: Record<string, object> };
      const { '/api/jobs/{id}/rerun': _rerun, '/api/uploads': _uploads, ...paths } = json.paths;
      await route.fulfill({ json: { ...json, paths } });
    });
    await signIn(other.page);
    await other.page.locator('.title-line').waitFor();
    await expect.poll(() => other.page.locator('text=Make again').count()).toBe(0);
    await expect.poll(() => other.page.locator('#drop-hint').isVisible()).toBe(false);
  });
});
