import { signPlaybackToken } from '#domain/playback/token.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { secrets } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import { type BenchLine, type BenchSuite, interleave, median } from '../harness.ts';
import { startPeer } from '../load/peer-process.ts';
import { load } from '../load/wrk.ts';
import { startOnOwnServers } from '../support/own-servers.ts';

// `/api/key` against bare fastify with one command of the same Redis: what the token, the limit and the key cost beside
// the least that could be called a limited answer. Players of twenty media, each with its token.

const mediaCount = 20;
const connections = 32;
const warmUpSeconds = 6;
const roundSeconds = 2;
const rounds = 5;

export const keysSuite: BenchSuite = {
  name: 'keys',
  missing() {
    const absent = ['wrk', 'redis-server'].filter((name) => findProgram(name) === null);
    return Promise.resolve(absent.length === 0 ? null : `there is no ${absent.join(' and no ')}`);
  },
  async run() {
    const stops: (() => Promise<unknown>)[] = [];
    try {
      return [await measure(await startContenders(stops))];
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

interface Contender {
  readonly url: string;
  readonly pid: number;
}

async function startContenders(stops: (() => Promise<unknown>)[]): Promise<Record<'ours' | 'bare', Contender>> {
  const { program, databaseUrl, redisUrl } = await startOnOwnServers(stops, {
    args: ['--mode=server'],
    variables: { KEY_RATE_LIMIT_PER_MINUTE: '1000000' },
  });
  const database = openDatabase(databaseUrl);
  const keys = new ContentKeyStore(database, { encryptionKeys: [secrets.ENCRYPTION_KEY] });
  for (let n = 1; n <= mediaCount; n++) await keys.findOrCreate(`video-${n}`);
  await database.close();
  const bare = await startPeer('bare-key.ts', redisUrl);
  stops.push(() => bare.stop());
  return { ours: program, bare };
}

async function measure(contenders: Record<'ours' | 'bare', Contender>): Promise<BenchLine> {
  const tokens = Array.from({ length: mediaCount }, (_, index) =>
    signPlaybackToken(
      { hash: `video-${index + 1}`, exp: Math.floor(Date.now() / 1000) + 3600 },
      secrets.KEY_TOKEN_SECRET,
    ),
  );
  const ask = async (name: 'ours' | 'bare', seconds = roundSeconds) => {
    const path = { prefix: '/api/key/video-', count: mediaCount, suffix: '' };
    const program = findProgram('wrk') ?? '';
    return (await load({ ...contenders[name], program, path, tokens, connections, seconds, sizeBytesMin: 16 }))
      .requestsPerSecond;
  };
  for (const name of ['ours', 'bare'] as const) await ask(name, warmUpSeconds);
  const figures = await interleave({ rounds, contenders: { ours: () => ask('ours'), bare: () => ask('bare') } });
  const [ours, bare] = [median(figures.ours), median(figures.bare)];
  return {
    id: 'keys.remembered',
    what: 'content keys a second, to bare fastify with one command of Redis',
    value: ours / bare,
    unit: 'ratio',
    ours: `${ours.toFixed(0)}/s`,
    peer: `${bare.toFixed(0)}/s`,
  };
}
