import type { Page, Request } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { chromiumPath, openLastingPage, openPage } from '../../testing/browser.ts';
import { enterConsole, focusedIn, goTo } from '../../testing/console-page.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';

// What a person has at hand in the console stays while lists and pages follow the service: focus, place, open texts.

const waitingJobs = 30;
let api: ApiUnderTest;
let page: Page;
let running: string;

const submitted = async (hash: string, more: object = {}): Promise<string> =>
  (await api.submit({ type: 'video:cover', hash, source: 'clip.mp4', ...more })).json.job_id as string;

const sql = (text: string, values: readonly unknown[] = []) => api.d.database.pool.query(text, [...values]);

const setRunning = (progress: number) => sql('update jobs set progress = $1 where id = $2', [progress, running]);

async function begin(hash: string, more: object = {}): Promise<string> {
  const jobId = await submitted(hash, more);
  await api.d.jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 600_000 });
  return jobId;
}

const row = (hash: string) => page.locator('.sizer .row', { hasText: hash });
const count = () => page.locator('.count').innerText();

const keyOf = (type: string) => videoKey('two-steps', '0123456789abcdef', `${type}.webp`);
const encoded = (type: string) => Buffer.from(keyOf(type)).toString('base64url');

/** Jobs that were cancelled, all submitted in this moment. */
const insertCancelled = (prefix: string, jobs: number) =>
  sql(
    `insert into jobs (id, type, hash, source, options, idempotency_key, queue, status, created_at, finished_at,
       swept_at)
     select gen_random_uuid(), 'image:thumbnail', $1 || n, 'a.jpg', '{}', $1 || n, 'default', 'cancelled', now(),
       now(), now()
     from generate_series(1, $2::int) as n`,
    [prefix, jobs],
  );

describe.skipIf(chromiumPath === null)('lists and pages of the console while the service goes on', () => {
  beforeAll(async () => {
    api = await startApi({ console: 'on' });
    await api.putSource('clip.mp4', 'x');
    for (let number = 1; number <= waitingJobs; number += 1) await submitted(`waiting-${number}`);
    running = await begin('running-reel');
    page = (await openLastingPage()).page;
    await enterConsole(page, { url: `${api.url}/console/#/pools`, key: apiKey });
  });
  afterAll(async () => {
    await page?.context().close();
    await api?.close();
  });
  beforeEach(() => goTo(page, '#/pools'));
  afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }));

  it('C31.4: every waiting job in view says why it waits, and a row that changes keeps the focus', async () => {
    await goTo(page, '#/jobs');
    await row('running-reel').locator('a').focus();
    await setRunning(57);
    await expect.poll(() => row('running-reel').innerText()).toContain('57 %');
    await expect.poll(() => focusedIn(page)).toBe('running-reel');
    const doing = page.locator('.sizer .row', { hasText: 'waiting-' }).locator('.doing');
    await expect.poll(async () => new Set(await doing.allInnerTexts())).toEqual(new Set(['behind other jobs']));
    await expect.poll(() => doing.count()).toBeGreaterThan(15);
    for (let press = 1; press <= 25; press += 1) await page.keyboard.press('ArrowDown');
    await expect.poll(() => focusedIn(page)).toBe('waiting-6');
    const [focused, scroller] = [await row('waiting-6').boundingBox(), await page.locator('.rows').boundingBox()];
    expect((focused?.y ?? 0) + (focused?.height ?? 0)).toBeLessThanOrEqual(
      (scroller?.y ?? 0) + (scroller?.height ?? 0),
    );
  });

  it('C31.4: of many jobs that come at once none is left out, and what is in view stays there', async () => {
    await goTo(page, '#/jobs');
    await expect.poll(count).toBe(`${waitingJobs + 1} jobs`);
    await page.locator('.rows').evaluate((rows) => ((rows as unknown as { scrollTop: number }).scrollTop = 200));
    const top = async () => (await row('waiting-20').boundingBox())?.y;
    const before = await top();
    await insertCancelled('at-once-', 130);
    await expect.poll(count).toBe(`${waitingJobs + 131} jobs`);
    await expect.poll(() => top()).toBe(before);
    await goTo(page, '#/jobs?status=failed');
    await page.locator('.empty a').focus();
    const polled = () => page.waitForResponse((answer) => answer.url().includes('status=failed'));
    await polled();
    await polled();
    await expect.poll(() => focusedIn(page)).toBe('Every job');
    // Submitted before the others, it is listed after them when it comes to match.
    const [older, younger] = [await begin('older'), await begin('younger')];
    await sql(`update jobs set status = 'failed' where id = $1`, [younger]);
    await row('younger').waitFor();
    await sql(`update jobs set status = 'failed' where id = $1`, [older]);
    await row('older').waitFor();
    const hashes = () => page.locator('.sizer .row[aria-rowindex="3"] a').innerText();
    await expect.poll(hashes).toBe('older');
  });

  it('C31.4: a filter that is chosen keeps the focus, and the hash that was typed before', async () => {
    await goTo(page, '#/jobs');
    await page.fill('input[name=hash]', 'waiting-3');
    await page.focus('select[name=status]');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => page.url()).toMatch(/\?status=queued&hash=waiting-3$|\?hash=waiting-3&status=queued$/);
    await expect.poll(count).toBe('1 job');
    await expect
      .poll(async () => [await focusedIn(page), await page.inputValue('input[name=hash]')])
      .toEqual(['status', 'waiting-3']);
    await page.focus('.skip');
    await page.keyboard.press('Enter');
    await expect
      .poll(async () => [await focusedIn(page), await page.inputValue('select[name=status]')])
      .toEqual(['main', 'queued']);
    await page.goBack();
    await expect.poll(() => page.inputValue('select[name=status]')).toBe('');
  });

  it('C31.5: the button of a job keeps the focus while it runs, and its end stands once in the timeline', async () => {
    const id = await begin('second-attempt');
    await sql('update jobs set attempt = 2, progress = 10 where id = $1', [id]);
    await goTo(page, `#/jobs/${id}`);
    await page.locator('.actions >> text=Cancel').focus();
    await sql('update jobs set progress = 60 where id = $1', [id]);
    await expect.poll(() => page.locator('.percent').innerText()).toBe('60 %');
    await expect.poll(() => focusedIn(page)).toBe('Cancel');
    await page.keyboard.press('Enter');
    await page.locator('dialog').waitFor();
    await page.goBack();
    await page.locator('.pool').first().waitFor();
    await expect.poll(() => page.locator('dialog').count()).toBe(0);
    await page.goForward();
    await page.locator('.percent').waitFor();
    await api.call(`/api/jobs/${id}/cancel`, { method: 'POST' });
    await expect.poll(() => page.locator('.title-line .badge').innerText()).toBe('cancelled');
    const ends = page.locator('.timeline li', { hasText: 'cancelled, attempt 2' });
    await expect.poll(() => ends.count()).toBe(1);
    await expect.poll(() => page.locator('.actions button').count()).toBe(0);
    await goTo(page, '#/jobs?hash=second-attempt');
    await expect.poll(() => row('second-attempt').innerText()).toContain('video:cover · attempt 2');
  });

  it('C31.5: open texts of a job stay open while its webhook is waited for, and markup in them is text', async () => {
    const id = await submitted('waits-for-hook', { callback_url: 'https://example.com/hooks' });
    await api.fail(id);
    const tail = '<img src="x" alt="injected"> & <b>bold</b>';
    await sql(`update jobs set error = error::jsonb || $2 where id = $1`, [
      id,
      JSON.stringify({ details: { log_tail: tail } }),
    ]);
    await goTo(page, `#/jobs/${id}`);
    await page.locator('.error-card summary').click();
    await page.locator('.webhook-body summary').click();
    await sql(
      `insert into webhook_attempts (event_id, attempt, started_at, duration_ms, error)
       select id, number, now(), 84, '<i>refused ' || number || '</i>'
       from webhook_events, generate_series(1, 2) as number where job_id = $1`,
      [id],
    );
    await expect
      .poll(() => page.locator('.attempts li').allInnerTexts())
      .toEqual([2, 1].map((number) => expect.stringContaining(`<i>refused ${number}</i>`)));
    await expect.poll(() => page.locator('.error-card pre').innerText()).toBe(tail);
    await expect.poll(() => page.locator('.webhook-body pre').innerText()).toContain(id);
    await expect.poll(() => page.locator('.view img, .view b, .view i').count()).toBe(0);
  });

  it('C31.5: a media whose preview comes after its cover plays it under the pointer, and an old job goes on', async () => {
    const bytes = await sharp({ create: { width: 64, height: 36, channels: 3, background: '#27496d' } })
      .webp()
      .toBuffer();
    const made = async (type: 'cover' | 'preview') => {
      const key = keyOf(type);
      await api.putMedia(key, bytes, 'image/webp');
      const id = await submitted('two-steps', { type: `video:${type}` });
      const measures = { key, size: bytes.length, width: 64, height: 36 } as const;
      const cover: JobResults<'video:cover'> = { ...measures, format: 'jpg', timestamp_sec: 1 };
      const preview = { ...measures, format: 'webp', frames: 16 } as JobResults<'video:preview'>;
      await api.complete(id, type === 'cover' ? cover : preview);
    };
    await insertCancelled('older-', 40);
    await made('cover');
    const old = await begin('old-job');
    await goTo(page, '#/media');
    const tile = (hash: string) => page.locator('.tile', { hasText: hash });
    await tile('two-steps').locator('img[src]').waitFor();
    await made('preview');
    await insertCancelled('younger-', 25);
    await tile('younger-25').waitFor();
    await sql('update jobs set progress = 61 where id = $1', [old]);
    await expect.poll(() => tile('old-job').innerText()).toContain('61 %');
    const tiles = await page.locator('.tile').count();
    await page.click('text=Show more');
    await expect.poll(() => page.locator('.tile').count()).toBeGreaterThan(tiles);
    await tile('two-steps').hover();
    const image = tile('two-steps').locator('img');
    await expect.poll(() => image.getAttribute('src')).toContain(encoded('preview'));
    await page.hover('h1');
    await expect.poll(() => image.getAttribute('src')).toContain(encoded('cover'));
  });

  it('C31.4: a page that cannot be loaded says so, and is loaded by another try', async () => {
    await goTo(page, '#/media/%E0');
    await expect.poll(() => page.locator('.empty h2').innerText()).toBe('This could not be loaded');
    await page.route('**/api/media/waiting-1', (route) => route.fulfill({ status: 503, json: { detail: 'Later.' } }));
    await goTo(page, '#/media/waiting-1');
    await expect.poll(() => page.locator('.empty').innerText()).toMatch(/could not be loaded\s+Later\./);
    await page.unrouteAll();
    await page.click('text=Try again');
    await expect.poll(() => page.locator('.view h1').innerText()).toBe('waiting-1');
  });

  it('C31.4, C31.15: how long ago something was goes on while nothing else changes', async () => {
    const other = await openPage();
    await other.page.clock.install();
    await enterConsole(other.page, { url: `${api.url}/console/#/pools`, key: apiKey });
    const longest = other.page.locator('.pool[data-pool=default] .numbers > div', { hasText: 'Longest wait' });
    await expect.poll(() => longest.innerText()).toMatch(/\d (?:s|min)$/);
    await other.page.clock.fastForward(5 * 3_600_000);
    await expect.poll(() => longest.innerText()).toMatch(/\b5 h/);
    await goTo(other.page, '#/jobs?status=cancelled');
    const first = other.page.locator('.cell-time').nth(1);
    await expect.poll(() => first.innerText()).toBe('5 h ago');
    await other.page.clock.fastForward(3 * 3_600_000);
    await expect.poll(() => first.innerText()).toBe('8 h ago');
    await other.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await goTo(other.page, `#/jobs/${running}`);
    await other.page.click('[aria-label="Copy the id"]');
    const toast = other.page.locator('.toast');
    await expect.poll(() => toast.allInnerTexts()).toEqual(['Copied.']);
    await expect.poll(() => other.page.evaluate('navigator.clipboard.readText()')).toBe(running);
    await other.page.clock.fastForward(7000);
    await expect.poll(() => toast.count()).toBe(0);
  });

  it('C31.4: a view that was left, or is in the background, asks the service for nothing', async () => {
    const other = await openPage();
    await other.page.clock.install();
    await enterConsole(other.page, { url: `${api.url}/console/#/pools`, key: apiKey });
    const views = [
      ['#/media', '.tile'],
      ['#/jobs', '.sizer .row'],
      [`#/jobs/${running}`, '.percent'],
      ['#/rollouts', '.empty'],
      ['#/pools', '.pool'],
    ] as const;
    const asked: string[] = [];
    const watch = (sent: Request) => {
      const { pathname } = new URL(sent.url());
      // Images may come late.
      if (/^\/api\/(?!console\/)/.test(pathname)) asked.push(pathname);
    };
    /** The requests of the page until it has asked for the profiles, a minute after now. */
    const askedInAMinute = async () => {
      await other.page.waitForLoadState('networkidle');
      asked.length = 0;
      other.page.on('request', watch);
      await other.page.clock.fastForward(60_000);
      await other.page.evaluate(`fetch('../api/profiles')`);
      other.page.off('request', watch);
      return new Set(asked);
    };
    for (const [view, shown] of views) {
      await goTo(other.page, view);
      await other.page.locator(shown).first().waitFor();
      await other.page.evaluate(`Object.defineProperty(document, 'hidden', { value: true, configurable: true })`);
      if (!view.startsWith('#/jobs/'))
        await expect.poll(async () => [view, await askedInAMinute()]).toEqual([view, new Set(['/api/profiles'])]);
      await other.page.evaluate('delete document.hidden');
    }
    await goTo(other.page, '#/profiles');
    await other.page.locator('tbody tr').first().waitFor();
    await expect.poll(() => askedInAMinute()).toEqual(new Set(['/api/profiles']));
  });

  it('C31.3: a key that is not accepted any longer is forgotten, and what was shown with it', async () => {
    await goTo(page, `#/jobs/${running}`);
    await page.click('.actions >> text=Cancel');
    await page.route('**/api/jobs/**', (route) => route.fulfill({ status: 401, json: {} }));
    await page.click('dialog >> text=Cancel the job');
    await expect.poll(() => page.locator('#sign-in-fault').innerText()).toBe('This key is not accepted any longer.');
    await expect
      .poll(async () => [await page.locator('#main').innerHTML(), await page.title()])
      .toEqual(['', 'Reelwright']);
    await page.unrouteAll();
    await page.fill('#key', apiKey);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.view h1').innerText()).toBe('running-reel');
    await expect.poll(() => page.locator('#sign-in-fault').isVisible()).toBe(false);
  });
});
