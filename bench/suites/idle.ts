import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { videoRoot } from '#domain/media/object-keys.ts';
import { endPrograms } from '../../testing/programs.ts';
import { memoryOf } from '../../testing/process-memory.ts';
import { findProgram } from '../../testing/servers.ts';
import type { BenchLine, BenchSuite } from '../harness.ts';
import { startOrigin, startProxy } from '../load/nginx.ts';
import { startDeliveryServer } from '../support/delivery-server.ts';
import { percentile, play, startLoad } from '../support/load-processes.ts';
import {
  bucket,
  fillOrigin,
  mediaHash,
  mediaVariables,
  type StreamCase,
  streamCases,
} from '../support/stream-objects.ts';

// Players that keep their connections and request nothing: what one costs in memory, and what another address sees
// beside 10,000 of them, ours and a tuned nginx with its cache in the same run. What the kernel keeps of a connection
// is the same for both and not counted.

const connections = 10_000;
/** Descriptors of the process of the clients, with some of its own. */
const descriptors = connections + 500;
/** One address may have as many connections as are free. */
const addresses = Array.from({ length: 50 }, (_, n) => `127.0.1.${n + 1}`);
const viewer = '127.0.0.1';
const warmUp = { perSecond: 200, seconds: 5 };
const paced = { perSecond: 60, seconds: 10 };
const settleMs = 1_000;
const kinds = ['playlists', 'segments'] as const;

interface Contender {
  readonly url: string;
  readonly pid: number;
}

export const idleSuite: BenchSuite = {
  name: 'idle',
  missing() {
    if (findProgram('nginx') === null) return Promise.resolve('there is no nginx');
    const limit = Number(
      execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).replace('unlimited', 'Infinity'),
    );
    return Promise.resolve(limit >= descriptors ? null : `\`ulimit -Hn\` is ${limit}: raise it to ${descriptors}`);
  },
  async run() {
    const stops: (() => Promise<void>)[] = [endPrograms];
    try {
      const folder = await mkdtemp(join(tmpdir(), 'reelwright-bench-'));
      stops.push(() => rm(folder, { recursive: true, force: true }));
      await fillOrigin(folder);
      const nginx = findProgram('nginx') ?? '';
      const origin = await startOrigin(nginx, folder);
      stops.push(() => origin.stop());
      const ours = await measure(await startDeliveryServer(folder, mediaVariables(origin.url)));
      const path = `/${bucket}/${dirname(videoRoot(mediaHash))}/`;
      const proxy = await startProxy(nginx, { origin: origin.url, path, form: 'cached' });
      stops.push(() => proxy.stop());
      return linesOf(ours, await measure(proxy));
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

const pathsOf = ({ path: { prefix, count, suffix } }: StreamCase) =>
  Array.from({ length: count }, (_, n) => ({ path: `${prefix}${n + 1}${suffix}` }));
const requests = { playlists: pathsOf(streamCases.playlists), segments: pathsOf(streamCases.hot) };

interface Measured {
  readonly p99Ms: Readonly<Record<(typeof kinds)[number], number>>;
  readonly failed: number;
  /** Connections that were open at the end. */
  readonly open: number;
  readonly bytesOfOne: number;
}

async function measure({ url, pid }: Contender): Promise<Measured> {
  const port = Number(new URL(url).port);
  const viewers = { port, from: viewer, requests };
  await play({ ...viewers, ...warmUp });
  const before = await memoryOf(pid, 'VmRSS');
  const idle = startLoad('idle-clients.ts', { port, path: requests.playlists[0]?.path ?? '', addresses, connections });
  if (idle.stdout === null) throw new TypeError('expected a pipe');
  const [ready] = (await once(idle.stdout, 'data')) as [Buffer];
  if (ready.toString() !== 'open\n') throw new Error(`expected "open", found ${ready.toString()}`);
  await sleep(settleMs);
  const after = await memoryOf(pid, 'VmRSS');
  const { ms, failures } = await play({ ...viewers, ...paced });
  idle.kill('SIGTERM');
  const open = Number(await text(idle.stdout));
  const [playlists, segments] = kinds.map((kind) => percentile(ms[kind] ?? [], 0.99)) as [number, number];
  return { p99Ms: { playlists, segments }, failed: failures.length, open, bytesOfOne: (after - before) / open };
}

function linesOf(ours: Measured, peer: Measured): BenchLine[] {
  const shown = ({ open, bytesOfOne }: Measured) => `${(bytesOfOne / 1024).toFixed(1)} KiB, ${open} open`;
  return [
    ...kinds.map((kind): BenchLine => ({
      id: `idle.${kind}-p99`,
      what: `${kind} beside ${connections} idle connections, 99th percentile, to nginx`,
      value: ours.p99Ms[kind] / peer.p99Ms[kind],
      unit: 'ratio',
      ours: `${ours.p99Ms[kind].toFixed(1)} ms`,
      peer: `${peer.p99Ms[kind].toFixed(1)} ms`,
    })),
    {
      id: 'idle.memory',
      what: 'resident memory of an idle connection, to nginx',
      value: ours.bytesOfOne / peer.bytesOfOne,
      unit: 'ratio',
      ours: shown(ours),
      peer: shown(peer),
    },
    {
      id: 'idle.failed',
      what: 'requests beside them that failed',
      value: ours.failed,
      unit: 'calls',
      ours: String(ours.failed),
      peer: String(peer.failed),
    },
  ];
}
