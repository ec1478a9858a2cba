import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Pool } from 'pg';
import sharp from 'sharp';
import { sample } from '../../testing/media.ts';
import { bucketOf } from '../../test/e2e/support/host-servers.ts';
import { openRelease } from '../../test/e2e/support/open-release.ts';

// Installs the chart, submits images and long videos of one key and a minute later images of another, and prints what
// these waited and how long all took as the last line of its output. Run by scripts/e2e (bench/suites/turns.ts).

const { values: options } = parseArgs({
  options: {
    images: { type: 'string', default: '2000' },
    videos: { type: 'string', default: '5' },
    /** Seconds between the keys. */
    later: { type: 'string', default: '60' },
    slots: { type: 'string', default: '4' },
    /** Which runs, and which once more. */
    runs: { type: 'string', default: 'warm,alone,in-turns,in-order' },
  },
});
const few = 20;
const batchMax = 500;
const videoSec = 66;
const minutesMax = 15;
/** More than one key may submit in a minute otherwise. */
const batchesPerMinute = 100;

const resources = { requests: { cpu: '20m', memory: '64Mi' }, limits: { memory: '1Gi' } };
const { opened, remove } = await openRelease((values) => ({
  ...values,
  api: { ...values.api, replicas: 1 },
  delivery: { ...values.delivery, replicas: 1 },
  controller: { ...values.controller, replicas: 1, resources: { requests: { cpu: '50m', memory: '96Mi' } } },
  config: {
    ...values.config,
    LOG_LEVEL: 'info',
    CHUNK_LENGTH: '6s',
    BATCH_RATE_LIMIT_PER_MINUTE: String(batchesPerMinute),
  },
  pools: { default: { concurrency: Number(options.slots), resources } },
}));
const database = new Pool({ connectionString: opened.servers.postgres.onHost, max: 2 });

const say = (line: string) => process.stderr.write(`${new Date().toISOString()} ${line}\n`);

async function post(path: string, key: string, body: object): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    const headers = { 'content-type': 'application/json', 'x-api-key': key };
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(30_000) };
    const response = await fetch(`${opened.apiUrl}${path}`, init).catch((error: unknown) => {
      if (attempt === 30) throw error;
      return null;
    });
    if (response !== null && response.ok) return response.json();
    if (response !== null) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    await sleep(500);
  }
}

async function makeKey(name: string): Promise<{ id: string; key: string }> {
  const admin = opened.secrets.apiKeys[0] ?? '';
  const made = (await post('/api/keys', admin, { name, rights: ['submit', 'read'] })) as {
    key_id: string;
    key: string;
  };
  return { id: made.key_id, key: made.key };
}

const image = (hash: string) => ({
  type: 'image:thumbnail',
  hash,
  source: 'image.jpg',
  options: { outputs: [{ variant: 'thumb', width: 64, format: 'webp' }] },
});
const video = (hash: string) => ({ type: 'video:transcode', hash, source: 'long.mp4', options: { encrypt: true } });

async function submit(key: string, jobs: readonly object[]): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let from = 0; from < jobs.length; from += batchMax)
    ids.push(...(await submitBatch(key, jobs.slice(from, from + batchMax))));
  return ids;
}

/** Submits a batch, again where a job could not be queued: on a busy machine that happens, and is safe. */
async function submitBatch(key: string, jobs: readonly object[]): Promise<readonly string[]> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = (await post('/api/jobs/batch', key, { jobs })) as { jobs: BatchEntry[] };
    const refused = answer.jobs.find(({ job }) => job === undefined);
    if (refused === undefined) return answer.jobs.flatMap(({ job }) => job?.job_id ?? []);
    if (attempt === 10 || refused.status < 500)
      throw new Error(`a submission was refused: ${JSON.stringify(refused.problem)}`);
    await sleep(1_000);
  }
}

interface BatchEntry {
  readonly status: number;
  readonly job?: { readonly job_id: string };
  readonly problem?: object;
}

const countLeft = async (ids: readonly string[]) => {
  const { rows } = await database.query<{ left: number }>(
    'select count(*)::int as left from jobs where id = any($1) and finished_at is null',
    [ids],
  );
  return rows[0]?.left ?? 0;
};

async function untilEnded(name: string, ids: readonly string[]): Promise<void> {
  const deadline = Date.now() + minutesMax * 60_000;
  for (let round = 0; ; round += 1) {
    const left = await countLeft(ids);
    if (round % 10 === 0) say(`${name}: ${left} left`);
    if (left === 0) return;
    if (Date.now() > deadline) throw new Error(`${name}: ${left} jobs have not ended`);
    await sleep(1_000);
  }
}

/** What images waited, and what that is made of. */
async function waitsOf(name: string, ids: readonly string[]): Promise<number> {
  const { rows } = await database.query<{ p95: number; median: number; first: number; status: string }>(
    `select percentile_cont(0.95) within group (order by wait) as p95, percentile_cont(0.5) within group (order by wait) as median,
       min(wait) as first, string_agg(distinct status, ',') as status
     from (select extract(epoch from started_at - created_at)::float8 * 1000 as wait, status from jobs where id = any($1)) as waits`,
    [ids],
  );
  const [row] = rows;
  if (row === undefined || row.status !== 'completed')
    throw new Error(`${name}: expected completed, found ${row?.status}`);
  say(`${name}: first ${Math.round(row.first)} ms, median ${Math.round(row.median)} ms, p95 ${Math.round(row.p95)} ms`);
  return row.p95;
}

/** Ends of jobs by kind, in seconds from the first submission. */
async function showEnds(name: string, ids: readonly string[], fromMs: number): Promise<void> {
  const { rows } = await database.query<{ type: string; key: string; jobs: number; began: Date; ended: Date }>(
    `select type, key_id as key, count(*)::int as jobs, min(started_at) as began, max(finished_at) as ended, max(attempt) as attempt
     from jobs where id = any($1) group by 1, 2`,
    [ids],
  );
  for (const { type, key, jobs, began, ended } of rows)
    say(
      `${name}: ${jobs} ${type} of ${key}: ${Math.round((began.getTime() - fromMs) / 1000)} to ${Math.round((ended.getTime() - fromMs) / 1000)} s`,
    );
}

interface Run {
  readonly name: string;
  /** The keys of the many and of the few; without the first, the few alone. */
  readonly many?: string;
  readonly few: string;
}

async function run({ name, many, few: fewKey }: Run): Promise<{ p95Ms: number; totalSec: number }> {
  const fromMs = Date.now();
  const all: string[] = [];
  if (many !== undefined) {
    const videos = Array.from({ length: Number(options.videos) }, (_, n) => video(`${name}-v${n}`));
    all.push(...(await submit(many, videos)));
    all.push(
      ...(await submit(
        many,
        Array.from({ length: Number(options.images) }, (_, n) => image(`${name}-i${n}`)),
      )),
    );
    say(`${name}: submitted`);
    await sleep(Math.max(0, fromMs + Number(options.later) * 1000 - Date.now()));
    say(`${name}: ${await countLeft(all)} left as the other key comes`);
  }
  const last = await submit(
    fewKey,
    Array.from({ length: few }, (_, n) => image(`${name}-f${n}`)),
  );
  await untilEnded(name, [...all, ...last]);
  const totalSec = many === undefined ? 0 : (Date.now() - fromMs) / 1000;
  await showEnds(name, [...all, ...last], fromMs);
  return { p95Ms: await waitsOf(name, last), totalSec };
}

try {
  const source = bucketOf(opened.servers, 'source');
  const noise = { type: 'gaussian', mean: 128, sigma: 40 } as const;
  const picture = sharp({ create: { width: 256, height: 192, channels: 3, background: '#888', noise } });
  await source.put('image.jpg', await picture.jpeg().toBuffer(), { contentType: 'image/jpeg' });
  const clip = `-f lavfi -i testsrc2=s=160x90:r=10:d=${videoSec}`;
  const long = await sample('bench-turns.mp4', `${clip} -c:v libx264 -preset ultrafast -g 20 -pix_fmt yuv420p`);
  await source.put('long.mp4', await readFile(long), { contentType: 'video/mp4' });
  await source.close();
  const [one, other] = [await makeKey('one'), await makeKey('other')];
  const runs: Readonly<Record<string, Run>> = {
    // Warms the nodes.
    warm: { name: 'warm', few: other.key },
    alone: { name: 'alone', few: other.key },
    'in-turns': { name: 'in-turns', many: one.key, few: other.key },
    'in-order': { name: 'in-order', many: one.key, few: one.key },
  };
  const figures: Record<string, { p95Ms: number; totalSec: number }> = {};
  for (const name of options.runs.split(',')) {
    const wanted = runs[name];
    if (wanted !== undefined) figures[name] = await run(wanted);
    // What ended batches hold is free again.
    await sleep(5_000);
  }
  const { alone, 'in-turns': inTurns, 'in-order': inOrder } = figures;
  process.stdout.write(`${JSON.stringify({ alone, inTurns, inOrder })}\n`);
} finally {
  await database.end();
  await remove();
}
