import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { openObjectStore } from '#platform/storage/open.ts';
import { checkObjects } from './check.ts';
import { type DataFolder, openDataFolder, readOrMakeSecrets, type Secrets } from './data-folder.ts';
import type { FolderLock } from './folder-lock.ts';
import { type ApiAccess, cancelLeftJobs } from './jobs.ts';
import { type EndedStream, runJobs } from './run-jobs.ts';
import { makeSources, type Sources } from './sample.ts';
import { choosePort } from './service.ts';
import { type Demo, startDemo } from './start.ts';
import { checkStream } from './stream.ts';

/**
 * The demo (`make demo`): makes an encrypted stream of a video, and prints the addresses of the console, which shows it
 * while it is made, and of the page that plays it. A button there, or `k` and Enter, kills a worker meanwhile; another
 * one goes on.
 *
 * Environment: `ONCE=1` ends after the checks; `INPUT=clip.mp4` uses that video, image or audio; `PORT=3000`.
 * Exit codes: 0 success (also when stopped by Ctrl-C afterwards), 1 failure, 130 stopped before the end.
 */

const checkout = resolve(import.meta.dirname, '..');
const output = process.stdout;
const say = (line: string) => void output.write(`${line}\n`);

async function main(): Promise<void> {
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      // A second signal exits at once; the service's guard stops the service.
      if (stopping.signal.aborted) process.exit(130);
      stopping.abort(new Error(`stopped by ${name}`));
    });
  }
  let isDone = false;
  let demo: Demo | undefined;
  let lock: FolderLock | undefined;
  try {
    const opened = await openDataFolder(checkout);
    lock = opened.lock;
    const { data } = opened;
    const secrets = await readOrMakeSecrets(data);
    const { env } = process;
    const sources = await makeSources({ bucket: data.source, input: env['INPUT'], env, signal: stopping.signal, say });
    say('starting the service with its own database, queue and buckets');
    const port = await choosePort(env['PORT']);
    const { signal: stopped } = stopping;
    demo = await startDemo({ checkout, data, secrets, env, port, signal: stopped, onKilled: sayKilled });
    for (const pid of [demo.service.pid, ...demo.workers.pids]) await lock.addProcess(pid);
    const signal = AbortSignal.any([stopping.signal, demo.ended]);
    if (env['ONCE'] !== '1') offerKill(demo);
    await runDemo({ demo, data, secrets, sources, signal });
    isDone = true;
    if (env['ONCE'] !== '1') {
      say('Stop        Ctrl-C; the data stays in .reelwright/demo, and make clean removes it');
      if (!signal.aborted) await once(signal, 'abort');
      if (demo.ended.aborted) throw demo.ended.reason;
    }
  } catch (error) {
    const isStopped = stopping.signal.aborted;
    process.exitCode = isStopped ? 130 : 1;
    // Why the service ended explains more than the request that failed then.
    const reason = reasonOf(demo?.ended.aborted === true ? demo.ended.reason : error);
    process.stderr.write(`demo: ${isStopped ? 'stopped' : `failed: ${reason}`}\n`);
  }
  if (isDone && stopping.signal.aborted) say('stopping');
  await demo?.stop();
  await lock?.release();
}

const sayKilled = (pid: number) => say(`worker ${pid} was killed; another one was started`);

/** Kills a worker for each line `k` of the terminal. */
function offerKill({ workers }: Demo): void {
  say('Press k and Enter, or the button in the console, to kill a worker: another one goes on with what it did.');
  // In the background of a terminal nothing can be read, and the attempt must not stop the demo.
  process.on('SIGTTIN', () => {});
  const lines = createInterface({ input: process.stdin }).on('error', () => lines.close());
  process.stdin.on('error', () => lines.close()).unref();
  lines.on('line', (line) => {
    if (line.trim() !== 'k') return;
    workers.killBusiest().then(sayKilled, (error: unknown) => say(`no worker was killed: ${reasonOf(error)}`));
  });
}

interface DemoParts {
  readonly demo: Demo;
  readonly data: DataFolder;
  readonly secrets: Secrets;
  readonly sources: Sources;
  readonly signal: AbortSignal;
}

/** Runs the jobs, checks their results, and prints the links. */
async function runDemo({ demo: { baseUrl }, data, secrets, sources, signal }: DemoParts): Promise<void> {
  // New hashes for each run: an equal submission would answer with the results of an earlier run.
  const run = `${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}-${randomBytes(2).toString('hex')}`;
  const api: ApiAccess = { baseUrl, apiKey: secrets.values.API_KEY, signal };
  await cancelLeftJobs(api);
  const isOpen = process.env['ONCE'] !== '1';
  // One can watch the jobs there as they run.
  if (isOpen) say(`\nConsole     ${baseUrl}/#key=${secrets.values.API_KEY}\n`);
  const jobs = await runJobs({ run, sources, api, output });
  const media = openObjectStore({ bucket: `file:${data.media}`, dir: data.media });
  let objects = 0;
  try {
    for (const { results, hash } of jobs) objects += await checkObjects(results, media, { baseUrl, hash, signal });
  } finally {
    await media.close();
  }
  say(`checked ${objects} objects: all there`);
  const stream = jobs.find((job): job is EndedStream => job.type !== 'image:thumbnail');
  const shown =
    stream === undefined ? null : await checkStream(stream, { data, secrets, baseUrl, signal, env: process.env, say });
  const names = jobs.map(({ job_id, type, hash, status }) => ({ job_id, type, hash, status }));
  // A program reads the one, a person the other; there is no link to a service that ends now.
  if (isOpen) sayLinks({ baseUrl, data, secrets, page: shown?.page ?? null });
  else say(`demo: ok ${JSON.stringify({ jobs: names, ...shown })}`);
}

interface Links extends Pick<DemoParts, 'data' | 'secrets'> {
  readonly baseUrl: string;
  /** Address of the player page; null without a stream. */
  readonly page: string | null;
}

function sayLinks({ baseUrl, data, secrets, page }: Links): void {
  const keyFile = relative(process.cwd(), join(data.secrets, 'API_KEY'));
  say(`\nConsole     ${baseUrl}/#key=${secrets.values.API_KEY}`);
  if (page !== null) say(`Player      ${page}`);
  say(`API         ${baseUrl}/docs, with the key in ${keyFile}`);
}

/** The error on one line, with its cause: `fetch` puts the reason there. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}`.replaceAll(/\s*\n\s*/g, ' | ');
}

await main();
// Does not wait for the idle connections of `fetch`.
process.exit();
