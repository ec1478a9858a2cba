import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// Callers generate typed clients from `GET /openapi.json`: this does it with openapi-typescript and its defaults.

const checkout = join(import.meta.dirname, '../..');
const run = promisify(execFile);

let api: ApiUnderTest;
let folder: string;

beforeAll(async () => {
  api = await startApi();
  folder = await mkdtemp(join(tmpdir(), 'reelwright-client-'));
  await writeFile(join(folder, 'openapi.json'), (await api.raw('/openapi.json')).text);
  const generator = join(checkout, 'node_modules/openapi-typescript/bin/cli.js');
  const preload = join(checkout, 'testing/typescript-5.ts');
  await run('node', ['--import', preload, generator, 'openapi.json', '-o', 'service.ts'], { cwd: folder });
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true, force: true });
});

/** The errors of `tsc --strict` for a program that uses the generated types. */
async function errorsOf(program: string): Promise<string> {
  await writeFile(join(folder, 'client.ts'), program);
  const options = [
    '--strict',
    '--noEmit',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--allowImportingTsExtensions',
  ];
  const tsc = join(checkout, 'node_modules/typescript/bin/tsc');
  return await run(tsc, [...options, 'client.ts'], { cwd: folder }).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  );
}

const imports = `import type { components, operations } from './service.ts';\n`;

it('C28.2: the first request of docs/guides/getting-started.md has the type of a submission', async () => {
  const page = await readFile(join(checkout, 'docs/guides/getting-started.md'), 'utf8');
  const body = /-d '(\{.*\})'/.exec(page)?.[1] ?? 'no request';
  const type = `operations['submitJob']['requestBody']['content']['application/json']`;
  expect(await errorsOf(`${imports}export const request: ${type} = ${body};`)).toBe('');
  expect(await errorsOf(`${imports}export const request: ${type} = { ...${body}, hash: 5 };`)).toContain('TS2322');
});

it('C28.2: both answers of a submission have a job_id', async () => {
  const program = `${imports}
    type Answers = operations['submitJob']['responses'];
    export const idOf = (answer: Answers[200 | 202]['content']['application/json']): string => answer.job_id;`;
  expect(await errorsOf(program)).toBe('');
});

it('C28.2: the results of a job and of a webhook have the shape of their type', async () => {
  const program = `${imports}
    export function coverOf(job: components['schemas']['Job' | 'WebhookEvent']): string | undefined {
      // @ts-expect-error: only video:full has artifacts
      job.results?.artifacts;
      if (job.type === 'image:thumbnail') return job.results?.outputs[0]?.key;
      if (job.type === 'video:transcode') return job.results?.streaming.master_playlist;
      return job.type === 'video:full' ? job.results?.artifacts.cover?.key : job.results?.key;
    }`;
  expect(await errorsOf(program)).toBe('');
});
