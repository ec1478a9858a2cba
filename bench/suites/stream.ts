import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { videoRoot } from '#domain/media/object-keys.ts';
import { endPrograms } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchSuite, interleave, median } from '../harness.ts';
import { type Nginx, type ProxyForm, startOrigin, startProxy } from '../load/nginx.ts';
import { load, type Outcome } from '../load/wrk.ts';
import { startDeliveryServer } from '../support/delivery-server.ts';
import {
  bucket,
  certificateFile,
  coldCount,
  fillOrigin,
  keyFile,
  mediaHash,
  mediaVariables,
  type StreamCase,
  streamCases,
} from '../support/stream-objects.ts';

// Delivery against a tuned nginx that proxies the same origin: the program as it is shipped, with its default settings,
// one process each. The origin is an nginx that serves files without checking signatures, the cheapest there is, so
// that the proxies are what is measured; ours signs its requests all the same. nginx runs in three forms, one with its
// cache; the peer of a case is the one that answers the most requests a second in it. One case has an origin that
// speaks TLS, as object storage in a cloud does.

const connections = 32;
/** How many of the cold names a second may use up. */
const coldCountPerSecond = 1_500;
/** Connections are opened, and code is compiled, which in our process goes on for some twenty seconds. */
const warmUpSeconds = { ours: 25, nginx: 4 };
const roundSeconds = 2;
const rounds = 5;

/** Of the origin. */
type Scheme = 'http' | 'https';
type Case = StreamCase & { readonly scheme: Scheme };

const { hot, cold, playlists } = streamCases;
const cases: readonly Case[] = [
  { ...hot, scheme: 'http' },
  { ...cold, scheme: 'http' },
  { ...cold, id: `${cold.id}-tls`, what: `${cold.what}, origin with TLS`, scheme: 'https' },
  { ...playlists, scheme: 'http' },
];

const forms = ['buffered', 'unbuffered', 'cached'] as const satisfies readonly ProxyForm[];
type Contender = 'ours' | ProxyForm;

export const streamSuite: BenchSuite = {
  name: 'stream',
  missing() {
    const absent = ['nginx', 'wrk'].filter((name) => findProgram(name) === null);
    return Promise.resolve(absent.length === 0 ? null : `there is no ${absent.join(' and no ')}`);
  },
  async run() {
    const stops: (() => Promise<void>)[] = [endPrograms];
    try {
      const folder = await mkdtemp(join(tmpdir(), 'reelwright-bench-'));
      stops.push(() => rm(folder, { recursive: true, force: true }));
      await fillOrigin(folder);
      const lines: BenchLine[] = [];
      for (const scheme of ['http', 'https'] as const) {
        const targets = await startTargets(folder, scheme, stops);
        for (const one of cases.filter((it) => it.scheme === scheme)) lines.push(...(await measure(one, targets)));
      }
      return lines;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

type Targets = Readonly<Record<Contender, { readonly url: string; readonly pid: number }>>;

async function startTargets(folder: string, scheme: Scheme, stops: (() => Promise<void>)[]): Promise<Targets> {
  const nginx = findProgram('nginx') ?? '';
  const started = async (starting: Promise<Nginx>): Promise<Nginx> => {
    const server = await starting;
    stops.push(() => server.stop());
    return server;
  };
  const origin = await started(
    startOrigin(nginx, folder, scheme === 'https' ? { file: certificateFile(folder), keyFile: keyFile(folder) } : null),
  );
  const path = `/${bucket}/${dirname(videoRoot(mediaHash))}/`;
  const proxy = (form: ProxyForm) => started(startProxy(nginx, { origin: origin.url, path, form }));
  return {
    ours: await startDeliveryServer(folder, {
      ...mediaVariables(origin.url),
      NODE_EXTRA_CA_CERTS: certificateFile(folder),
    }),
    buffered: await proxy('buffered'),
    unbuffered: await proxy('unbuffered'),
    cached: await proxy('cached'),
  };
}

async function measure(one: Case, targets: Targets): Promise<BenchLine[]> {
  const outcomes: Record<Contender, Outcome[]> = { ours: [], buffered: [], unbuffered: [], cached: [] };
  const spentSeconds: Record<Contender, number> = { ours: 0, buffered: 0, unbuffered: 0, cached: 0 };
  const run = (name: Contender, seconds: number) => {
    const after = one.path.count === coldCount ? coldCountPerSecond * spentSeconds[name] : 0;
    spentSeconds[name] += seconds;
    const program = findProgram('wrk') ?? '';
    return load({ ...one, ...targets[name], after, program, connections, seconds });
  };
  const contender = (name: Contender) => async () => {
    const outcome = await run(name, roundSeconds);
    outcomes[name].push(outcome);
    return outcome.requestsPerSecond;
  };
  await run('ours', warmUpSeconds.ours);
  for (const form of forms) await run(form, warmUpSeconds.nginx);
  const [buffered, unbuffered, cached] = [contender('buffered'), contender('unbuffered'), contender('cached')];
  await interleave({ rounds, contenders: { ours: contender('ours'), buffered, unbuffered, cached } });
  const of = (name: Contender, figure: keyof Outcome) => median(outcomes[name].map((outcome) => outcome[figure]));
  const [best = 'buffered'] = forms.toSorted((a, b) => of(b, 'requestsPerSecond') - of(a, 'requestsPerSecond'));
  const line = (id: string, what: string, figure: keyof Outcome, unit: string): BenchLine => ({
    id: `stream.${one.id}${id}`,
    what: `${one.what}: ${what}, to the best nginx (${best})`,
    value: of('ours', figure) / of(best, figure),
    unit: 'ratio',
    ours: `${of('ours', figure).toPrecision(3)}${unit}`,
    peer: `${of(best, figure).toPrecision(3)}${unit}`,
  });
  return [
    line('', 'requests a second', 'requestsPerSecond', '/s'),
    line('-cpu', 'processor time a request', 'cpuMsPerRequest', ' ms'),
    line('-p99', '99th percentile', 'p99Ms', ' ms'),
  ];
}
