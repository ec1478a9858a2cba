import { createHash, randomBytes } from 'node:crypto';
import { open, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Upload } from '../../clients/typescript/src/index.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { openCommandLine, type CommandLine } from '../../testing/command-line.ts';
import { until } from '../../testing/controller-rig.ts';
import { findProgram } from '../../testing/servers.ts';
import { memoryOf } from '../../testing/process-memory.ts';
import { endPrograms, type Program, secrets, startProgram } from '../../testing/programs.ts';
import { newStorage } from './api-under-test.ts';
import { headers, prepareService, type ServiceUnderTest } from './service-under-test.ts';

// An upload of a large file by the command line, in the middle of which the server is killed and comes back.
// UPLOAD_MIB=1024 uploads a gibibyte.

const sizeMib = Number(process.env['UPLOAD_MIB'] ?? 300);
const sizeBytes = sizeMib * 1024 ** 2;
/** A server that shares its machine stores some MiB a second. */
const timeoutMs = 120_000 + sizeMib * 400;

let service: ServiceUnderTest;
let program: Program;
let cli: CommandLine;
/** Of the program, also when it has come back. */
let url = '';

beforeAll(async () => {
  service = await prepareService();
  if (!inject('postgres')) return;
  program = await startProgram({ env: env() });
  ({ url } = program);
  cli = await openCommandLine({ REELWRIGHT_URL: url, REELWRIGHT_API_KEY: secrets.API_KEY });
});
afterAll(async () => {
  await endPrograms();
  await cli?.close();
  await service.close();
});

const env = () => ({
  ...service.env,
  UPLOAD_BUCKET: `file:${service.folder('source')}`,
  MAX_FILE_SIZE: `${sizeMib}MiB`,
});

/** The one upload of the service, as its API shows it; null before there is one. */
const theUpload = () => uploadOf(cli, url);

async function uploadOf({ home }: CommandLine, baseUrl: string): Promise<Upload | null> {
  const state = join(home, '.local/state/reelwright/uploads.json');
  const known = JSON.parse(await readFile(state, 'utf8').catch(() => '{}')) as Record<string, string>;
  const [id] = Object.values(known);
  if (id === undefined) return null;
  return (await (await fetch(`${baseUrl}/api/uploads/${id}`, { headers })).json()) as Upload;
}

const mebibyte = 1024 ** 2;

/** A PNG by its first bytes, of which no two parts are alike; its SHA-256. */
async function writeLarge(path: string, mebibytes: number): Promise<string> {
  const [file, hash, block] = [await open(path, 'w'), createHash('sha256'), randomBytes(mebibyte)];
  for (let n = 0; n < mebibytes; n += 1) {
    block.writeUInt32BE(n, 1024);
    if (n === 0) block.write('89504e470d0a1a0a0000000d49484452', 'hex');
    hash.update(block);
    await file.write(block);
  }
  await file.close();
  return hash.digest('hex');
}

/** What a terminal shows of an upload that was interrupted: shares that grow, a rate and the end. */
function expectProgress(shown: string): void {
  const shares = [...shown.matchAll(/uploading \[[#.]+\] +(\d+) %/g)].map(([, percent]) => Number(percent));
  expect(new Set(shares).size, shown.slice(-500)).toBeGreaterThan(5);
  expect(shares.at(-1)).toBe(100);
  expect(shown).toMatch(/ of [\d.]+ [MG]iB  [\d.]+ [KMG]iB\/s  ends in \d+:\d\d/);
  expect(shown).toMatch(/cli-large  submitted\s*$/);
}

const uploadedParts = (upload: Upload | null) => upload?.parts.filter(({ uploaded }) => uploaded).length ?? 0;

describe.skipIf(!inject('postgres'))('the upload of submit', () => {
  const onTerminal = findProgram('script') !== null;

  it(
    'a large file is whole although the server was killed in the middle, and a terminal shows how far it is',
    async () => {
      const path = join(cli.home, 'large.png');
      // The bytes of a small image and then nothing: what the service makes of it is not at stake.
      await writeFile(path, Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));
      await truncate(path, sizeBytes);
      const args = ['submit', path, '--type', 'image:thumbnail', '--hash', 'cli-large'];
      const submitting = cli.run(onTerminal ? args : [...args, '--json'], { onTerminal });
      const before = await until(theUpload, (upload) => uploadedParts(upload) >= 2, 60_000);
      const { port } = new URL(url);
      program.signal('SIGKILL');
      await program.ended;
      expect(uploadedParts(before)).toBeLessThan(Math.ceil(sizeBytes / (before?.part_size ?? 1)));
      // Longer than the first repetitions take.
      await sleep(3_000);
      program = await startProgram({ env: { ...env(), PORT: port, BASE_URL: url }, waits: false });
      const { code, stdout, stderr } = await submitting;
      expect([code, stderr], stdout).toEqual([0, '']);
      if (onTerminal) expectProgress(stdout);
      expect(stdout).toContain('cli-large');
      // The same upload as before: its parts were not sent again.
      expect((await stat(service.folder(`source/${before?.source}`))).size).toBe(sizeBytes);
    },
    timeoutMs,
  );
});

describe.skipIf(!inject('postgres') || inject('s3') === null)('uploads to an S3 server', () => {
  it(
    'C30.3: a client that is killed three times ends with the right digest, past a server whose memory hardly grows',
    async () => {
      const storage = await newStorage('', 'source');
      if (storage.s3 === undefined) throw new TypeError('expected an S3 server');
      const { endpoint = '', keys } = storage.s3;
      const { accessKeyId = '', secretAccessKey = '' } = keys ?? {};
      const server = await startProgram({
        args: ['--mode=server'],
        env: {
          ...env(),
          SOURCE_BUCKET: storage.bucket,
          SOURCE_S3_ENDPOINT: endpoint,
          SOURCE_S3_ACCESS_KEY_ID: accessKeyId,
          SOURCE_S3_SECRET_ACCESS_KEY: secretAccessKey,
          UPLOAD_BUCKET: storage.bucket,
          UPLOAD_S3_ACCESS_KEY_ID: accessKeyId,
          UPLOAD_S3_SECRET_ACCESS_KEY: secretAccessKey,
        },
      });
      const own = await openCommandLine({ REELWRIGHT_URL: server.url, REELWRIGHT_API_KEY: secrets.API_KEY });
      const path = join(own.home, 'large.png');
      const sha256 = await writeLarge(path, sizeMib);
      const before = await memoryOf(server.pid, 'VmRSS');
      const args = ['submit', path, '--type', 'image:thumbnail', '--hash', 'cli-bucket', '--json'];
      let [sent, key] = [0, ''];
      for (let round = 0; round < 3; round += 1) {
        let pid = 0;
        const killed = own.run(args, { onStart: (started) => (pid = started) });
        let found: Upload | null = null;
        // It runs a twentieth of a second at a time, so that it does not come to its end meanwhile.
        while (uploadedParts(found) <= sent) {
          process.kill(pid, 'SIGCONT');
          await sleep(50);
          process.kill(pid, 'SIGSTOP');
          found = await uploadOf(own, server.url);
        }
        process.kill(pid, 'SIGKILL');
        expect((await killed).code).toBeNull();
        sent = uploadedParts(await uploadOf(own, server.url));
        expect(found?.parts.map((part) => new URL(part.url).origin)).toEqual(found?.parts.map(() => endpoint));
        key = found?.source ?? '';
      }
      const last = await own.run(args);
      expect([last.code, last.stderr]).toEqual([0, '']);
      const store = openObjectStore(storage);
      const digest = createHash('sha256');
      for await (const chunk of (await store.get(key))?.body ?? []) digest.update(chunk as Buffer);
      await store.close();
      await own.close();
      expect(digest.digest('hex')).toBe(sha256);
      expect((await memoryOf(server.pid, 'VmHWM')) - before).toBeLessThan(100 * mebibyte);
    },
    timeoutMs,
  );
});
