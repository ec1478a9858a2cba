import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { chromiumPath, openLastingPage } from '../../testing/browser.ts';
import { type CommandLine, openCommandLine } from '../../testing/command-line.ts';
import { enterConsole, faultsOf, goTo } from '../../testing/console-page.ts';
import { makeKey } from '../../testing/named-keys.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';

// What a stranger wants on the first day, in the console by at most four steps from its first page, and by one command.
// A step is a click, a choice from a list, or a text with Enter.

const stepsMax = 4;
let api: ApiUnderTest;
let page: Page;
let cli: CommandLine;
let steps = 0;

const step = async (done: Promise<unknown>) => {
  steps += 1;
  await done;
};
const click = (selector: string) => step(page.click(selector));
const choose = (name: string, value: string) => step(page.selectOption(`[name=${name}]`, value));
const type = (name: string, text: string) => step(page.locator(`[name=${name}]`).fill(text));
const enter = async (name: string, text: string) => {
  await type(name, text);
  await page.keyboard.press('Enter');
};
const tab = (name: string) => click(`#tabs [data-tab=${name}]`);
const rows = () => page.locator('.sizer .row .cell-hash').allInnerTexts();
const outcome = () => page.locator('.bulk [role=status]').innerText();
const heading = () => page.locator('.view h1').innerText();

const sql = (text: string, values: readonly unknown[] = []) => api.d.database.pool.query(text, [...values]);
const submitted = async (hash: string, more: object = {}, headers: Record<string, string> = {}): Promise<string> =>
  (await api.submit({ type: 'video:cover', hash, source: 'clip.mp4', ...more }, headers)).json.job_id;

async function failed(hash: string, code = 'storage_error', more: object = {}): Promise<string> {
  const id = await submitted(hash, more);
  await api.fail(id);
  await sql('update jobs set error = error::jsonb || $2 where id = $1', [id, JSON.stringify({ code })]);
  return id;
}

/** A media with an image and, of another job, a stream. */
async function made(hash: string): Promise<void> {
  const key = `images/9e/${hash}/0123456789abcdef/cover.webp`;
  const image = await sharp({ create: { width: 640, height: 360, channels: 3, background: '#27496d' } })
    .webp()
    .toBuffer();
  await api.putMedia(key, image, 'image/webp');
  const cover = { key, width: 640, height: 360, size: image.length, timestamp_sec: 1, dominant_color: '#27496d' };
  await api.complete(await submitted(hash), cover as unknown as JobResults);
  const id = await submitted(hash, { type: 'video:transcode' });
  const results = {
    streaming: { encrypted: false, master_playlist: 'x' },
    video_tracks: [],
    audio_tracks: [],
    storyboard: null,
  };
  await sql(`update jobs set status = 'completed', results = $2 where id = $1`, [id, JSON.stringify(results)]);
}

/** What a command prints as JSON, when it ends with 0. */
async function printed(...args: readonly string[]) {
  const result = await cli.run([...args, '--json']);
  expect([result.stderr, result.code]).toEqual(['', 0]);
  return result.json;
}
const hashesOf = ({ jobs }: { jobs: { hash: string }[] }) => jobs.map(({ hash }) => hash).toSorted();

async function undelivered(hash: string, host: string): Promise<void> {
  const id = await failed(hash, 'internal', { callback_url: `http://${host}/hook` });
  await sql(`update webhook_events set next_attempt_at = null, failed_at = now(), attempts = 5 where job_id = $1`, [
    id,
  ]);
}

/** What the key `acme` used today. */
const insertUsage = `
  insert into usage_daily (day, key_id, type, profile, codec, slot, jobs, source_bytes, source_ms, output_bytes,
    output_ms, fetch_ms, process_ms, publish_ms, pod_ms, wasted_ms, stored_bytes)
  select (now() at time zone 'UTC')::date, id, 'video:transcode', 'default', 'h264', 0, 3, 0, 0, 0, 5400000, 0, 0, 0, 0,
    0, 0 from api_keys where name = 'acme'`;

beforeAll(async () => {
  api = await startApi({ console: 'on', webhookAllowedCidrs: ['127.0.0.0/8', '127.0.0.1/32'] });
  await api.putSource('clip.mp4', 'x');
  await makeKey(api.d.database, { name: 'acme', rights: ['read'] });
  await sql(insertUsage);
  cli = await openCommandLine({ REELWRIGHT_URL: api.url, REELWRIGHT_API_KEY: apiKey });
});
afterAll(async () => {
  await cli?.close();
  await api?.close();
});

describe('one command for each of ten tasks', () => {
  it('C31.32: finds the failed jobs of yesterday', async () => {
    const id = await failed('c-yesterday');
    await failed('c-today');
    await sql(`update jobs set created_at = date_trunc('day', now()) - interval '1 hour' where id = $1`, [id]);
    const found = await printed('jobs', '-s', 'failed', '--since', 'yesterday', '--until', 'today');
    expect(hashesOf(found)).toEqual(['c-yesterday']);
  });

  it('C31.32: retries every job of one error', async () => {
    for (const hash of ['c-retry-1', 'c-retry-2']) await failed(hash, 'packager_error');
    expect(await printed('retry', '--all', '--code', 'packager_error', '--yes')).toEqual({ retried: 2, failed: [] });
  });

  it('C31.32: cancels every waiting job of a prefix, and none that runs', async () => {
    for (const hash of ['c-show-1', 'c-show-2']) await submitted(hash);
    const running = await submitted('c-show-3');
    await api.d.jobs.claim({ jobId: running, attempt: 1, owner: 'test', leaseMs: 600_000 });
    const args = ['cancel', '--all', '-s', 'queued', '--prefix', 'c-show-', '--yes'];
    expect(await printed(...args)).toEqual({ cancelled: 2, failed: [] });
    expect((await api.d.jobs.find(running))?.status).toBe('processing');
  });

  it('C31.32: changes a title, prints the address of a smaller image, and a link that begins at 0:30', async () => {
    await made('c-movie');
    expect(await printed('media', 'title', 'c-movie', 'Lisbon')).toMatchObject({ title: 'Lisbon' });
    const { url } = await printed('thumb-url', 'c-movie', '--width', '100');
    const image = await fetch(url);
    expect((await sharp(Buffer.from(await image.arrayBuffer())).metadata()).width).toBe(100);
    expect((await printed('play', 'c-movie', '--at', '0:30')).url).toMatch(/#hash=c-movie&token=.*&t=30$/);
  });

  it('C31.32: says why a job waits', async () => {
    const id = await submitted('c-waits');
    const { stdout } = await cli.run(['job', id]);
    expect(stdout).toMatch(/^waits for +\S+/m);
  });

  it('C31.32: sends every webhook again that a receiver did not take, and no other', async () => {
    await undelivered('c-hook-1', '127.0.0.1:1');
    await undelivered('c-hook-2', '127.0.0.1:1');
    await undelivered('c-hook-3', '127.0.0.1:2');
    const { callbacks } = await printed('webhooks', '--receiver', 'http://127.0.0.1:1/');
    expect(callbacks.map(({ hash }: { hash: string }) => hash).toSorted()).toEqual(['c-hook-1', 'c-hook-2']);
    const args = ['webhooks', 'redeliver', '--all', '--receiver', 'http://127.0.0.1:1/', '--yes'];
    expect(await printed(...args)).toEqual({ sent: 2, failed: [] });
    expect((await printed('webhooks')).callbacks).toMatchObject([{ hash: 'c-hook-3' }]);
  });

  it('C31.32: makes the stream of a media again with another profile', async () => {
    await made('c-again');
    const again = await printed('rerun', '--media', 'c-again', '--profile', 'mobile');
    expect(await api.d.jobs.find(again.job_id)).toMatchObject({ type: 'video:transcode', profile: { name: 'mobile' } });
    const none = await cli.run(['rerun', '--media', 'c-nothing']);
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('no completed job made a stream of it')]);
  });

  it('C31.32: says who used how much this month', async () => {
    const first = `${new Date().toISOString().slice(0, 8)}01`;
    const { rows: found } = await printed('usage', '--by', 'key', '--from', first);
    expect(found).toContainEqual(expect.objectContaining({ key_name: 'acme', jobs: 3 }));
  });

  it('C31.32: makes a key restricted to a prefix', async () => {
    const acme = await printed('keys', 'make', 'one-show', '--right', 'submit', '--hash-prefix', 'c-show-');
    expect(acme).toMatchObject({ name: 'one-show', rights: ['submit'], hash_prefix: 'c-show-' });
    const refused = await api.submit(
      { type: 'video:cover', hash: 'c-other', source: 'clip.mp4' },
      { 'x-api-key': acme.key },
    );
    expect(refused.status).toBe(403);
  });

  it('C31.32: deletes a media', async () => {
    await made('c-gone');
    expect(await printed('delete', 'c-gone', '--yes')).toMatchObject({ status: 'deleting' });
  });

  it('C38.23: media are listed by their metadata', async () => {
    for (const [hash, owner] of ['c-of-7', 'c-of-8'].entries()) {
      const id = await submitted(owner, {}, { 'x-metadata': `owner=${hash + 7}` });
      await api.complete(id, { key: 'x' } as unknown as JobResults);
    }
    expect((await printed('media', '-m', 'owner=7')).media).toMatchObject([{ hash: 'c-of-7' }]);
    expect((await cli.run(['media', '-m', 'owner'])).code).toBe(2);
  });
});

describe.skipIf(chromiumPath === null)('at most four steps in the console for each of ten tasks', () => {
  beforeAll(async () => {
    await sql('delete from jobs');
    page = (await openLastingPage()).page;
    await enterConsole(page, { url: `${api.url}/console/`, key: apiKey });
  });
  afterAll(async () => {
    await page?.context().close();
  });
  beforeEach(async () => {
    await goTo(page, '#/');
    await page.locator('[name=find]').waitFor();
    steps = 0;
    return () => {
      expect(steps).toBeGreaterThan(0);
      expect(steps).toBeLessThanOrEqual(stepsMax);
    };
  });

  it('C31.31: a failed job of yesterday is found', async () => {
    const id = await failed('yesterday');
    await failed('today');
    await sql(`update jobs set created_at = date_trunc('day', now()) - interval '1 hour' where id = $1`, [id]);
    await tab('jobs');
    await choose('status', 'failed');
    await choose('when', 'yesterday');
    await expect.poll(rows).toEqual(['yesterday']);
    expect(await faultsOf(page)).toEqual([]);
    await click('.sizer .row a');
    await expect.poll(heading).toBe('yesterday');
  });

  it('C31.31: every job of one error is retried', async () => {
    for (const hash of ['retry-1', 'retry-2']) await failed(hash, 'packager_error');
    await step(page.locator('[data-code=packager_error] a').click({ timeout: 20_000 }));
    await click('.bulk >> text=Retry all');
    await click('dialog >> text=Retry them');
    await expect.poll(outcome).toBe('2 of 2 done.');
  });

  it('C31.31: every waiting job of a prefix is cancelled', async () => {
    for (const hash of ['show-1', 'show-2', 'other-1']) await submitted(hash);
    await step(page.locator('.side .numbers a').first().click({ timeout: 20_000 }));
    await enter('prefix', 'show-');
    await click('.bulk >> text=Cancel all');
    await click('dialog >> text=Cancel them');
    await expect.poll(outcome).toBe('2 of 2 done.');
    const { json } = await api.call('/api/jobs?status=cancelled');
    expect(hashesOf(json)).toEqual(['show-1', 'show-2']);
  });

  it('C31.31: a title is changed', async () => {
    await made('movie');
    await enter('find', 'movie');
    await enter('title', 'Holiday in Lisbon');
    await expect.poll(heading).toBe('Holiday in Lisbon');
    await goTo(page, '#/media');
    await expect.poll(() => page.locator('.tile h2').allInnerTexts()).toContain('Holiday in Lisbon');
  });

  it('C31.31: an image is resized', async () => {
    await enter('find', 'movie');
    await click('text=Resize');
    await enter('w', '100');
    await expect.poll(() => page.locator('.view').innerText()).toContain('100 × 56');
  });

  it('C31.31: a link to a video begins at 0:30', async () => {
    await enter('find', 'movie');
    await type('share-begin', '0:30');
    await click('text=Make a link');
    await expect.poll(() => page.locator('.share-link').inputValue()).toMatch(/#hash=movie.*&t=0%3A30/);
  });

  it('C31.31: one sees why a job waits', async () => {
    await step(page.locator('.side .numbers a').first().click({ timeout: 20_000 }));
    await expect.poll(() => page.locator('.sizer .row .doing').first().innerText()).not.toBe('');
    await click('.sizer .row a');
    await expect.poll(() => page.locator('.reason').innerText()).toMatch(/^It waits: /);
  });

  it('C31.31: every webhook that one receiver did not take is sent again', async () => {
    await undelivered('hook-1', '127.0.0.1:1');
    await undelivered('hook-2', '127.0.0.1:2');
    await undelivered('hook-3', '127.0.0.1:1');
    await tab('webhooks');
    await page.locator('.failed-webhooks li').first().waitFor();
    await choose('receiver', '127.0.0.1:1');
    await page.locator('[aria-label="Choose the webhook of hook-3"]').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await click('text=Deliver all again');
    await click('dialog >> text=Deliver them');
    await expect.poll(outcome).toBe('2 of 2 done.');
    expect((await api.call('/api/callbacks')).json.callbacks).toMatchObject([{ hash: 'hook-2' }]);
  });

  it('C31.31: a media is made again with another profile', async () => {
    await enter('find', 'movie');
    await click('text=Make again');
    await step(page.selectOption('dialog [name=profile]', 'mobile'));
    await click('dialog >> text=Make it again');
    await expect.poll(() => page.locator('.facts').first().innerText()).toContain('mobile');
  });

  it('C31.31: one sees who used how much this month', async () => {
    await tab('usage');
    await choose('days', 'this-month');
    await expect.poll(() => page.locator('table').last().innerText()).toMatch(/acme\s+video:transcode/);
  });

  it('C31.32: the page of keys gives the command that restricts a key to a prefix', async () => {
    await tab('keys');
    await expect.poll(() => page.locator('.view').innerText()).toContain('--hash-prefix PREFIX');
  });

  it('C31.31: a media is deleted, and is seen to be gone', async () => {
    await enter('find', 'movie');
    await click('.title-line >> text=Delete');
    await click('dialog >> text=Delete for good');
    await expect.poll(() => page.locator('.title-line .badge').innerText()).toBe('deleting');
    await tab('media');
    await page.locator('.tile[data-gone=true]', { hasText: 'movie' }).waitFor();
  });

  it('C38.23: the board finds media by a string of their metadata', async () => {
    const id = await submitted('of-seven', {}, { 'x-metadata': 'owner=7' });
    await api.complete(id, { key: 'x' } as unknown as JobResults);
    await made('of-nobody');
    await tab('media');
    await enter('search', 'owner=7');
    await expect.poll(() => page.locator('.tile h2').allInnerTexts()).toEqual(['of-seven']);
  });
});
