import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { videoKey } from '#domain/media/object-keys.ts';
import { freePort } from './free-port.ts';
import { memoryOf } from './process-memory.ts';
import { type Program, secrets, startProgram } from './programs.ts';
import { type Proxy, type ProxyState, startProxy } from './proxy.ts';
import type { S3Server } from './servers.ts';
import { type Viewing, watch } from './viewers.ts';

// The media bucket is away for half a minute, behind two servers of delivery: one has 200 viewers, the other is killed
// and starts again with an empty cache.

const seconds = { before: 15, away: 30, served: 2, after: 15 };
export const viewerCount = 200;
const rev = '0123456789abcdef';
const movies = Array.from({ length: 20 }, (_, n) => `movie-${n}`);
/** More than a viewer can load. */
const segmentCount = 24;
const segmentFile = (n: number) => `video/r360_h264/seg_${n}.m4s`;
const pathOf = (hash: string, n: number) => `/stream/${hash}/${rev}/${segmentFile(n)}`;
const hotPath = pathOf('hot', 0);
const missed = { segment: pathOf('missed', 0), again: pathOf('missed', 1) };
const rangeCount = 40;

/** The keys of all segments. */
export const segmentKeys = [
  ...movies.flatMap((hash) => Array.from({ length: segmentCount }, (_, n) => videoKey(hash, rev, segmentFile(n)))),
  ...['hot', 'missed'].flatMap((hash) => [0, 1].map((n) => videoKey(hash, rev, segmentFile(n)))),
];

/** Requests for what is in no memory, by a client that waits for as long as it takes. */
const patientRequests: readonly [path: string, init?: RequestInit][] = [
  [missed.segment],
  [missed.segment, { method: 'HEAD' }],
  [missed.segment, { headers: { range: 'bytes=0-1' } }],
  [`/stream/missed/master.m3u8`],
  [`/stream/missed/${rev}/video/r360_h264/playlist.m3u8`],
  ...Array.from({ length: rangeCount }, (_, n): [string, RequestInit] => [
    pathOf('ranges', n),
    { headers: { range: 'bytes=0-1' } },
  ]),
];

interface Answer {
  readonly status: number;
  readonly ms: number;
}

interface Server {
  readonly program: Program;
  readonly probes: string;
}

interface Load {
  readonly memoryBytes: number;
  readonly descriptors: number;
}

/** What was seen. Milliseconds are by `performance.now()` where they are times. */
export interface Outage {
  readonly awayAtMs: number;
  readonly backAtMs: number;
  readonly viewings: readonly Viewing[];
  /** Of an object in memory, twice a second while the bucket was away. */
  readonly hot: readonly Answer[];
  readonly patient: readonly Answer[];
  readonly before: Load;
  /** The most while the bucket was away. */
  readonly peak: Load;
  /** What probes of the server that was started again were answered while the bucket was away. */
  readonly probes: readonly number[];
  /** From the return of the bucket until an object that failed before was served, and until that server was ready. */
  readonly servedAfterMs: number;
  readonly readyAfterMs: number;
  /** Requests to the bucket in the first two seconds after its return. */
  readonly requestsOfReturn: number;
  readonly logLines: number;
}

/** Lets the bucket be away in this way, with all segments in it. */
export async function playThroughOutage(
  s3: Omit<S3Server, 'stop'>,
  { bucket, state }: { readonly bucket: string; readonly state: ProxyState },
): Promise<Outage> {
  const proxy = await startProxy(s3.endpoint);
  const start = () => startServer(proxy, s3, bucket);
  const servers = await Promise.all([start(), start()]);
  const [server, killed] = servers;
  const stopped = new AbortController();
  try {
    for (let times = 0; times < 2; times++) await answerOf(server, hotPath);
    const viewings = Promise.all(Array.from({ length: viewerCount }, (_, n) => view(server, n, stopped.signal)));
    await sleep(seconds.before * 1000);
    const before = await loadOf(server);
    await killed.program.end();
    await proxy.set(state);
    const awayAtMs = performance.now();
    const restarted = await start();
    servers.push(restarted);
    const patient = Promise.all(patientRequests.map((request) => answerOf(server, ...request)));
    const seen = await observe(server, restarted, awayAtMs + seconds.away * 1000);
    const back = await comeBack(proxy, server, restarted);
    await sleep(seconds.after * 1000);
    stopped.abort();
    const logLines = server.program.output().split('\n').length;
    return { awayAtMs, before, ...seen, ...back, viewings: await viewings, patient: await patient, logLines };
  } finally {
    stopped.abort();
    await Promise.all(servers.map(({ program }) => program.end()));
    await proxy.close();
  }
}

async function startServer(proxy: Proxy, s3: Omit<S3Server, 'stop'>, bucket: string): Promise<Server> {
  const probePort = await freePort();
  const program = await startProgram({
    args: ['--mode=server'],
    waits: 'alive',
    env: {
      KEY_TOKEN_SECRET: secrets.KEY_TOKEN_SECRET,
      ENCRYPTION_KEY: secrets.ENCRYPTION_KEY,
      SERVER_SURFACES: 'delivery',
      // Streams need neither of them.
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      REDIS_URL: 'redis://127.0.0.1:1',
      PROBE_PORT: String(probePort),
      MEDIA_BUCKET: bucket,
      MEDIA_S3_ENDPOINT: proxy.url,
      MEDIA_S3_ACCESS_KEY_ID: s3.accessKeyId,
      MEDIA_S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    },
  });
  return { program, probes: `http://127.0.0.1:${probePort}` };
}

/** A viewer who begins in the first third of the time before. */
async function view({ program }: Server, n: number, signal: AbortSignal): Promise<Viewing> {
  await sleep((Math.random() * seconds.before * 1000) / 3);
  const hash = movies[n % movies.length] ?? '';
  return watch((segment) => `${program.url}${pathOf(hash, segment)}`, signal);
}

async function answerOf({ program }: Server, path: string, init: RequestInit = {}): Promise<Answer> {
  const startedAtMs = performance.now();
  const answer = await fetch(`${program.url}${path}`, init);
  await answer.arrayBuffer();
  return { status: answer.status, ms: performance.now() - startedAtMs };
}

async function loadOf({ program }: Server): Promise<Load> {
  const descriptors = (await readdir(`/proc/${program.pid}/fd`)).length;
  return { memoryBytes: await memoryOf(program.pid, 'VmRSS'), descriptors };
}

/** Looks at the servers twice a second until then. */
async function observe(server: Server, restarted: Server, untilMs: number) {
  const [hot, loads, probes]: [Answer[], Load[], number[]] = [[], [], []];
  while (performance.now() < untilMs) {
    hot.push(await answerOf(server, hotPath));
    loads.push(await loadOf(server));
    probes.push((await fetch(`${restarted.probes}/readyz`)).status);
    await sleep(500);
  }
  const most = (figure: keyof Load) => Math.max(...loads.map((load) => load[figure]));
  return { hot, probes, peak: { memoryBytes: most('memoryBytes'), descriptors: most('descriptors') } };
}

async function comeBack(proxy: Proxy, server: Server, restarted: Server) {
  const requestsBefore = proxy.requestCount();
  await proxy.set('open');
  const backAtMs = performance.now();
  const afterBack = async (isBack: () => Promise<boolean>) => {
    while (!(await isBack())) await sleep(50);
    return performance.now() - backAtMs;
  };
  const ready = afterBack(async () => (await fetch(`${restarted.probes}/readyz`)).ok);
  const servedAfterMs = await afterBack(async () => (await answerOf(server, missed.again)).status === 200);
  await sleep(seconds.served * 1000);
  const requestsOfReturn = proxy.requestCount() - requestsBefore;
  return { backAtMs, servedAfterMs, requestsOfReturn, readyAfterMs: await ready };
}
