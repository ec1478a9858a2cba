import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import sharp from 'sharp';
import { createDatabase } from '../databases.ts';
import { makeVideo } from '../media.ts';
import { secrets, startProgram } from '../programs.ts';
import type { StartedPart } from './server.ts';

/** The PostgreSQL of the run; null where this machine has none. */
export type Postgres = { readonly url: string; readonly migratedTemplate: string } | null;

/** The program that test files share. Its secrets are `secrets` of `testing/programs.ts`. */
export interface StageService {
  readonly url: string;
  /** The folders that are its buckets. */
  readonly source: string;
  readonly media: string;
  /** The one host that imports may be from: it serves the files of `source`. */
  readonly files: string;
}

/** The rungs of the profile `small`. */
export const smallLadder = [
  { short_side: 90, bitrate: 300_000 },
  { short_side: 180, bitrate: 800_000 },
];

const profiles = {
  sheets: { storyboard: 'always' },
  small: { ladder: smallLadder, first_bitrate: 300_000, storyboard: 'always' },
};
/** The folder of a source names its profile. */
const rules = [...Object.keys(profiles), 'audio'].map((profile) => ({ source_prefix: `${profile}/`, profile }));

/** Puts `clip.mp4` (2 s, 128 × 72, with audio) and `red.png` (64 × 48) into a folder. */
export async function makeSmallSources(folder: string): Promise<void> {
  await makeVideo({ path: join(folder, 'clip.mp4'), seconds: 2, width: 128, height: 72 });
  const create = { width: 64, height: 48, channels: 3 as const, background: 'red' };
  await sharp({ create }).png().toFile(join(folder, 'red.png'));
}

/** Starts the program with all of its surfaces, without limits that tests meet together. */
export async function startStageService(postgres: Postgres): Promise<StartedPart<StageService>> {
  if (postgres === null) throw new Error('no PostgreSQL was started for this run');
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-service-'));
  const [source, media, work] = [join(folder, 'source'), join(folder, 'media'), join(folder, 'work')];
  for (const each of [source, media, work]) await mkdir(each);
  const files = await serveFiles(source);
  const database = await createDatabase(postgres.url, postgres.migratedTemplate);
  const [program] = await Promise.all([
    startProgram({
      env: {
        ...secrets,
        DATABASE_URL: database.url,
        REDIS_URL: 'embedded:',
        SOURCE_BUCKET: `file:${source}`,
        UPLOAD_BUCKET: `file:${source}`,
        MEDIA_BUCKET: `file:${media}`,
        WORK_DIR: work,
        X264_PRESET: 'ultrafast',
        CONSOLE: 'home',
        MEDIA_PROFILES: JSON.stringify({ profiles, rules }),
        WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
        IMPORT_HOSTS: new URL(files.url).host,
        IMPORT_ALLOWED_CIDRS: '127.0.0.0/8',
        API_RATE_LIMIT_PER_MINUTE: '10000',
        BATCH_RATE_LIMIT_PER_MINUTE: '10000',
        KEY_RATE_LIMIT_PER_MINUTE: '10000',
      },
    }),
    makeSmallSources(source),
  ]);
  const stop = async () => {
    await program.end();
    files.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  };
  return { answer: { url: program.url, source, media, files: files.url }, stop };
}

/** A server of the files of a folder. Its `url` has a slash at the end. */
async function serveFiles(folder: string): Promise<{ url: string; stop: () => void }> {
  const server = createServer((request, response) => {
    createReadStream(join(folder, basename(request.url ?? '')))
      .on('error', () => response.writeHead(404).end())
      .pipe(response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, stop };
}
