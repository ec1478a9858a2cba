import { readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Upload } from '../../clients/typescript/src/index.ts';
import { openCommandLine, type CommandLine } from '../../testing/command-line.ts';
import { until } from '../../testing/controller-rig.ts';
import { findProgram } from '../../testing/servers.ts';
import { endPrograms, type Program, secrets, startProgram } from '../../testing/programs.ts';
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
/** The address of the program, also when it has come back. */
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

/** Expects the display of an upload that was interrupted: shares that grow, a rate and the end. */
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
      program = await startProgram({ env: { ...env(), PORT: port, BASE_URL: url }, waits: 'not' });
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
