import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, openLastingPage } from '../../testing/browser.ts';
import { enterConsole, faultsOf, goTo } from '../../testing/console-page.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';
import { partlyFailedResults } from './results.ts';

// The pages of the console for many things at once: the overview, the jobs of a filter, the board, failed webhooks.

let api: ApiUnderTest;
let page: Page;

const sql = (text: string, values: readonly unknown[] = []) => api.d.database.pool.query(text, [...values]);

async function submitted(hash: string, more: object = {}): Promise<string> {
  return (await api.submit({ type: 'video:cover', hash, source: 'clip.mp4', ...more })).json.job_id as string;
}

async function failed(hash: string, more: object = {}): Promise<string> {
  const id = await submitted(hash, more);
  await api.fail(id);
  return id;
}

const rows = () => page.locator('.sizer .row');
const count = () => page.locator('.count').innerText();
const refusals = () => page.locator('.bulk [role=status]').innerText();

describe.skipIf(chromiumPath === null)('many things at once in the console', () => {
  beforeAll(async () => {
    api = await startApi({ console: 'on', webhookAllowedCidrs: ['127.0.0.0/8'] });
    await api.putSource('clip.mp4', 'x');
    page = (await openLastingPage()).page;
    await enterConsole(page, { url: `${api.url}/console/`, key: apiKey });
  });
  afterAll(async () => {
    await page?.context().close();
    await api?.close();
  });

  it('C31.24: the first page invites a newcomer, and then counts the day, each number leading to its jobs', async () => {
    await expect.poll(() => page.locator('.view h2').first().innerText()).toBe('Nothing has run yet');
    expect(await faultsOf(page)).toEqual([]);
    for (const hash of ['failed-1', 'failed-2', 'failed-3']) await failed(hash);
    const running = await submitted('runs-now');
    await api.d.jobs.claim({ jobId: running, attempt: 1, owner: 'test', leaseMs: 600_000 });
    await submitted('waits');
    await expect.poll(() => page.locator('.day').innerText(), { timeout: 30_000 }).toMatch(/Failed\s+3/);
    await expect.poll(() => page.locator('.running').innerText()).toContain('runs-now');
    await expect.poll(() => page.locator('.side').innerText()).toMatch(/Running\s+1\s+Longest wait\s+\d+ s/);
    expect(await faultsOf(page)).toEqual([]);
    await page.click('.failures a');
    await expect.poll(count).toBe('3 jobs');
    expect(await page.inputValue('[name=code]')).toBe('storage_error');
    expect(await page.inputValue('[name=from]')).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d$/);
  });

  it('C31.25: jobs are found by first letters, id, error and time', async () => {
    await goTo(page, '#/jobs');
    await page.fill('[name=prefix]', 'failed-');
    await page.keyboard.press('Enter');
    await expect.poll(count).toBe('3 jobs');
    await page.selectOption('[name=code]', 'internal');
    await expect.poll(() => page.locator('.empty h2').innerText()).toBe('No job matches');
    await goTo(page, '#/jobs?to=2026-01-01T00:00');
    await expect.poll(() => page.locator('.empty h2').innerText()).toBe('No job matches');
    const id = await failed('failed-4');
    await page.fill('[name=prefix]', id.toUpperCase());
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.view h1').innerText()).toBe('failed-4');
  });

  it('C31.25: chosen jobs are retried, all of a filter are cancelled, and what is refused is said', async () => {
    await goTo(page, '#/jobs?prefix=failed-&status=failed');
    await expect.poll(() => rows().count()).toBe(4);
    await page.check('[aria-label^="Choose failed-1"]');
    await page.check('[aria-label^="Choose failed-2"]');
    await expect.poll(count).toBe('4 jobs, 2 chosen');
    expect(await page.locator('.bulk button').allInnerTexts()).toEqual(['Retry']);
    await page.click('.bulk >> text=Retry');
    await expect.poll(() => page.locator('dialog h2').innerText()).toBe('Retry 2 failed jobs?');
    await page.click('dialog >> text=Retry them');
    await expect.poll(refusals).toBe('2 of 2 done.');
    // Each of the two has its retry by now, which the server says.
    await page.click('.bulk >> text=Retry all');
    await page.click('dialog >> text=Retry them');
    await expect.poll(refusals).toBe('2 of 4 done, 2 refused.');
    await page.click('.refused summary');
    await expect.poll(() => page.locator('.refused li').first().innerText()).toMatch(/^failed-[12] \(.{8}\): A retry/);
    expect(await faultsOf(page)).toEqual([]);
    await goTo(page, '#/jobs?prefix=failed-&status=queued');
    await expect.poll(() => rows().count()).toBe(4);
    await page.click('.bulk >> text=Cancel all');
    await page.click('dialog >> text=Cancel them');
    await expect.poll(refusals).toBe('4 of 4 done.');
    const { json } = await api.call('/api/jobs?prefix=failed-&status=cancelled');
    expect(json.jobs).toHaveLength(4);
  });

  it('C31.29: a retry is the main action only where it can help, and a job is made again after a question', async () => {
    const buttons = () =>
      page.locator('.title-line .actions button').evaluateAll((all) =>
        all.map((button) => {
          const { innerText, className } = button as unknown as { innerText: string; className: string };
          return `${innerText}${className.includes('primary') ? '!' : ''}`;
        }),
      );
    const retryable = await failed('retryable');
    await goTo(page, `#/jobs/${retryable}`);
    await expect.poll(buttons).toEqual(['Retry!', 'Make again']);
    const corrupt = await failed('corrupt');
    await sql(`update jobs set error = error::jsonb || '{"code": "corrupt_input", "retryable": false}' where id = $1`, [
      corrupt,
    ]);
    await goTo(page, `#/jobs/${corrupt}`);
    await expect.poll(buttons).toEqual(['Retry', 'Make again']);
    const impossible = await submitted('impossible', { type: 'video:full' });
    await api.fail(impossible, partlyFailedResults(false));
    await goTo(page, `#/jobs/${impossible}`);
    await expect.poll(buttons).toEqual(['Make again']);
    await page.click('text=Make again');
    await page.selectOption('dialog [name=profile]', 'mobile');
    await page.fill('dialog [name=priority]', '7');
    expect(await faultsOf(page)).toEqual([]);
    await page.click('dialog >> text=Make it again');
    await expect.poll(() => page.url()).not.toContain(impossible);
    const [, made = ''] = /jobs\/(.+)$/.exec(page.url()) ?? [];
    expect(await api.d.jobs.find(made)).toMatchObject({ priority: 7, profile: { name: 'mobile' } });
  });

  it('C31.26: the board has media with covers of their storyboards, is searched and ordered, and greys deleted ones', async () => {
    const rev = '0123456789abcdef';
    const folder = `videos/ab/boarded/${rev}/storyboard`;
    const sheet = await sharp({ create: { width: 1600, height: 270, channels: 3, background: '#27496d' } })
      .jpeg()
      .toBuffer();
    await api.putMedia(`${folder}/sheet_1.jpg`, sheet, 'image/jpeg');
    const id = await submitted('boarded', { type: 'video:transcode' });
    const results = {
      streaming: { encrypted: false, master_playlist: 'x' },
      video_tracks: [],
      audio_tracks: [],
      storyboard: { playlist: `${folder}/playlist.m3u8`, cues: `${folder}/cues.vtt` },
    };
    await sql(`update jobs set status = 'completed', results = $2 where id = $1`, [id, JSON.stringify(results)]);
    await sql(`insert into media (hash, bytes) values ('boarded', 10), ('large', 1000) on conflict (hash) do nothing`);
    await sql(`update media set bytes = 1000 where hash = 'large'`);
    await goTo(page, '#/media');
    const tile = (hash: string) => page.locator('.tile', { hasText: hash });
    await tile('boarded').locator('img[data-sheet=wide]').waitFor();
    const cover = await tile('boarded').locator('.cover').boundingBox();
    const image = await tile('boarded').locator('img').boundingBox();
    expect((image?.height ?? 0) / (cover?.height ?? 1)).toBeCloseTo(3, 1);
    await page.selectOption('[name=order]', 'largest');
    await expect.poll(() => page.locator('.tile h2').first().innerText()).toBe('large');
    await page.fill('[name=search]', 'boa');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.tile h2').allInnerTexts()).toEqual(['boarded']);
    await expect.poll(count).toBe('1 media');
    await api.call('/api/media/boarded', { method: 'DELETE' });
    await goTo(page, '#/media');
    await expect.poll(() => tile('boarded').getAttribute('data-gone')).toBe('true');
    await expect.poll(() => tile('boarded').innerText()).toContain('deleting');
    expect(await faultsOf(page)).toEqual([]);
  });

  it('C31.28: webhooks that failed are delivered again, and a receiver is tried', async () => {
    for (const hash of ['hook-1', 'hook-2']) {
      const id = await failed(hash, { callback_url: `http://127.0.0.1/${hash}` });
      await sql(`update webhook_events set next_attempt_at = null, failed_at = now(), attempts = 5 where job_id = $1`, [
        id,
      ]);
    }
    await goTo(page, '#/webhooks');
    const listed = page.locator('.failed-webhooks li');
    await expect.poll(() => listed.count()).toBe(2);
    expect(await faultsOf(page)).toEqual([]);
    await page.check('[aria-label="Choose the webhook of hook-1"]');
    await page.click('text=Deliver 1 again');
    await page.click('dialog >> text=Deliver them');
    await expect.poll(() => listed.allInnerTexts()).toEqual([expect.stringMatching(/hook-2[\s\S]*5 attempts/)]);
    expect((await api.call('/api/callbacks')).json.callbacks).toMatchObject([{ hash: 'hook-2' }]);
    await page.fill('.test [name=url]', 'http://10.0.0.1/hook');
    await page.click('text=Send a test');
    await expect.poll(() => page.locator('.test .field-fault').innerText()).toContain('Must lead to a public address');
    await page.fill('.test [name=url]', 'http://127.0.0.1:1/hook');
    await page.click('text=Send a test');
    await expect.poll(() => page.locator('.test [role=status]').innerText()).toBe('It is being sent …');
    const ended = `update webhook_events set next_attempt_at = null where is_test returning id`;
    const { rows: tests } = await api.d.database.pool.query<{ id: string }>(ended);
    await sql(
      `insert into webhook_attempts (event_id, attempt, started_at, duration_ms, status_code) values ($1, 1, now(), 84, 204)`,
      [tests[0]?.id],
    );
    await expect.poll(() => page.locator('.test [role=status]').innerText()).toMatch(/^Delivered: HTTP /);
  });
});
