import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { z } from 'zod';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { endPrograms, type Program, secrets } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchSuite, interleave, median } from '../harness.ts';
import { type PeerProcess, startPeer } from '../load/peer-process.ts';
import { load } from '../load/wrk.ts';
import { startDeliveryServer } from '../support/delivery-server.ts';
import { photo } from '../support/photo.ts';

// `/thumb`: images that are in no cache, resized and cut by crop and gravity, against raw sharp making the same bytes of
// the same files and against ipx making the same size, format and quality, and images that are in memory against bare fastify with a buffer of that
// size.

const run = promisify(execFile);
const imagesPerRound = 48;
const warmUpRounds = 5;
const rounds = { quick: 2, whole: 5 };
const hitSeconds = 2;
const connections = 8;
const width = 401;
/** What is made of each image, as the query of an address and as the options of sharp. */
interface Shape {
  readonly query: Readonly<Record<string, string | number>>;
  readonly sharp: readonly object[];
}
const resized: Shape = { query: { w: width, f: 'webp' }, sharp: [{ width, fit: 'inside' }] };
const cut: Shape = {
  query: { w: width, h: 300, fit: 'cover', gravity: 'attention', crop: '200-100-1500-1200', f: 'webp' },
  sharp: [
    { width, height: 300, fit: 'cover', position: 'attention' },
    { left: 200, top: 100, width: 1500, height: 1200 },
  ],
};
const folderOfKeys = 'images/ab/photos/0123456789abcdef';
const [secret = ''] = thumbSecretsOf([], secrets.KEY_TOKEN_SECRET);
const outcomeSchema = z.object({ perSecond: z.number().positive(), digest: z.string() });

export const thumbSuite: BenchSuite = {
  name: 'thumb',
  missing: () => Promise.resolve(findProgram('wrk') === null ? 'there is no wrk' : null),
  async run({ isQuick }) {
    const stops: (() => Promise<void>)[] = [endPrograms];
    try {
      const scene = await setUp(stops, isQuick ? rounds.quick : rounds.whole);
      return [...(await measureMisses(scene)), await measureHits(scene)];
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

interface Scene {
  readonly folder: string;
  readonly ours: Program;
  readonly bare: PeerProcess;
  readonly ipx: PeerProcess;
  /** Of each contender. */
  readonly rounds: number;
}

async function setUp(stops: (() => Promise<void>)[], roundCount: number): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-bench-'));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, 'media', folderOfKeys), { recursive: true });
  await mkdir(join(folder, 'round'));
  await writeFile(join(folder, 'photo.jpg'), await photo(2000, 1500));
  for (let n = 0; n < imagesPerRound; n++) await link(join(folder, 'photo.jpg'), join(folder, 'round', `${n}.jpg`));
  const ours = await startDeliveryServer(join(folder, 'media'));
  const made = await fetchImage(ours.url, await addImage(folder, 'first', resized));
  for (const shape of [resized, cut]) {
    const same = await fetchImage(ours.url, signThumbPath(`${folderOfKeys}/first.jpg`, shape.query, secret));
    if (createHash('sha256').update(same).digest('hex') !== (await rawSharp(folder, shape)).digest)
      throw new Error(`ours are not the bytes of raw sharp: ${JSON.stringify(shape.query)}`);
  }
  const bare = await startPeer('bare-image.ts', String(made.length));
  stops.push(() => bare.stop());
  const ipx = await startPeer('raw-ipx.ts', join(folder, 'round'));
  stops.push(() => ipx.stop());
  return { folder, ours, bare, ipx, rounds: roundCount };
}

async function rawSharp(folder: string, shape: Shape): Promise<z.infer<typeof outcomeSchema>> {
  const script = join(import.meta.dirname, '../load/raw-sharp.ts');
  const { stdout } = await run(process.execPath, [
    script,
    join(folder, 'round'),
    ...shape.sharp.map((options) => JSON.stringify(options)),
  ]);
  return outcomeSchema.parse(JSON.parse(stdout));
}

/** The signed address of the image under a key that was not requested before. */
async function addImage(folder: string, name: string, { query }: Shape): Promise<string> {
  const key = `${folderOfKeys}/${name}.jpg`;
  await link(join(folder, 'photo.jpg'), join(folder, 'media', key));
  return signThumbPath(key, query, secret);
}

async function fetchImage(url: string, path: string): Promise<Buffer> {
  // It costs half of what `fetch` does, which runs on the cores that are measured.
  const { statusCode, body } = await request(`${url}${path}`);
  const bytes = Buffer.from(await body.arrayBuffer());
  if (statusCode !== 200) throw new Error(`${path}: ${statusCode}`);
  return bytes;
}

let added = 0;

/** Images a second, none of which is in any cache. */
async function misses({ folder, ours }: Scene, shape: Shape): Promise<number> {
  const paths: string[] = [];
  for (let n = 0; n < imagesPerRound; n++) paths.push(await addImage(folder, `miss-${(added += 1)}`, shape));
  return fetchAll(ours.url, paths);
}

/** The same of ipx, which keeps nothing. */
function ipxMisses({ ipx }: Scene): Promise<number> {
  const options = `w_${width},f_webp,q_80`;
  return fetchAll(
    ipx.url,
    Array.from({ length: imagesPerRound }, (_, n) => `/${options}/${n}.jpg`),
  );
}

/** Images a second. */
async function fetchAll(url: string, paths: readonly string[]): Promise<number> {
  const left = paths.values();
  const beganMs = performance.now();
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (const path of left) await fetchImage(url, path);
    }),
  );
  return paths.length / ((performance.now() - beganMs) / 1000);
}

async function measureMisses(scene: Scene): Promise<BenchLine[]> {
  const contenders = {
    ours: () => misses(scene, resized),
    sharp: async () => (await rawSharp(scene.folder, resized)).perSecond,
    ipx: () => ipxMisses(scene),
    cut: () => misses(scene, cut),
    sharpCut: async () => (await rawSharp(scene.folder, cut)).perSecond,
  };
  // The first rounds find code that was never run, and that is not compiled yet.
  for (let round = 0; round < warmUpRounds; round++) await misses(scene, round % 2 === 0 ? resized : cut);
  await ipxMisses(scene);
  const figures = await interleave({ rounds: scene.rounds, contenders });
  const [ours, sharp, ipx] = [median(figures.ours), median(figures.sharp), median(figures.ipx)];
  return [
    line('misses', 'images a second that are made, to raw sharp', ours, sharp),
    line(
      'misses-cut',
      'images a second that are cut by crop and attention, to raw sharp',
      median(figures.cut),
      median(figures.sharpCut),
    ),
    line('misses-ipx', 'images a second that are made, to ipx', ours, ipx),
  ];
}

async function measureHits({ folder, ours, bare, rounds: roundCount }: Scene): Promise<BenchLine> {
  const path = signThumbPath(`${folderOfKeys}/first.jpg`, { w: width, f: 'webp' }, secret);
  const { length: sizeBytesMin } = await fetchImage(ours.url, path);
  // wrk writes a number into the address: the 1 at the end of the width.
  const hit = { prefix: path.slice(0, -1), count: 1, suffix: '' };
  if (!path.endsWith('1')) throw new Error(`${folder}: the address does not end with the width`);
  const ask = async (peer: { url: string; pid: number }, asked: typeof hit) => {
    const program = findProgram('wrk') ?? '';
    const seconds = hitSeconds;
    return (await load({ program, url: peer.url, path: asked, connections, seconds, pid: peer.pid, sizeBytesMin }))
      .requestsPerSecond;
  };
  const figures = await interleave({
    rounds: roundCount,
    contenders: {
      ours: () => ask(ours, hit),
      bare: () => ask(bare, { prefix: '/image/', count: 1, suffix: '' }),
    },
  });
  return line('hits', 'images a second from memory, to bare fastify', median(figures.ours), median(figures.bare));
}

const shown = (figure: number) => `${figure.toPrecision(3)}/s`;

function line(id: string, what: string, ours: number, peer: number): BenchLine {
  return { id: `thumb.${id}`, what, value: ours / peer, unit: 'ratio', ours: shown(ours), peer: shown(peer) };
}
