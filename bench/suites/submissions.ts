import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { secrets } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchSuite, interleave, median } from '../harness.ts';
import { startPeer } from '../load/peer-process.ts';
import { startOnOwnServers } from '../support/own-servers.ts';
import { photo } from '../support/photo.ts';

// Submissions against bare fastify with one insert into the same PostgreSQL: what checking, the limit, the idempotency
// key, the row and the ticket cost beside the least that could be called a submission. Each is one process.

const run = promisify(execFile);
// Enough that what is measured is how many submissions are worked off, not how long each is on its way.
const connections = 128;
const roundSeconds = 3;
const rounds = { quick: 2, whole: 4 };

const outcomeSchema = z.object({ requests: z.number().positive(), durationUs: z.number(), failed: z.literal(0) });

const cases = [
  { id: 'image', what: 'image:thumbnail', type: 'image:thumbnail', source: 'in.jpg' },
  { id: 'video', what: 'video:transcode, with its preflight of a folder', type: 'video:transcode', source: 'in' },
] as const;

export const submissionsSuite: BenchSuite = {
  name: 'submissions',
  missing() {
    const absent = ['wrk', 'redis-server'].filter((name) => findProgram(name) === null);
    return Promise.resolve(absent.length === 0 ? null : `there is no ${absent.join(' and no ')}`);
  },
  async run({ isQuick }) {
    const stops: (() => Promise<unknown>)[] = [];
    try {
      const urls = await startContenders(stops);
      const lines: BenchLine[] = [];
      const roundCount = isQuick ? rounds.quick : rounds.whole;
      for (const one of cases) lines.push(await measure(one, urls, roundCount));
      lines.push(...(await measureBatches(urls, roundCount)));
      return lines;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

interface Urls {
  readonly ours: string;
  readonly bare: string;
}

async function startContenders(stops: (() => Promise<unknown>)[]): Promise<Urls> {
  const { program, sourceDir, databaseUrl } = await startOnOwnServers(stops, {
    args: ['--mode=server'],
    variables: { API_RATE_LIMIT_PER_MINUTE: '1000000', BATCH_RATE_LIMIT_PER_MINUTE: '1000000' },
  });
  for (const name of ['in', 'in.jpg']) await writeFile(join(sourceDir, name), await photo(640, 480));
  const bare = await startPeer('bare-server.ts', databaseUrl);
  stops.push(() => bare.stop());
  return { ours: program.url, bare: bare.url };
}

let loads = 0;

/** Submissions a second. @throws Error when one of them failed: figures of a server that fails say nothing */
async function load(
  url: string,
  { type, source }: { readonly type: string; readonly source: string },
): Promise<number> {
  const body = JSON.stringify({ type, hash: `load-${(loads += 1)}-%d`, source });
  const { stdout } = await run(
    findProgram('wrk') ?? '',
    ['-t1', `-c${connections}`, `-d${roundSeconds}s`, '-s', join(import.meta.dirname, '../load/submit.lua'), url],
    { env: { BODY: body, API_KEY: secrets.API_KEY } },
  );
  const { requests, durationUs } = outcomeSchema.parse(JSON.parse(/^\{.*\}$/m.exec(stdout)?.[0] ?? 'null'));
  return requests / (durationUs / 1e6);
}

async function measure(
  { id, what, ...job }: (typeof cases)[number],
  urls: Urls,
  roundCount: number,
): Promise<BenchLine> {
  const figures = await interleave({
    rounds: roundCount,
    contenders: { ours: () => load(urls.ours, job), bare: () => load(urls.bare, job) },
  });
  const [ours, bare] = [median(figures.ours), median(figures.bare)];
  return {
    id: `submissions.${id}`,
    what: `${what}: submissions a second, to bare fastify with one insert`,
    value: ours / bare,
    unit: 'ratio',
    ours: `${ours.toFixed(0)}/s`,
    peer: `${bare.toFixed(0)}/s`,
  };
}

const batchSize = 500;
/** So that a batch is checked while the rows of another are written. */
const batchesAtOnce = 4;

const batchAnswerSchema = z.object({
  jobs: z.array(z.union([z.object({ status: z.literal(202) }), z.object({ status: z.literal('queued') })])),
});

/** Submissions a second, in batches. @throws Error when one of them is not accepted */
async function loadBatches(url: string): Promise<number> {
  const startMs = performance.now();
  let accepted = 0;
  const sendRest = async () => {
    while (performance.now() < startMs + roundSeconds * 1000) {
      const name = `batch-${(loads += 1)}`;
      const jobs = Array.from({ length: batchSize }, (_, n) => ({
        type: 'image:thumbnail',
        hash: `${name}-${n}`,
        source: 'in.jpg',
      }));
      const response = await fetch(`${url}/api/jobs/batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': secrets.API_KEY },
        body: JSON.stringify({ jobs }),
      });
      const answer = batchAnswerSchema.parse(await response.json());
      if (answer.jobs.length !== batchSize) throw new Error(`expected ${batchSize} answers, got ${answer.jobs.length}`);
      accepted += batchSize;
    }
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, sendRest));
  return accepted / ((performance.now() - startMs) / 1000);
}

/** Batches to the same number of single inserts, and to inserts of as many rows at once. */
async function measureBatches({ ours, bare }: Urls, roundCount: number): Promise<BenchLine[]> {
  const contenders = {
    ours: () => loadBatches(ours),
    single: () => load(bare, cases[0]),
    together: () => loadBatches(bare),
  };
  const figures = await interleave({ rounds: roundCount, contenders });
  const perSecond = median(figures.ours);
  const line = (id: string, what: string, peer: number): BenchLine => ({
    id: `submissions.${id}`,
    what: `batch of ${batchSize}: submissions a second, to bare fastify with ${what}`,
    value: perSecond / peer,
    unit: 'ratio',
    ours: `${perSecond.toFixed(0)}/s`,
    peer: `${peer.toFixed(0)}/s`,
  });
  return [
    line('batch', 'one insert each', median(figures.single)),
    line('batch-rows', 'one insert of all rows', median(figures.together)),
  ];
}
