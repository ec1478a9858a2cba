import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { videoRoot } from '#domain/media/object-keys.ts';
import { certificate } from '../../testing/certificate.ts';
import { endPrograms, secrets, startProgram } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchSuite, interleave, median } from '../harness.ts';
import { type Nginx, type ProxyForm, startOrigin, startProxy } from '../load/nginx.ts';
import { load, type Outcome } from '../load/wrk.ts';

// Delivery against a tuned nginx that proxies the same origin: the program as it is shipped, with its default settings,
// one process each. The origin is an nginx that serves files without checking signatures, the cheapest there is, so
// that the proxies are what is measured; ours signs its requests all the same. nginx runs in three forms, one with its
// cache; the peer of a case is the one that answers the most requests a second in it. One case has an origin that
// speaks TLS, as object storage in a cloud does.

const hash = 'bench';
const rev = '0123456789abcdef';
const bucket = 'media';
const segmentBytes = 2 * 1024 * 1024;
/** Each run requests names that no run before it has requested, more than can be served in its time. */
const coldCount = 60_000;
const coldCountPerSecond = 1_500;
/** As many as a few renditions have in use: these are in memory after the first second. */
const hotCount = 20;
const connections = 32;
/** Connections are opened, and code is compiled, which in our process goes on for some twenty seconds. */
const warmUpSeconds = { ours: 25, nginx: 4 };
const roundSeconds = 2;
const rounds = 5;

type Scheme = 'http' | 'https';

interface Case {
  readonly id: string;
  readonly what: string;
  /** Of the origin. */
  readonly scheme: Scheme;
  readonly path: { readonly prefix: string; readonly count: number; readonly suffix: string };
  readonly sizeBytesMin: number;
}

const trackPath = `/stream/${hash}/${rev}/video`;
const cases: readonly Case[] = [
  {
    id: 'segments-hot',
    what: '2 MB segments, hot',
    scheme: 'http',
    path: { prefix: `${trackPath}/hot/seg_`, count: hotCount, suffix: '.m4s' },
    sizeBytesMin: segmentBytes,
  },
  {
    id: 'segments-cold',
    what: '2 MB segments, cold',
    scheme: 'http',
    path: { prefix: `${trackPath}/cold/seg_`, count: coldCount, suffix: '.m4s' },
    sizeBytesMin: segmentBytes,
  },
  {
    id: 'segments-cold-tls',
    what: '2 MB segments, cold, origin with TLS',
    scheme: 'https',
    path: { prefix: `${trackPath}/cold/seg_`, count: coldCount, suffix: '.m4s' },
    sizeBytesMin: segmentBytes,
  },
  {
    id: 'playlists',
    what: '4 kB playlists',
    scheme: 'http',
    path: { prefix: `${trackPath}/list`, count: hotCount, suffix: '/playlist.m3u8' },
    sizeBytesMin: 4000,
  },
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
  const path = `/${bucket}/${dirname(videoRoot(hash))}/`;
  const proxy = (form: ProxyForm) => started(startProxy(nginx, { origin: origin.url, path, form }));
  return {
    ours: await startProgram({ args: ['--mode=server'], env: ourEnvironment(origin.url, certificateFile(folder)) }),
    buffered: await proxy('buffered'),
    unbuffered: await proxy('unbuffered'),
    cached: await proxy('cached'),
  };
}

const certificateFile = (folder: string) => join(folder, 'certificate.pem');
const keyFile = (folder: string) => join(folder, 'key.pem');

function ourEnvironment(endpoint: string, trustedCertificate: string): Record<string, string> {
  return {
    ...secrets,
    SERVER_SURFACES: 'delivery',
    // Streams need no database, and there is none.
    DATABASE_URL: 'postgres://bench@127.0.0.1:1/none',
    LOG_LEVEL: 'warn',
    MEDIA_BUCKET: bucket,
    MEDIA_S3_ENDPOINT: endpoint,
    MEDIA_S3_ACCESS_KEY_ID: 'bench',
    MEDIA_S3_SECRET_ACCESS_KEY: 'a-secret-that-is-not-checked',
    NODE_EXTRA_CA_CERTS: trustedCertificate,
  };
}

/** One segment under many names, so that it is in the page cache for all contenders alike. */
async function fillOrigin(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  await writeFile(certificateFile(folder), certificate.cert);
  await writeFile(keyFile(folder), certificate.key);
  const track = join(folder, bucket, videoRoot(hash), rev, 'video');
  for (const name of ['hot', 'cold']) await mkdir(join(track, name), { recursive: true });
  const segment = join(folder, 'segment');
  await writeFile(segment, randomBytes(segmentBytes));
  for (let n = 1; n <= hotCount; n++) await link(segment, join(track, 'hot', `seg_${n}.m4s`));
  for (let n = 1; n <= coldCount; n++) await link(segment, join(track, 'cold', `seg_${n}.m4s`));
  for (let n = 1; n <= hotCount; n++) {
    await mkdir(join(track, `list${n}`));
    const segments = Array.from({ length: 150 }, (_, index) => `#EXTINF:6.000,\nseg_${index + 1}.m4s\n`);
    await writeFile(join(track, `list${n}`, 'playlist.m3u8'), `#EXTM3U\n${segments.join('')}#EXT-X-ENDLIST\n`);
  }
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
