import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitingReasonSchema } from '#domain/jobs/waiting.ts';
import { chromiumPath, openLastingPage } from '../../testing/browser.ts';
import { checkout } from '../../testing/checkout.ts';
import { enterConsole, goTo } from '../../testing/console-page.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';

// What the console shows of answers that are rare: nothing yet, much at once, earlier revisions, lost sources.

let api: ApiUnderTest;
let page: Page;

const submitted = async (hash: string): Promise<string> =>
  (await api.submit({ type: 'video:cover', hash, source: 'clip.mp4' })).json.job_id as string;

const expires = async () => (await api.call('/api/media/revised')).json.expires_at;

/** Changes what the service answers at `path`. */
const changing = (path: string, change: (json: never) => object) =>
  page.route(path, async (route) => {
    const json = (await (await route.fetch()).json()) as never;
    await route.fulfill({ json: change(json) });
  });

it('C31.4: the console has words for each reason why a job waits', async () => {
  const { reasonTextOf } = (await import(join(checkout, 'web/console/format.js'))) as {
    reasonTextOf: (code: string) => string | undefined;
  };
  for (const code of waitingReasonSchema.shape.code.options)
    expect([code, reasonTextOf(code)]).toEqual([code, expect.any(String)]);
});

describe.skipIf(chromiumPath === null)('rare answers in the console', () => {
  beforeAll(async () => {
    api = await startApi({ console: 'on' });
    await api.putSource('clip.mp4', 'x');
    page = (await openLastingPage()).page;
    await enterConsole(page, { url: `${api.url}/console/`, key: apiKey });
  });
  afterAll(async () => {
    await page?.context().close();
    await api?.close();
  });
  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  it('C38.16: the page of a media shows title and metadata and changes the title, and a link has it where that is wanted', async () => {
    const submission = { type: 'video:cover', hash: 'titled', source: 'clip.mp4' };
    const said = { 'x-title': 'S%C3%A3o Paulo', 'x-metadata': 'customer=42' };
    const { json: job } = await api.submit(submission, said);
    const results = { streaming: { master_playlist: 'x' } };
    await changing('**/api/jobs?*', ({ jobs, ...rest }: { jobs: { job_id: string }[] }) => ({
      ...rest,
      jobs: jobs.map((each) => (each.job_id === job.job_id ? { ...each, type: 'video:transcode', results } : each)),
    }));
    await goTo(page, '#/media/titled');
    await page.locator('h1', { hasText: 'São Paulo' }).waitFor();
    expect(await page.innerText('.facts')).toMatch(/customer\s+42/i);
    await page.fill('[name=title]', 'Holiday <i>');
    await page
      .locator('form', { has: page.locator('[name=title]') })
      .locator('button')
      .click();
    await page.locator('h1', { hasText: 'Holiday <i>' }).waitFor();
    expect((await api.call('/api/media/titled')).json).toMatchObject({
      title: 'Holiday <i>',
      metadata: { customer: '42' },
    });
    await page.fill('[name=share-begin]', '1:30');
    await page.click('text=Make a link');
    const link = async () => new URLSearchParams(new URL(await page.inputValue('.share-link')).hash.slice(1));
    await expect
      .poll(async () => Object.fromEntries(await link()))
      .toMatchObject({
        title: 'Holiday <i>',
        t: '1:30',
        clean: '1',
      });
    await page.uncheck('[name=share-title]');
    await page.click('text=Make a link');
    await expect.poll(async () => (await link()).has('title')).toBe(false);
    await goTo(page, `#/jobs/${job.job_id}`);
    await expect.poll(() => page.innerText('.facts')).toMatch(/title\s+São Paulo\s+customer\s+42/i);
  });

  it('C34.12: the page of a media has a row for each day on which players said how it plays', async () => {
    const id = await submitted('watched');
    const results = { streaming: { master_playlist: 'x' } };
    await changing('**/api/jobs?*', ({ jobs, ...rest }: { jobs: { job_id: string }[] }) => ({
      ...rest,
      jobs: jobs.map((job) => (job.job_id === id ? { ...job, type: 'video:transcode', results } : job)),
    }));
    const day = {
      day: '2026-11-24',
      requests: 8412,
      sessions: 131,
      starved_share: 0.007,
      median_throughput_kbps: 18_300,
    };
    const answer = { days: [day, { ...day, day: '2026-11-23', starved_share: 0, median_throughput_kbps: null }] };
    await page.route('**/api/media/watched/playback', (route) => route.fulfill({ json: answer }));
    await goTo(page, '#/media/watched');
    const rows = page.locator('[aria-label=Playback] tbody tr');
    await expect.poll(() => rows.count()).toBe(2);
    expect(await rows.allInnerTexts()).toEqual([
      '2026-11-24\t131\t8,412\t0.7 %\t18.3 Mb/s',
      '2026-11-23\t131\t8,412\t0 %\t–',
    ]);
  });

  it('C31.5, C31.30: an earlier revision is published again, the expiry set and removed, and files listed without a row for each segment', async () => {
    await submitted('revised');
    const created = '2026-01-02T03:04:05.000Z';
    const revision = (name: string, more: object) => ({
      ...more,
      revision: name,
      bytes: 3_100_000,
      created_at: created,
    });
    let revisions = [
      revision('bbbb', { current: true, playlist: 'b' }),
      revision('aaaa', { playlist: 'a' }),
      revision('0000', {}),
    ];
    await changing('**/api/media/revised', (given: object) => ({ ...given, revisions }));
    const chosen: unknown[] = [];
    await page.route('**/api/media/revised/current', async (route) => {
      chosen.push([route.request().method(), route.request().postDataJSON()]);
      revisions = revisions.map((each) => ({ ...each, current: each.revision === 'aaaa' }));
      await route.fulfill({ json: {} });
    });
    await page.route('**/api/media/revised/files?*', async (route) => {
      const cursor = new URL(route.request().url()).searchParams.get('cursor');
      const segment = cursor === null ? 'seg_1.m4s' : 'seg_2.m4s';
      const files = [`${cursor ?? 'first'}.vtt`, `video/720p/${segment}`].map((name) => ({
        key: `videos/ab/revised/bbbb/${name}`,
        size: 1200,
      }));
      await route.fulfill({ json: { files, next_cursor: cursor === null ? 'second' : null } });
    });
    await goTo(page, '#/media/revised');
    const rows = page.locator('.card', { hasText: 'Revisions' }).locator('li');
    await expect
      .poll(() => rows.allInnerTexts())
      .toEqual([
        expect.stringMatching(/bbbb\s+3\.1 MB, .* ago\s+current/),
        expect.stringMatching(/aaaa\s+3\.1 MB, .* ago\s+Play this one/),
        expect.stringMatching(/0000\s+3\.1 MB, .* ago$/),
      ]);
    await page.click('text=Play this one');
    await expect.poll(() => rows.nth(1).innerText()).toMatch(/aaaa\s+3\.1 MB, .* ago\s+current/);
    expect(chosen).toEqual([['PUT', { revision: 'aaaa' }]]);
    await page.fill('input[type=date]', '2099-02-03');
    await page.click('.line-form >> text=Set');
    await expect.poll(expires).toBe('2099-02-03T00:00:00.000Z');
    await expect.poll(() => page.locator('.facts', { hasText: 'Status' }).innerText()).toMatch(/Expires\s+.*2099/);
    await page.fill('input[type=date]', '');
    await page.click('.line-form >> text=Set');
    await expect.poll(() => page.locator('.facts', { hasText: 'Status' }).innerText()).toMatch(/Expires\s+never/);
    expect(await expires()).toBeNull();
    await page.focus('text=List the files');
    await page.keyboard.press('Enter');
    const files = page.locator('.files li');
    await expect
      .poll(() => files.allInnerTexts())
      .toEqual([
        expect.stringMatching(/video\/720p\/\s+2 segments, 2\.4 kB/),
        expect.stringMatching(/bbbb\/first\.vtt\s+1\.2 kB/),
        expect.stringMatching(/bbbb\/second\.vtt\s+1\.2 kB/),
      ]);
    await expect.poll(() => page.locator('.card', { hasText: 'Files' }).innerText()).toContain('4 files, 4.8 kB.');
  });
});
