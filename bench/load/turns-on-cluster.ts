import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Pool } from 'pg';
import sharp from 'sharp';
import { sample } from '../../testing/media.ts';
import { bucketOf } from '../../test/e2e/support/host-servers.ts';
import { kubectl } from '../../test/e2e/support/kubectl.ts';
import { openRelease } from '../../test/e2e/support/open-release.ts';
import { release } from '../../test/e2e/support/release.ts';
import { median } from '../harness.ts';

// Installs the chart, submits images and long videos of one key and a minute later images of another, and prints what
// these waited and how many jobs ended in a minute as the last line of its output. Run by scripts/e2e
// (bench/suites/turns.ts).

const { values: options } = parseArgs({
  options: {
    images: { type: 'string', default: '2000' },
    videos: { type: 'string', default: '5' },
    /** Seconds between the keys. */
    later: { type: 'string', default: '60' },
    slots: { type: 'string', default: '4' },
    /** Of each pod, so that two cores play as many of them as there are slots. */
    cpu: { type: 'string', default: '300m' },
    /** For so long a run is measured; what is left then is cancelled. */
    minutes: { type: 'string', default: '3' },
    /** Which runs, in turn. The second of two is faster, whichever it is: each way is first once. */
    runs: { type: 'string', default: 'warm,alone,again,in-turns,in-order,alone,again,in-order,in-turns' },
  },
});
const few = 20;
const batchMax = 500;
const videoSec = 66;
/** More than one key may submit in a minute otherwise. */
const batchesPerMinute = 100;

const resources = { requests: { cpu: '20m', memory: '64Mi' }, limits: { cpu: options.cpu, memory: '1Gi' } };
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

/** @param accepted statuses that are as good as one of 200 */
async function post(path: string, key: string, body: object, accepted: readonly number[] = []): Promise<unknown> {
  for (let attempt = 1; ; attempt += 1) {
    const headers = { 'content-type': 'application/json', 'x-api-key': key };
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(30_000) };
    const response = await fetch(`${opened.apiUrl}${path}`, init).catch((error: unknown) => {
      if (attempt === 30) throw error;
      return null;
    });
    if (response !== null && (response.ok || accepted.includes(response.status))) return response.json();
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

/** Waits until all have ended, at most until `untilMs`; how many have not. */
async function leftAt(name: string, ids: readonly string[], untilMs: number): Promise<number> {
  for (let round = 0; ; round += 1) {
    const left = await countLeft(ids);
    if (round % 10 === 0) say(`${name}: ${left} left`);
    if (left === 0 || Date.now() > untilMs) return left;
    await sleep(1_000);
  }
}

/** Makes room for the next run. */
async function cancelRest(ids: readonly string[]): Promise<void> {
  const { rows } = await database.query<{ id: string }>(
    'select id from jobs where id = any($1) and finished_at is null',
    [ids],
  );
  const rest = rows.values();
  const cancelSome = async () => {
    for (const { id } of rest) await post(`/api/jobs/${id}/cancel`, opened.secrets.apiKeys[0] ?? '', {}, [409]);
  };
  await Promise.all(Array.from({ length: 8 }, cancelSome));
}

/** What images waited, and what that is made of; one that has not begun has waited until now. */
async function waitsOf(name: string, ids: readonly string[]): Promise<number> {
  const { rows } = await database.query<{ p95: number; median: number; first: number; failed: number }>(
    `select percentile_cont(0.95) within group (order by wait) as p95, percentile_cont(0.5) within group (order by wait) as median,
       min(wait) as first, count(*) filter (where status = 'failed')::int as failed
     from (
       select extract(epoch from coalesce(started_at, now()) - created_at)::float8 * 1000 as wait, status
       from jobs where id = any($1)
     ) as waits`,
    [ids],
  );
  const [row] = rows;
  if (row === undefined || row.failed > 0) throw new Error(`${name}: ${row?.failed} of the images failed`);
  say(`${name}: first ${Math.round(row.first)} ms, median ${Math.round(row.median)} ms, p95 ${Math.round(row.p95)} ms`);
  return row.p95;
}

/** Ends of jobs by kind, in seconds from the first submission. */
async function showEnds(name: string, ids: readonly string[], fromMs: number): Promise<void> {
  const { rows } = await database.query<{ type: string; key: string; jobs: number; began: Date; ended: Date }>(
    `select type, key_id as key, count(*)::int as jobs, min(started_at) as began, max(finished_at) as ended
     from jobs where id = any($1) and finished_at is not null group by 1, 2`,
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

interface Figures {
  readonly p95Ms: number;
  /** From the first submission on; 0 where only the few ran. */
  readonly jobsPerMinute: number;
}

async function run({ name, many, few: fewKey }: Run): Promise<Figures> {
  const fromMs = Date.now();
  const untilMs = fromMs + Number(options.minutes) * 60_000;
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
    const left = await countLeft(all);
    say(`${name}: ${left} left as the other key comes`);
    if (left < few) throw new Error(`${name}: nothing is left as the other key comes; give more --images`);
  }
  const last = await submit(
    fewKey,
    Array.from({ length: few }, (_, n) => image(`${name}-f${n}`)),
  );
  all.push(...last);
  const left = await leftAt(name, all, untilMs);
  const minutes = (Date.now() - fromMs) / 60_000;
  const p95Ms = await waitsOf(name, last);
  await showEnds(name, all, fromMs);
  await cancelRest(all);
  return { p95Ms, jobsPerMinute: many === undefined ? 0 : (all.length - left) / minutes };
}

/** Waits until no runner of an earlier run is left: its jobs have ended by then. */
async function podsEnd(): Promise<void> {
  const running = '--field-selector=status.phase!=Succeeded,status.phase!=Failed';
  for (let attempt = 1; ; attempt += 1) {
    const pods = await kubectl('-n', release.runners, 'get', 'pods', running, '-o', 'name');
    if (pods.trim() === '') return;
    if (attempt === 60) throw new Error(`these pods still run a minute after their jobs: ${pods}`);
    await sleep(1_000);
  }
}

/** The middle ones. */
function middle(figures: readonly Figures[] = []): Figures | undefined {
  if (figures.length === 0) return undefined;
  const of = (name: keyof Figures) => median(figures.map((one) => one[name]));
  return { p95Ms: of('p95Ms'), jobsPerMinute: of('jobsPerMinute') };
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
  const runs: Readonly<Record<string, Omit<Run, 'name'>>> = {
    // Warms the nodes.
    warm: { few: other.key },
    alone: { few: other.key },
    // The pods of the run before are there yet.
    again: { few: other.key },
    'in-turns': { many: one.key, few: other.key },
    'in-order': { many: one.key, few: one.key },
  };
  const figures = new Map<string, Figures[]>();
  for (const [index, name] of options.runs.split(',').entries()) {
    const wanted = runs[name];
    if (wanted === undefined) throw new Error(`--runs: expected some of ${Object.keys(runs).join()}, found ${name}`);
    if (name !== 'again') await podsEnd();
    figures.set(name, [...(figures.get(name) ?? []), await run({ name: `${index}-${name}`, ...wanted })]);
  }
  const [alone, again, inTurns, inOrder] = ['alone', 'again', 'in-turns', 'in-order'].map((name) =>
    middle(figures.get(name)),
  );
  process.stdout.write(`${JSON.stringify({ alone, again, inTurns, inOrder })}\n`);
} finally {
  await database.end();
  await remove();
}
