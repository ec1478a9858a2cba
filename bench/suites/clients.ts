import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { freePort } from '../../testing/free-port.ts';
import { memoryOf } from '../../testing/process-memory.ts';
import { findProgram } from '../../testing/servers.ts';
import type { BenchLine, BenchSuite } from '../harness.ts';
import { type HostileOptions, unmeasuredSeconds } from '../support/client-options.ts';
import { type DeliveryScene, setUpDelivery } from '../support/delivery-scene.ts';
import { outcomeOf, percentile, play, startLoad } from '../support/load-processes.ts';
import { type OtherMachine, startOtherMachine } from '../support/other-machine.ts';
import { renice } from '../support/priority.ts';

// One address takes what it can get of delivery: 300 slow readers of ranges, requests whose heads never end, and 200
// clients for images that are in no cache. Another address plays a few streams before and meanwhile: how much longer it
// waits, whether a probe fails, and how much memory the server takes. Where an administrator runs it, the first address
// has a network of its own.

/** Where it can have no network of its own. */
const hostile = { command: [], from: '127.0.0.2', host: '127.0.0.1' };
const viewer = '127.0.0.1';
const perSecond = 30;
const seconds = { quick: { before: 15, during: 24 }, whole: { before: 60, during: 120 } };
const warmUp = { perSecond: 200, seconds: 10 };
/** So many are open when the first ones are answered 408 that the address has all connections that it may have. */
const halfSentPerSecond = 500;
/** What a kubelet allows (charts/reelwright/templates/_pods.tpl). */
const probeTimeoutMs = 3_000;
const mebibyte = 1024 * 1024;
const kinds = ['segments', 'keys', 'playlists'] as const;

export const clientsSuite: BenchSuite = {
  name: 'clients',
  missing() {
    const absent = ['versitygw', 'redis-server'].filter((name) => findProgram(name) === null);
    return Promise.resolve(absent.length === 0 ? null : `there is no ${absent.join(' and no ')}`);
  },
  async run({ isQuick }) {
    const stops: (() => Promise<unknown>)[] = [];
    try {
      await comeFirst(process.pid);
      const probePort = await freePort();
      const scene = await setUpDelivery(stops, { PROBE_PORT: String(probePort), HOST: '0.0.0.0' });
      await comeFirst(scene.pid);
      const attacker = startOtherMachine(stops) ?? hostile;
      return await measure(scene, { probePort, attacker, ...(isQuick ? seconds.quick : seconds.whole) });
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

/**
 * A process, and what it starts later, are not to wait for other programs of the machine. Linux shares processors among
 * sessions first (`sched_autogroup`), and by niceness within each.
 */
async function comeFirst(pid: number): Promise<void> {
  try {
    await renice(pid, -10);
    await writeFile(`/proc/${pid}/autogroup`, '-20');
  } catch {
    // Only an administrator may, or there are no groups.
  }
}

interface Measured {
  readonly probePort: number;
  readonly attacker: OtherMachine;
  /** Seconds. */
  readonly before: number;
  readonly during: number;
}

async function measure(scene: DeliveryScene, { probePort, attacker, before, during }: Measured): Promise<BenchLine[]> {
  const viewers = { port: scene.port, from: viewer, requests: scene.requests };
  await play({ ...viewers, ...warmUp });
  const quiet = await play({ ...viewers, perSecond, seconds: before });
  const quietBytes = await memoryOf(scene.pid, 'VmRSS');
  const watch = watchServer(scene.pid, probePort);
  const { result: loaded, counts } = await besideHostileClients(scene, attacker, () =>
    play({ ...viewers, perSecond, seconds: during }),
  ).finally(() => void watch.stop());
  const { failedProbes, probes, memoryBytes } = await watch.stop();
  const mib = (bytes: number) => `${(bytes / mebibyte).toFixed(0)} MiB`;
  const failed = loaded.failures.length;
  const refused = {
    value: failed,
    ours: `${failed} of ${(during + unmeasuredSeconds) * perSecond}`,
    peer: `${quiet.failures.length} before`,
  };
  const memory = { value: memoryBytes / mebibyte, ours: mib(memoryBytes), peer: `${mib(quietBytes)} before` };
  const done = Object.entries(counts).map(([what, count]) => `${count} × ${what}`);
  return [
    ...kinds.flatMap((kind) => [0.5, 0.99].map((share) => compare(kind, share, quiet.ms, loaded.ms))),
    line('refused', `requests of another address that failed ${loaded.failures[0] ?? ''}`.trim(), refused),
    line('failed-probes', 'probes that failed', {
      value: failedProbes,
      ours: `${failedProbes} of ${probes}`,
      peer: '–',
    }),
    line('memory', 'resident memory of the server, at most', memory),
    line('half-sent', 'requests half sent', { value: counts['half-sent'] ?? 0, ours: done.join(', '), peer: '–' }),
  ];
}

/** What `work` gives while the hostile clients are at theirs, from where it measures, and what they did. */
async function besideHostileClients<T>(
  scene: DeliveryScene,
  { command, host, from }: OtherMachine,
  work: () => Promise<T>,
): Promise<{ result: T; counts: Readonly<Record<string, number>> }> {
  const options: HostileOptions = {
    host,
    port: scene.port,
    from,
    slowReaders: 300,
    rangePaths: scene.largePaths,
    halfSentPerSecond,
    imageClients: 200,
    imagePaths: scene.imagePaths,
  };
  const working = work();
  // Thrown below, after the clients have begun.
  working.catch(() => {});
  await sleep(unmeasuredSeconds * 1000);
  // They have processors of their own in practice.
  const clients = startLoad('hostile-clients.ts', options, ['nice', '-n', '25', ...command]);
  const counts = outcomeOf(clients);
  // Thrown below, after the work has ended.
  counts.catch(() => {});
  const result = await working.finally(() => clients.kill('SIGTERM'));
  return { result, counts: z.record(z.string(), z.number()).parse(await counts) };
}

/** A line that is a count, or megabytes. */
function line(id: string, what: string, figures: Pick<BenchLine, 'value' | 'ours' | 'peer'>): BenchLine {
  return { id: `clients.${id}`, what, unit: id === 'memory' ? 'MB' : 'calls', ...figures };
}

type Latencies = Readonly<Record<string, readonly number[]>>;

function compare(kind: string, share: number, before: Latencies, during: Latencies): BenchLine {
  const [quiet, loaded] = [percentile(before[kind] ?? [], share), percentile(during[kind] ?? [], share)];
  return {
    id: `clients.${kind}-p${share * 100}`,
    what: `${kind} of another address, ${share * 100}th percentile, to before`,
    value: loaded / quiet,
    unit: 'ratio',
    ours: `${loaded.toFixed(1)} ms`,
    peer: `${quiet.toFixed(1)} ms`,
  };
}

/** Probes the server and looks at its memory each second, until it is stopped. */
function watchServer(pid: number, probePort: number) {
  const stopped = new AbortController();
  const seen = { probes: 0, failedProbes: 0, memoryBytes: 0 };
  const probe = async (path: string) => {
    const asked = fetch(`http://127.0.0.1:${probePort}${path}`, { signal: AbortSignal.timeout(probeTimeoutMs) });
    const isFit = await asked.then(({ ok }) => ok).catch(() => false);
    seen.probes += 1;
    if (!isFit) seen.failedProbes += 1;
  };
  const watch = async () => {
    while (!stopped.signal.aborted) {
      const [resident] = await Promise.all([memoryOf(pid, 'VmRSS'), probe('/healthz'), probe('/readyz'), sleep(1000)]);
      seen.memoryBytes = Math.max(seen.memoryBytes, resident);
    }
    return seen;
  };
  const watching = watch();
  return {
    stop: () => {
      stopped.abort();
      return watching;
    },
  };
}
