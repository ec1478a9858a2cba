import type { Page, Request } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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

async function begin(hash: string, more: object = {}): Promise<string> {
  const jobId = await submitted(hash, more);
  await api.d.jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 600_000 });
  return jobId;
}

const row = (hash: string) => page.locator('.sizer .row', { hasText: hash });
const count = () => page.locator('.count').innerText();

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

  it('C31.4: a view that was left, or is in the background, asks the service for nothing', async () => {
    const other = await openPage();
    await other.page.clock.install();
    await enterConsole(other.page, { url: `${api.url}/console/#/pools`, key: apiKey });
    const views = [
      ['#/', '.day'],
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

  // Of every page: console-walk.deep.test.ts.
  it('C31.20: the console says within five seconds that the server is not reached, and when it is again', async () => {
    await goTo(page, '#/jobs');
    const bar = page.locator('.unreached');
    expect(await bar.isVisible()).toBe(false);
    await page.route('**/*', (route) => route.abort());
    await bar.waitFor({ state: 'visible', timeout: 50_000 });
    expect(await bar.innerText()).toMatch(/^Not reached since .+, trying again\. What is shown is of then\.$/);
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await bar.waitFor({ state: 'hidden' });
  });

  it('C35.22: the console says that its session has ended, shows nothing of it any more, and asks for a key', async () => {
    await goTo(page, `#/jobs/${running}`);
    await page.click('.actions >> text=Cancel');
    await page.route('**/api/jobs/**', (route) => route.fulfill({ status: 401, json: {} }));
    await page.click('dialog >> text=Cancel the job');
    await expect.poll(() => page.locator('#sign-in-fault').innerText()).toBe('The session has ended.');
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
