import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { masterKey } from '#domain/media/object-keys.ts';
import { thumbSecretsOf } from '#domain/playback/thumb.ts';
import { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { apiKey, type ApiUnderTest, keyTokenSecret, startApi } from './api-under-test.ts';
import { partlyFailedResults, thumbnailResults } from './results.ts';

// Runs every `sh` block of docs/api.md in order and expects the status that follows `sh`.

const page = await readFile(join(import.meta.dirname, '../../docs/api.md'), 'utf8');
const blocks = [...page.matchAll(/^```sh (\d+)\n([\s\S]*?)^```$/gm)].map(([, status, script = '']) => ({
  status,
  script,
}));
const shell = promisify(execFile);

/** Prints the status of each request on standard error, apart from what a block reads. */
const curl = `curl() { command curl --silent --show-error --write-out '%{stderr}HTTP %{http_code}\\n' "$@"; }`;

let api: ApiUnderTest;
let folder: string;
const variables: Record<string, string> = {};

beforeAll(async () => {
  api = await startApi();
  folder = await mkdtemp(join(tmpdir(), 'reelwright-page-'));
  await api.putSource('uploads/movie-1.mp4', 'x');
  await api.putMedia(masterKey('movie-1'), '#EXTM3U\n');
  const create = { width: 64, height: 48, channels: 3 as const, background: 'red' };
  await api.putMedia(thumbnailResults.key, await sharp({ create }).webp().toBuffer());
  const [thumbSecret] = thumbSecretsOf([], keyTokenSecret);
  Object.assign(variables, { KEY: thumbnailResults.key, THUMB_SECRET: thumbSecret });
  await api.d.contentKeys.findOrCreate('movie-1');
  const callback = { source: 'uploads/movie-1.mp4', callback_url: 'https://example.com/' };
  const failed = await api.submit({ type: 'video:full', hash: 'failed', ...callback });
  await api.fail(failed.json.job_id, partlyFailedResults());
  Object.assign(variables, { API: api.url, API_KEY: apiKey, KEY_TOKEN_SECRET: keyTokenSecret });
  Object.assign(variables, { FAILED: failed.json.job_id, DELIVERED: await deliveredJob(callback) });
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

async function deliveredJob(callback: object): Promise<string> {
  const { json } = await api.submit({ type: 'image:thumbnail', hash: 'delivered', ...callback });
  await api.complete(json.job_id, thumbnailResults);
  const { json: callbacks } = await api.call(`/api/jobs/${json.job_id}/callbacks`);
  const attempt = { delivery: 1, attempt: 1, startedAt: new Date(), durationMs: 5, statusCode: 200, error: null };
  const events = new WebhookEventStore(api.d.database);
  await events.recordAttempt({ eventId: callbacks.event_id, ...attempt, next: 'sent' });
  return json.job_id;
}

it('docs/api.md has more than twelve blocks to run', () => {
  expect(blocks.length).toBeGreaterThan(12);
});

it.each(blocks)('docs/api.md: the answer is $status to $script', async ({ status, script }) => {
  const env = { PATH: process.env['PATH'] ?? '', JOB: randomUUID(), ...variables };
  const { stdout, stderr } = await shell('bash', ['-euc', `${curl}\n${script}`], { cwd: folder, env });
  const statuses = [...stderr.matchAll(/HTTP (\d+)/g)].map(([, code]) => code);
  expect(new Set(statuses)).toEqual(new Set([status]));
  const jobId = /"job_id":"([^"]+)"/.exec(stdout)?.[1];
  if (jobId !== undefined && variables['JOB'] === undefined) variables['JOB'] = jobId;
});

it('the refused request in docs/api.md has the answer shown there', async () => {
  const shown = JSON.parse(/```json\n(\{\n {2}"type": "\/docs#problem-[\s\S]*?)```/.exec(page)?.[1] ?? '{}') as object;
  const body = { type: 'video:cover', hash: 'a..b', source: 'a.mp4', options: { second: 3 } };
  const { json } = await api.submit(body);
  expect({ ...json, trace_id: '' }).toEqual({ ...shown, trace_id: '' });
});
