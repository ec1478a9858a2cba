import { buffer } from 'node:stream/consumers';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chunkResultKey, splitKey, videoKey } from '#domain/media/object-keys.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { chromiumPath, desktop, keepScreenshot } from '../../testing/browser.ts';
import { type StepRun, workOf } from '#domain/work/unit-run.ts';
import { faultsOf, faultsOfViews, fourLooks, openIn, originsOf, type Views } from '../../testing/console-page.ts';
import { makeKey } from '../../testing/named-keys.ts';
import { type ApiUnderTest, apiKey, startApi } from '../contract/api-under-test.ts';

// The console's pages for operators in a real Chromium: pools, rollouts and profiles, and the webhook of a job.

let api: ApiUnderTest;
const ids = { canary: '', failed: '', paused: '', ended: '', long: '', timed: '', waiting: '', cancelled: '' };

const post = (path: string, body: object) =>
  api.call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

async function submitted(hash: string, more: object = {}): Promise<string> {
  return (await api.submit({ type: 'video:cover', hash, source: 'clip.mp4', ...more })).json.job_id as string;
}

async function makeQueue(): Promise<void> {
  const { pool } = api.d.database;
  await api.putSource('clip.mp4', 'x');
  for (const hash of ['harbour', 'alpine']) {
    const jobId = await submitted(hash);
    await api.d.jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 600_000 });
  }
  for (const hash of ['market', 'birds', 'tides', 'tower', 'dunes']) ids.waiting = await submitted(hash);
  const stuck = await submitted('unschedulable');
  await api.d.jobs.claim({ jobId: stuck, attempt: 1, owner: 'test', leaseMs: 600_000 });
  const reason = {
    code: 'unschedulable',
    message: '0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available.',
  };
  await pool.query('update jobs set waiting_reason = $2 where id = $1', [stuck, JSON.stringify(reason)]);
  ids.ended = await submitted('hooked', { callback_url: 'https://example.com/hooks/media' });
  await api.fail(ids.ended);
  ids.long = await submitted('long-reel', { type: 'video:full' });
  await api.d.jobs.claim({ jobId: ids.long, attempt: 1, owner: 'test', leaseMs: 600_000 });
  await pool.query(`update jobs set progress = 21, phase = 'encoding', pool = 'gpu' where id = $1`, [ids.long]);
  const rev = 'fedcba9876543210';
  await api.putMedia(splitKey(ids.long), JSON.stringify({ v: 1, rev, chunk_frames: Array(24).fill(1800) }));
  for (const chunk of [0, 1, 2, 4, 5]) await api.putMedia(chunkResultKey(rev, chunk), '{}');
}

const at = (second: number) => new Date(Date.UTC(2026, 10, 24, 8, 0, second)).toISOString();

/** A job that failed once and was done then, in a minute and a half. */
async function makeTimes(): Promise<void> {
  ids.timed = await submitted('timed');
  await api.fail(ids.timed);
  const run = (step: StepRun['step'], second: number, seconds: number, code: StepRun['code'] = null) => ({
    step,
    started_at: at(second),
    duration_ms: 1000 * seconds,
    processor_ms: code === null ? 1400 * seconds : null,
    code,
  });
  const attempt = (number: number, second: number, seconds: number, steps: StepRun[]) => ({
    attempt: number,
    worker: 'kubernetes',
    claimed_at: at(second),
    ended_at: at(second + seconds),
    result: number === 1 ? 'retried' : 'failed',
    code: 'storage_error',
    ...workOf([{ unit: 'whole', chunk: null, pod: 'pod-7', steps }]),
  });
  const ended = [
    attempt(1, 12, 10, [run('fetch', 12, 2), run('process', 14, 8, 'storage_error')]),
    attempt(2, 24, 66, [run('fetch', 24, 2), run('process', 26, 60), run('publish', 86, 0.25, 'storage_error')]),
  ];
  const { pool } = api.d.database;
  await pool.query(
    `update jobs set created_at = $2, started_at = $3, finished_at = $4, ended_attempts = $5::jsonb, attempt = 2,
       source_size_bytes = 48e6, error = error::jsonb || '{"attempt": 2, "details": {"log_tail": "503 Slow Down"}}'
     where id = $1`,
    [ids.timed, at(0), at(12), at(90), JSON.stringify(ended)],
  );
}

async function makeRollouts(): Promise<void> {
  const { pool } = api.d.database;
  const begin = async (body: object) => (await post('/api/rollouts', body)).json.rollout_id as string;
  const gate = { max_failure_share: 0.05, max_bytes_ratio: 0.9, min_score: 88 };
  ids.paused = await begin({ to_profile: 'small', which: { hash_prefix: 'movie-' } });
  await post(`/api/rollouts/${ids.paused}/pause`, {});
  ids.failed = await begin({ to_profile: 'mobile', canary: { share: 0.1, max_failure_share: 0.05 } });
  ids.canary = await begin({
    to_profile: 'small',
    which: { profile: 'default', made_before: '2026-06-01T00:00:00Z' },
    budget: { jobs: 4, hours_per_day: 200 },
    canary: { share: 0.02, ...gate },
  });
  const count = (id: string, isCanary: boolean, set: string) =>
    pool.query(`update rollout_counts set ${set} where rollout_id = $1 and is_canary = $2`, [id, isCanary]);
  const sizes = 'bytes_before = 7200000000, bytes_after = 4100000000';
  await count(
    ids.canary,
    true,
    `done = 39, running = 2, failed = 1, ${sizes}, scored = 39, score_sum = 3600, compared = 39,
     compared_before_sum = 3700, compared_after_sum = 3600`,
  );
  await count(ids.canary, false, 'planned = 1910');
  await count(ids.failed, true, 'rolled_back = 8, failed = 2');
  await pool.query(
    `update rollouts set status = 'rolled_back', finished_at = now(), reason = 'Its canary failed its gate.',
       verdict = $2, is_planned = true where id = $1`,
    [
      ids.failed,
      JSON.stringify({ passed: false, failures: ['2 failed: a share of 0.2, more than max_failure_share 0.05'] }),
    ],
  );
  await pool.query(
    `insert into rollout_items (rollout_id, hash, is_canary, status, earlier_job_id, earlier_rev, reason)
     values ($1, 'movie-9', true, 'failed', gen_random_uuid(), '0123456789abcdef', 'corrupt_input')`,
    [ids.canary],
  );
}

/** Named keys, what one of them used, a webhook that was not delivered, and a job that was cancelled. */
async function makeKeys(): Promise<void> {
  const { pool } = api.d.database;
  const bounds = { hashPrefix: 'acme-', profiles: ['mobile'], weight: 4 };
  await makeKey(api.d.database, { name: 'acme', rights: ['read', 'submit', 'upload'], ...bounds });
  await makeKey(api.d.database, { name: 'backup', rights: ['read'], expiresAt: new Date(Date.UTC(2030, 1, 1)) });
  await pool.query(`
    insert into usage_daily (day, key_id, type, profile, codec, slot, jobs, source_bytes, source_ms, output_bytes,
      output_ms, fetch_ms, process_ms, publish_ms, pod_ms, wasted_ms, stored_bytes)
    select current_date - n, id, 'video:transcode', 'mobile', 'h264', 0, 12, 9e9, 6e6, 4e9, 5400000, 1e5, 3600000, 1e5,
      4000000 * (n + 1), 60000, 4e9 from api_keys cross join generate_series(0, 9) as n where name = 'acme'`);
  const hooked = await submitted('refused-hook', { callback_url: 'https://example.com/hooks/media' });
  await api.fail(hooked);
  await pool.query(
    `update webhook_events set next_attempt_at = null, failed_at = now(), attempts = 5 where job_id = $1`,
    [hooked],
  );
  ids.cancelled = await submitted('cancelled-reel');
  await api.call(`/api/jobs/${ids.cancelled}/cancel`, { method: 'POST' });
}

beforeAll(async () => {
  const mediaProfiles = mediaProfilesSchema.parse({
    profiles: { small: { crf: 30, quality: { report: true }, ladder: [{ short_side: 240, bitrate: 300_000 }] } },
    rules: [{ source_prefix: 'phones/', source_bytes_max: 50_000_000, profile: 'small' }],
  });
  api = await startApi({ console: 'on', mediaProfiles });
  await makeQueue();
  await makeTimes();
  await makeRollouts();
  await makeKeys();
});
afterAll(() => api?.close());

describe.skipIf(chromiumPath === null)('the pages of the console for operators', () => {
  /** Opens a view as someone who is signed in. */
  const light = { size: desktop, scheme: 'light' } as const;
  async function enter(fragment: string, look: Parameters<typeof openIn>[0] = light) {
    const watched = await openIn(look, `${api.url}/console/${fragment}`);
    const { page } = watched;
    await page.fill('#key', apiKey);
    await page.click('#sign-in-button');
    await page.locator('.view').waitFor();
    return watched;
  }

  it.each(fourLooks)(
    'C31.9, C31.2: axe finds no fault of the pages for operators in %j, and the policy reports none',
    async (look) => {
      const watched = await enter('', look);
      const views: Views = {
        pools: ['#/pools', '.reasons li'],
        webhooks: ['#/webhooks', '.test'],
        rollouts: ['#/rollouts', '.rollouts li'],
        rollout: [`#/rollouts/${ids.canary}`, '.gate'],
        'rollout-failed': [`#/rollouts/${ids.failed}`, '.gate.error-card'],
        'rollout-form': ['#/rollouts/new?profile=mobile', '.form'],
        profiles: ['#/profiles', 'tbody tr'],
        profile: ['#/profiles/hdr', '.outline'],
        'job-chunks': [`#/jobs/${ids.long}`, '.chunks'],
        'job-times': [`#/jobs/${ids.timed}`, '.spans .spans'],
        'job-webhook': [`#/jobs/${ids.ended}`, '.webhook-body'],
        'job-waiting': [`#/jobs/${ids.waiting}`, '.reason'],
        'job-cancelled': [`#/jobs/${ids.cancelled}`, '.timeline'],
        jobs: ['#/jobs', '.sizer .row'],
        'jobs-between': ['#/jobs?from=2026-01-01T00:00&status=failed', '.sizer .row, .empty'],
        'failed-webhooks': ['#/webhooks', '.failed-webhooks li'],
        keys: ['#/keys', '.view tbody tr, .view li'],
        usage: ['#/usage', '[data-usage] tbody tr'],
        overview: ['#/', '.day'],
      };
      expect(await faultsOfViews(watched.page, views, `${look.size.width}-${look.scheme}`)).toEqual([]);
      expect([watched.complaints, watched.errors, await originsOf(watched)]).toEqual([[], [], [api.url]]);
    },
  );

  it('C31.15, C31.30: the pools show what runs, what waits and why, with a job for each reason, and follow changes', async () => {
    const { page } = await enter('#/pools');
    const pool = page.locator('.pool[data-pool=default]');
    await expect.poll(() => pool.locator('.numbers').innerText()).toMatch(/Running\s+2\s+Waiting\s+6/);
    const reason = (code: string) => pool.locator(`[data-code=${code}]`);
    await expect.poll(() => reason('unschedulable').innerText()).toMatch(/1\s+no node has space for it\s+0\/3 nodes/);
    await expect.poll(() => reason('behind_others').innerText()).toMatch(/^4\s/);
    await expect.poll(() => page.locator('.pool[data-pool=video-large]').innerText()).toContain('Nothing waits.');
    const names = () => pool.locator('.running-jobs').innerText();
    await expect.poll(names).toMatch(/alpine[\s\S]*harbour/);
    await expect.poll(() => pool.locator('.numbers').innerText()).toMatch(/Longest wait\s+.*market/);
    const added = await submitted('one-more');
    await expect.poll(() => reason('behind_others').innerText()).toMatch(/^5\s/);
    await api.call(`/api/jobs/${added}/cancel`, { method: 'POST' });
    await reason('unschedulable').locator('a').click();
    await expect.poll(() => page.locator('.view h1').innerText()).toBe('unschedulable');
    await expect.poll(() => page.locator('.reason').innerText()).toContain('0/3 nodes are available');
    await page.click('.side a[href="#/pools"]');
    await pool.waitFor();
  });

  it('C31.16: the list of rollouts has counts, bytes saved and gates; a rollout is paused and resumed', async () => {
    const { page } = await enter('#/rollouts');
    const rows = page.locator('.rollouts li article');
    await expect.poll(() => rows.count()).toBeGreaterThanOrEqual(3);
    const shown = await rows.filter({ hasText: 'made by default' }).innerText();
    expect(shown).toMatch(/39 done\s+2 running\s+1 failed\s+1,910 planned/);
    expect(shown).toContain('canary is being made · saved 3.1 GB of 7.2 GB (43 %)');
    await expect.poll(() => rows.filter({ hasText: 'To mobile' }).innerText()).toContain('canary failed its gate');
    const planned = (count: number) =>
      api.d.database.pool.query('update rollout_counts set planned = $2 where rollout_id = $1 and not is_canary', [
        ids.canary,
        count,
      ]);
    await planned(1911);
    await expect.poll(() => rows.filter({ hasText: 'made by default' }).innerText()).toContain('1,911 planned');
    await planned(1910);
    await rows.filter({ hasText: 'movie-' }).locator('a').click();
    const badge = page.locator('.title-line .badge');
    await expect.poll(() => badge.innerText()).toBe('running, paused');
    await page.click('text=Resume');
    await expect.poll(() => badge.innerText()).toBe('running');
    expect((await api.call(`/api/rollouts/${ids.paused}`)).json.paused).toBe(false);
    await page.click('.actions >> text=Pause');
    await expect.poll(() => badge.innerText()).toBe('running, paused');
  });

  it('C31.16: a rollout shows its gate, scores and failures, and is cancelled and rolled back after a confirmation', async () => {
    const { page } = await enter(`#/rollouts/${ids.failed}`);
    await expect.poll(() => page.locator('.gate').innerText()).toMatch(/has failed[\s\S]*more than max_failure_share/);
    await expect.poll(() => page.locator('.actions button').count()).toBe(0);
    await page.evaluate(`location.hash = '#/rollouts/${ids.canary}'`);
    await expect
      .poll(() => page.locator('.gate').innerText())
      .toMatch(
        /not judged yet[\s\S]*Mean score\s+92\.3[\s\S]*94\.9 before, 92\.3 after[\s\S]*Mean score, at least\s+88/,
      );
    await expect.poll(() => page.locator('.job-list').innerText()).toMatch(/movie-9\s+corrupt_input/);
    await api.d.database.pool.query(`update rollout_counts set done = 40 where rollout_id = $1 and is_canary`, [
      ids.canary,
    ]);
    await expect.poll(() => page.locator('.counts').first().innerText()).toContain('40 done');
    const status = async () => (await api.call(`/api/rollouts/${ids.canary}`)).json.status;
    await page.click('.actions >> text=Cancel');
    await page.locator('dialog').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.click('dialog >> text=Keep it');
    await expect.poll(() => status()).toBe('canary');
    await page.click('.actions >> text=Cancel');
    await page.click('dialog >> text=Cancel the rollout');
    await expect.poll(() => page.locator('.title-line .badge').innerText()).toBe('cancelling');
    await page.click('.actions >> text=Roll back');
    await page.click('dialog >> text=Roll back');
    await expect.poll(() => page.locator('.title-line .badge').innerText()).toBe('rolling back');
    await expect.poll(() => status()).toBe('rolling_back');
  });

  it('C31.16, C32.20: the form shows the plan of a rollout and then starts it, and what the server refuses stands at its field', async () => {
    const { page } = await enter('#/rollouts/new');
    await page.fill('[name=to_profile]', 'smal');
    await page.fill('[name=jobs]', 'many');
    await page.fill('[name=share]', '2');
    await page.click('text=Show the plan');
    const faults = page.locator('.field-fault:visible');
    await expect.poll(() => faults.count()).toBe(2);
    expect(await faultsOf(page)).toEqual([]);
    await keepScreenshot(page, 'rollout-form-faults', 'console');
    await page.fill('[name=jobs]', '3');
    await page.fill('[name=share]', '0.1');
    await page.click('text=Show the plan');
    await expect.poll(() => faults.allInnerTexts()).toEqual([expect.stringContaining('small')]);
    await page.fill('[name=to_profile]', 'small');
    await page.fill('[name=hash_prefix]', 'lectures-');
    await page.fill('[name=made_before]', '2026-01-02T03:04');
    await page.fill('[name=max_bytes_ratio]', '0.8');
    await page.click('text=Show the plan');
    await expect.poll(() => page.locator('.plan').innerText()).toMatch(/Media\s+0 of 0 looked at/);
    await page.fill('[name=jobs]', '4');
    expect(await page.locator('.plan').count()).toBe(0);
    await page.fill('[name=jobs]', '3');
    await page.click('text=Show the plan');
    await page.click('text=Start the rollout');
    await expect.poll(() => page.url()).toMatch(/#\/rollouts\/[0-9a-f-]{36}$/);
    const { json } = await api.call(`/api/rollouts/${page.url().split('/').at(-1)}`);
    expect(json.spec).toMatchObject({
      to_profile: 'small',
      which: { hash_prefix: 'lectures-', made_before: expect.stringMatching(/^2026-01-0/) },
      budget: { jobs: 3 },
      canary: { share: 0.1, max_failure_share: 0.05, max_bytes_ratio: 0.8 },
    });
  });

  it('C31.17: a profile is checked by the server as one types, and its faults lead to their lines', async () => {
    const { page, requests } = await enter('#/profiles');
    await page.locator('tbody tr', { hasText: 'small' }).first().waitFor();
    await expect
      .poll(() => page.locator('.card', { hasText: 'Rules' }).last().innerText())
      .toMatch(/phones\/…\s+up to 50\.0 MB\s+small/);
    await page.click('tbody a >> text=small');
    const [editor, state] = [page.locator('#profile-text'), page.locator('#profile-state')];
    await expect.poll(() => state.innerText()).toBe('Valid');
    await expect.poll(() => page.locator('.outline').innerText()).toMatch(/426 × 240[\s\S]*135 MB/);
    const written = await editor.inputValue();
    await editor.fill(written.replace('crf: 30', 'crf: 99').replace('short_side: 240', 'short_side: 241'));
    await expect.poll(() => state.innerText()).toBe('2 faults');
    await expect.poll(() => editor.getAttribute('aria-invalid')).toBe('true');
    expect(await faultsOf(page)).toEqual([]);
    await keepScreenshot(page, 'profile-faults', 'console');
    const line = written.split('\n').findIndex((text) => text.includes('crf')) + 1;
    await page.locator('.faults li', { hasText: '/profiles/small/crf' }).locator('button').click();
    expect(
      await page.evaluate(
        '(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)',
      ),
    ).toBe(written.split('\n')[line - 1]?.replace('30', '99'));
    const before = (await requests()).filter(({ url }) => url.endsWith('/check')).length;
    await editor.fill('');
    await editor.pressSequentially('profiles: {tiny: {crf: 28}}', { delay: 20 });
    await expect.poll(() => page.locator('.outline h2').innerText()).toBe('Ladder of tiny');
    expect((await requests()).filter(({ url }) => url.endsWith('/check')).length - before).toBeLessThan(12);
    await page.fill('[name=width]', '640');
    await page.fill('[name=height]', '360');
    await expect.poll(() => page.locator('.outline tbody tr').count()).toBe(2);
    await page.fill('[name=width]', '');
    await expect.poll(() => state.innerText()).toContain('width must be a number');
  });

  it('C31.19: the page of a job shows its waits, attempts and steps with their times, what it used, and its error', async () => {
    const { page } = await enter(`#/jobs/${ids.timed}`);
    const times = page.locator('.card', { hasText: 'Time and usage' });
    await times.waitFor();
    await expect
      .poll(() => times.locator('.numbers').innerText())
      .toMatch(/Ran\s+1 min 16 s\s+Processors\s+1 min 30 s\s+Source\s+48\.0 MB/);
    const lines = await times.locator('.spans li > :first-child').allInnerTexts();
    expect(lines).toEqual([
      'Waited in the queue',
      'Attempt 1 retried after storage_error on kubernetes',
      'fetch in pod-7',
      'process in pod-7, failed by storage_error',
      'Waited for the next attempt',
      'Attempt 2 failed by storage_error on kubernetes',
      'fetch in pod-7',
      'process in pod-7',
      'publish in pod-7, failed by storage_error',
    ]);
    expect((await times.locator('.took').allInnerTexts()).slice(0, 4)).toEqual([
      '12 s',
      '10 s, 2.8 s of processors',
      '2.0 s, 2.8 s of processors',
      '8.0 s',
    ]);
    await page.click('.error-card summary');
    await expect.poll(() => page.locator('.error-card').innerText()).toMatch(/What to do: [\s\S]*503 Slow Down/);
  });

  it('C31.18: the page of a media lists its files and downloads them', async () => {
    const id = await submitted('with-files');
    const cover = videoKey('with-files', '0123456789abcdef', 'cover.jpg');
    const bytes = await sharp({ create: { width: 64, height: 36, channels: 3, background: '#27496d' } })
      .jpeg()
      .toBuffer();
    await api.putMedia(cover, bytes, 'image/jpeg');
    await api.putMedia(videoKey('with-files', '0123456789abcdef', 'text/en.vtt'), 'WEBVTT\n', 'text/vtt');
    const measures = { size: bytes.length, width: 64, height: 36, timestamp_sec: 1 };
    await api.complete(id, { key: cover, format: 'jpg', ...measures });
    const { page } = await enter('#/media/with-files');
    await page.getByRole('button', { name: 'List the files' }).click();
    const row = (name: string) => page.locator('.files li', { hasText: name });
    await row('cover.jpg').locator('a[href]').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    for (const [name, content] of [
      ['cover.jpg', null],
      ['text/en.vtt', 'WEBVTT\n'],
    ] as const) {
      const [download] = await Promise.all([page.waitForEvent('download'), row(name).locator('a').click()]);
      const stored = await buffer(await download.createReadStream());
      expect(download.suggestedFilename()).toContain(name.split('/').at(-1));
      if (content !== null) expect(stored.toString()).toBe(content);
      else expect((await sharp(stored).metadata()).width).toBe(64);
    }
  });

  it('C31.5: the chunks of a long video are filled as they are encoded', async () => {
    const rev = 'fedcba9876543210';
    const { page } = await enter(`#/jobs/${ids.long}`);
    const filled = page.locator('.chunks [data-finished=true]');
    await expect.poll(() => filled.count()).toBe(5);
    await expect.poll(() => page.locator('.chunks span').count()).toBe(24);
    await page.route('**/chunks', (route) => route.abort(), { times: 1 });
    await page.waitForEvent('requestfailed');
    await expect.poll(() => page.locator('.chunks span').count()).toBe(24);
    await api.putMedia(chunkResultKey(rev, 7), '{}');
    await expect.poll(() => filled.count()).toBe(6);
    await expect.poll(() => page.locator('.card', { hasText: 'Chunks' }).innerText()).toContain('6 of 24 are encoded.');
  });

  it('C31.4: ten thousand jobs scroll with a few dozen rows in the page, and makes no more at once', async () => {
    await api.d.database.pool.query(
      `insert into jobs (id, type, hash, source, options, idempotency_key, queue, status, created_at, finished_at,
         swept_at)
       select gen_random_uuid(), 'image:thumbnail', 'many-' || n, 'a.jpg', '{}', 'many ' || n, 'default', 'cancelled',
         now() - interval '1 day' - interval '1 second' * n, now(), now()
       from generate_series(1, 10000) as n`,
    );
    const { page } = await enter('#/jobs?status=cancelled');
    await page.locator('.sizer .row').first().waitFor();
    await expect.poll(() => page.locator('.count').innerText()).toMatch(/^\d+\+ jobs$/);
    await page.evaluate(`
      globalThis.madeMax = 0;
      new MutationObserver((records) => {
        const made = records.reduce((sum, { addedNodes }) => sum + addedNodes.length, 0);
        globalThis.madeMax = Math.max(globalThis.madeMax, made);
      }).observe(document.querySelector('.sizer'), { childList: true });
      globalThis.rowsMax = 0;
      globalThis.toEnd = setInterval(() => {
        const scroller = document.querySelector('.rows');
        scroller.scrollTop += 2600;
        globalThis.rowsMax = Math.max(globalThis.rowsMax, scroller.querySelectorAll('.row').length);
      }, 40);
    `);
    await expect
      .poll(() => page.locator('.sizer .row', { hasText: 'many-10000' }).count(), { timeout: 180_000, interval: 500 })
      .toBe(1);
    const { madeMax, rowsMax } = await page.evaluate<{ madeMax: number; rowsMax: number }>(
      'clearInterval(globalThis.toEnd), { madeMax: globalThis.madeMax, rowsMax: globalThis.rowsMax }',
    );
    expect(rowsMax).toBeLessThan(60);
    expect(madeMax).toBeGreaterThan(0);
    expect(madeMax).toBeLessThan(120);
    await keepScreenshot(page, 'jobs-10000', 'console');
  });
});
