import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { waitingReasonSchema } from '#domain/jobs/waiting.ts';
import { chromiumPath, openLastingPage } from '../../testing/browser.ts';
import { checkout } from '../../testing/checkout.ts';
import { enterConsole, focusedIn, goTo } from '../../testing/console-page.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';

// What the console shows of answers that are rare: nothing yet, much at once, earlier revisions, lost sources.

let api: ApiUnderTest;
let page: Page;

const text = (selector: string) => page.locator(selector).first().innerText();
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

  it.each([
    ['media', 'Media', 'No media yet'],
    ['jobs', 'Jobs', 'No jobs yet'],
    ['rollouts', 'Rollouts', 'No rollouts yet'],
  ])(
    'C31.4, C31.16: an empty list of %s says so below its tab, with the focus at its head',
    async (view, tab, empty) => {
      await goTo(page, `#/${view}`);
      await expect.poll(() => text('.empty h2')).toBe(empty);
      await expect
        .poll(async () => [await text('#tabs [aria-current=page]'), await page.title(), await focusedIn(page)])
        .toEqual([tab, `${tab} · Reelwright`, 'main']);
    },
  );

  it('C31.5: a job that ended before it was started, and lost results, are shown as what they are', async () => {
    const id = await submitted('never-started');
    await goTo(page, `#/jobs/${id}`);
    await page.click('.actions >> text=Cancel');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.locator('dialog').count()).toBe(0);
    await expect.poll(() => page.locator('.actions >> text=Cancel').isEnabled()).toBe(true);
    await page.click('.actions >> text=Cancel');
    await page.click('dialog >> text=Cancel the job');
    await expect.poll(() => text('.columns')).toMatch(/Ended \d+ s after it was submitted\./);
    await expect.poll(() => text('#toasts')).toContain('The job is cancelled.');
    await api.d.database.pool.query(`update jobs set callback_status = 'callback_failed' where id = $1`, [id]);
    await goTo(page, '#/jobs');
    await expect.poll(() => text('.sizer .row')).toContain('webhook not delivered');
    const done = await submitted('lost-source');
    const key = 'videos/ab/lost-source/0123456789abcdef/cover.jpg';
    await api.complete(done, { key, format: 'jpg', size: 1, width: 64, height: 36, timestamp_sec: 1 });
    await changing('**/api/jobs/*?check=*', (given: object) => ({
      ...given,
      source_changed: true,
      results_missing: false,
    }));
    await goTo(page, `#/jobs/${done}`);
    await expect.poll(() => text('[role=status] .notice')).toBe('The source was replaced since this job read it.');
    await expect
      .poll(async () => JSON.parse((await page.locator('.card pre').textContent()) ?? ''))
      .toMatchObject({ key });
    await changing(`**/api/jobs/${done}`, (given: object) => ({ ...given, results_expired: true }));
    await goTo(page, '#/jobs');
    await page.goBack();
    await expect.poll(() => text('.notice')).toContain('Retention removed objects');
  });

  it('C31.5: the retry of a job of one type leads to the new job, which names it', async () => {
    const id = await submitted('retried');
    await api.fail(id);
    await goTo(page, '#/jobs?status=failed');
    await expect.poll(() => text('.sizer .row')).toContain('storage_error');
    await page.click('.sizer .row a');
    await expect.poll(() => text('.error-card')).toMatch(/Code\s+storage_error\s+Attempt\s+1\s+Retryable\s+yes/);
    await page.click('.actions >> text=Retry');
    await expect.poll(() => text('.side')).toMatch(new RegExp(`Retry of\\s+${id.slice(0, 8)}`));
  });

  it('C31.5: an earlier revision is published again, the expiry set and removed, and files listed page by page', async () => {
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
      const files = [{ key: `videos/ab/revised/bbbb/${cursor ?? 'first'}.vtt`, size: 1200 }];
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
    await expect.poll(() => files.allInnerTexts()).toEqual([expect.stringMatching(/bbbb\/first\.vtt\s+1\.2 kB/)]);
    await expect.poll(() => focusedIn(page)).toBe('More files');
    await page.keyboard.press('Enter');
    await expect.poll(() => files.count()).toBe(2);
    await expect.poll(() => page.locator('text=More files').isVisible()).toBe(false);
  });

  it('C31.15, C31.17: more waiting jobs than are counted, and a check that is refused for a moment', async () => {
    await submitted('counted');
    // Of the queue that has just as many.
    await changing('**/api/pools', ({ pools }: { pools: { name: string; waiting: number }[] }) => ({
      pools,
      counted_max: pools.find(({ name }) => name === 'default')?.waiting,
    }));
    await goTo(page, '#/pools');
    await expect.poll(() => text('.pool[data-pool=default] .numbers')).toMatch(/Waiting\s+\d+ or more/);
    const limited = { status: 429, headers: { 'retry-after': '1' }, json: { detail: 'Too many.' } };
    await page.route('**/api/profiles/check', (route) => route.fulfill(limited), { times: 1 });
    await goTo(page, '#/check');
    await expect.poll(() => text('#profile-state')).toBe('Too many checks; another follows.');
    await expect.poll(() => text('#profile-state')).toBe('Valid');
    await page.fill('#profile-text', 'profiles: {}');
    await expect.poll(() => text('.columns')).toContain('The text has no profile.');
  });

  it('C31.6: a refusal of no field stands below the form', async () => {
    const errors = [
      { pointer: '/hash', detail: 'is odd' },
      { pointer: '/priority', detail: 'is not allowed' },
    ];
    const refusal = { status: 400, json: { code: 'invalid_request', detail: 'The request is invalid.', errors } };
    await page.route('**/api/jobs', (route) => route.fulfill(refusal));
    await goTo(page, '#/new');
    await page.click('.form button[type=submit]');
    await expect
      .poll(() => text('.form .fault[role=alert]'))
      .toBe('The request is invalid. /priority: is not allowed.');
    await expect.poll(() => page.locator('.field-fault:visible').allInnerTexts()).toEqual(['Is odd.']);
  });
});
