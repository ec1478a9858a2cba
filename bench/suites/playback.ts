import { randomBytes } from 'node:crypto';
import { link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { videoRoot } from '#domain/media/object-keys.ts';
import { endPrograms } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchSuite, interleave, median } from '../harness.ts';
import { load } from '../load/wrk.ts';
import { startDeliveryServer } from '../support/delivery-server.ts';

// What it costs to read what a player says of itself: requests with CMCD against the same requests without, on one
// server with PLAYBACK_FIGURES, by the processor time of each. The digests wait for a database that is not there.

const hash = 'bench';
const rev = '0123456789abcdef';
const count = 20;
const connections = 32;
const warmUpSeconds = 10;
const roundSeconds = 2;
const rounds = 9;
const state =
  'bl=21300,br=3200,bs,cid="faec5fc2-ac30-11ea-bb37-0242ac130002",d=4004,mtp=25400,ot=v,rtp=15000,sf=h,' +
  'sid="6e2fb550-c457-11e9-bb97-0800200c9a66",st=v,su,tb=6000';
const query = `?CMCD=${encodeURIComponent(state)}`;

const cases = [
  { id: 'segments', what: 'hot segments of 1 MB', name: 'seg_', extension: '.m4s', sizeBytes: 1024 * 1024 },
  { id: 'playlists', what: 'playlists of 4 kB', name: 'list_', extension: '.m3u8', sizeBytes: 4096 },
] as const;

export const playbackSuite: BenchSuite = {
  name: 'playback',
  missing: () => Promise.resolve(findProgram('wrk') === null ? 'there is no wrk' : null),
  async run() {
    const folder = await mkdtemp(join(tmpdir(), 'reelwright-bench-'));
    try {
      await fill(folder);
      const server = await startDeliveryServer(folder, { PLAYBACK_FIGURES: 'true' });
      const lines: BenchLine[] = [];
      for (const one of cases) lines.push(await measure(one, server));
      return lines;
    } finally {
      await endPrograms();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function fill(folder: string): Promise<void> {
  const track = join(folder, videoRoot(hash), rev, 'video', 't');
  await mkdir(track, { recursive: true });
  for (const { name, extension, sizeBytes } of cases) {
    const first = join(track, `${name}1${extension}`);
    await writeFile(first, randomBytes(sizeBytes));
    for (let n = 2; n <= count; n++) await link(first, join(track, `${name}${n}${extension}`));
  }
}

async function measure(
  { id, what, name, extension, sizeBytes }: (typeof cases)[number],
  server: { readonly url: string; readonly pid: number },
): Promise<BenchLine> {
  const program = findProgram('wrk') ?? '';
  const cpuMs = async (suffix: string, seconds = roundSeconds) => {
    const path = { prefix: `/stream/${hash}/${rev}/video/t/${name}`, count, suffix: extension + suffix };
    return (await load({ ...server, program, path, connections, seconds, sizeBytesMin: sizeBytes })).cpuMsPerRequest;
  };
  for (const suffix of [query, '']) await cpuMs(suffix, warmUpSeconds);
  const figures = await interleave({ rounds, contenders: { ours: () => cpuMs(query), without: () => cpuMs('') } });
  const [ours, without] = [median(figures.ours), median(figures.without)];
  return {
    id: `playback.${id}`,
    what: `${what}: processor time of a request with CMCD, to one without`,
    value: ours / without,
    unit: 'ratio',
    ours: `${ours.toPrecision(3)} ms`,
    peer: `${without.toPrecision(3)} ms`,
  };
}
