import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { until } from '../../testing/controller-rig.ts';
import { secrets } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchSuite, interleave, median } from '../harness.ts';
import { startOrigin } from '../load/nginx.ts';
import { load } from '../load/wrk.ts';
import { startOnOwnServers } from '../support/own-servers.ts';
import {
  coldCount,
  fillOrigin,
  mediaHash,
  mediaVariables,
  type StreamCase,
  streamCases,
} from '../support/stream-objects.ts';

// `/s/{ticket}/…` beside `/stream/…` of one server: what the ticket costs. It has a database, which says that no ticket
// was withdrawn; it is read once a second, and not for a request.

const connections = 32;
const warmUpSeconds = 12;
const roundSeconds = 2;
const rounds = 7;
/** How many of the cold names a second may use up; each contender has a half of them. */
const coldCountPerSecond = 1_000;

export const ticketsSuite: BenchSuite = {
  name: 'tickets',
  missing() {
    const absent = ['nginx', 'wrk', 'redis-server'].filter((name) => findProgram(name) === null);
    return Promise.resolve(absent.length === 0 ? null : `there is no ${absent.join(' and no ')}`);
  },
  async run() {
    const stops: (() => Promise<unknown>)[] = [];
    try {
      const server = await startServer(stops);
      const lines: BenchLine[] = [];
      for (const one of [streamCases.hot, streamCases.cold, streamCases.playlists])
        lines.push(...(await measure(one, server)));
      return lines;
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

interface Server {
  readonly url: string;
  readonly pid: number;
}

async function startServer(stops: (() => Promise<unknown>)[]): Promise<Server> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-bench-'));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  await fillOrigin(folder);
  const origin = await startOrigin(findProgram('nginx') ?? '', folder);
  stops.push(() => origin.stop());
  const { program } = await startOnOwnServers(stops, {
    args: ['--mode=server'],
    probe: '/healthz',
    variables: mediaVariables(origin.url),
  });
  // Its tables are made meanwhile.
  for (const prefix of [streamCases.playlists.path.prefix, signedPrefix(streamCases.playlists)])
    await until(
      () => fetch(`${program.url}${prefix}1/playlist.m3u8`),
      ({ ok }) => ok,
    );
  return program;
}

function signedPrefix({ path }: StreamCase): string {
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const ticket = signStreamTicket({ hash: mediaHash, exp }, secrets.STREAM_SECRET);
  return path.prefix.replace('/stream/', `/s/${ticket}/`);
}

async function measure(one: StreamCase, { url, pid }: Server): Promise<BenchLine[]> {
  const prefixes = { open: one.path.prefix, signed: signedPrefix(one) };
  const cpu: Record<'signed' | 'open', number[]> = { signed: [], open: [] };
  const spentSeconds = { signed: 0, open: 0 };
  const run = async (name: 'signed' | 'open', seconds: number) => {
    const half = name === 'signed' ? coldCount / 2 : 0;
    const after = one.path.count === coldCount ? half + coldCountPerSecond * spentSeconds[name] : 0;
    spentSeconds[name] += seconds;
    const program = findProgram('wrk') ?? '';
    return load({
      ...one,
      url,
      pid,
      path: { ...one.path, prefix: prefixes[name] },
      after,
      program,
      connections,
      seconds,
    });
  };
  const contender = (name: 'signed' | 'open') => async () => {
    const outcome = await run(name, roundSeconds);
    cpu[name].push(outcome.cpuMsPerRequest);
    return outcome.requestsPerSecond;
  };
  for (const name of ['open', 'signed'] as const) await run(name, warmUpSeconds);
  const rates = await interleave({ rounds, contenders: { signed: contender('signed'), open: contender('open') } });
  const line = (id: string, what: string, figures: typeof cpu, unit: string): BenchLine => ({
    id: `tickets.${one.id}${id}`,
    what: `${one.what}, by a ticket: ${what}, to those without`,
    value: median(figures.signed) / median(figures.open),
    unit: 'ratio',
    ours: `${median(figures.signed).toPrecision(3)}${unit}`,
    peer: `${median(figures.open).toPrecision(3)}${unit}`,
  });
  return [line('', 'requests a second', rates, '/s'), line('-cpu', 'processor time a request', cpu, ' ms')];
}
