import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dataFolderAt, readOrMakeSecrets } from '../../demo/data-folder.ts';
import { choosePort, type Service, startService } from '../../demo/service.ts';
import { findProgram } from '../../testing/servers.ts';

// Clients that are generated from `GET /openapi.json` of a running service import, compile and take jobs through the
// whole flow: submission, wait, results, the equal submission, retry, cancellation, list, a refusal.

const checkout = resolve(import.meta.dirname, '../..');
const pythonGenerator = findProgram('openapi-python-client');
const run = promisify(execFile);

let folder: string;
let service: Service;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-clients-'));
  // As root, PostgreSQL runs as another user, which must be able to enter this folder.
  await chmod(folder, 0o755);
  const data = await dataFolderAt(join(folder, 'data'));
  const secrets = await readOrMakeSecrets(data);
  const create = { width: 160, height: 120, channels: 3 as const, background: 'red' };
  await writeFile(join(data.source, 'photo.png'), await sharp({ create }).png().toBuffer());
  await writeFile(join(data.source, 'clip.mp4'), 'not a video, but there');
  const { signal } = new AbortController();
  const port = await choosePort('0');
  service = await startService({ checkout, data, secrets, port, env: process.env, signal });
  env = { ...process.env, API: service.baseUrl, API_KEY: secrets.values.API_KEY };
  await writeFile(join(folder, 'openapi.json'), await (await fetch(`${service.baseUrl}/openapi.json`)).text());
}, 120_000);
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Strict TypeScript that uses nothing but generated types and `fetch`. */
const typescriptFlow = `
  import type { components, operations } from './service.ts';
  type Schemas = components['schemas'];
  type Body<Operation extends keyof operations, Status extends keyof operations[Operation]['responses']> =
    operations[Operation]['responses'][Status] extends { content: { 'application/json': infer Answer } }
      ? Answer
      : never;

  const { API = '', API_KEY = '' } = process.env;
  async function call<Answer>(path: string, body?: unknown): Promise<Answer> {
    const headers = { 'X-API-Key': API_KEY, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) };
    const method = body === undefined ? 'GET' : 'POST';
    const sent = body === undefined ? null : JSON.stringify(body);
    const response = await fetch(API + path, { method, headers, body: sent });
    return await response.json() as Answer;
  }
  const submit = (body: Schemas['CreateJobRequest']) => call<Body<'submitJob', 200 | 202>>('/api/jobs', body);
  const thumbnail = (source: string): Schemas['CreateJobRequest'] =>
    ({
      type: 'image:thumbnail',
      hash: 'typescript',
      source,
      options: { outputs: [{ variant: 'small', width: 64, format: 'webp' }] },
    });
  async function wait(id: string): Promise<Body<'getJob', 200>> {
    for (;;) {
      const job = await call<Body<'getJob', 200>>('/api/jobs/' + id);
      if (job.status !== 'queued' && job.status !== 'processing') return job;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  function check(holds: boolean, what: unknown): void {
    if (!holds) throw new Error(JSON.stringify(what));
  }

  const created = await submit(thumbnail('photo.png'));
  const job = await wait(created.job_id);
  if (job.type !== 'image:thumbnail') throw new Error(job.type);
  check(job.results?.outputs[0]?.variant === 'small', job);
  const again = await submit(thumbnail('photo.png')) as Body<'submitJob', 200>;
  check(again.type === 'image:thumbnail' && again.results?.key === job.results?.key, again);

  const failed = await wait((await submit(thumbnail('missing.png'))).job_id);
  check(failed.error?.code === 'source_not_found', failed);
  const retry = await call<Body<'retryJob', 202>>('/api/jobs/' + failed.job_id + '/retry', {});
  check(retry.jobs[0]?.retry_of_job_id === failed.job_id, retry);

  const cover = await submit({ type: 'video:cover', hash: 'typescript', source: 'clip.mp4' });
  const cancelled = await call<Body<'cancelJob', 200>>('/api/jobs/' + cover.job_id + '/cancel', {});
  check(cancelled.status === 'cancelled', cancelled);
  const page = await call<Body<'listJobs', 200>>('/api/jobs?hash=typescript&limit=2');
  check(page.jobs[0]?.type === 'video:cover' && page.next_cursor !== null, page);
  const refused = await call<Schemas['Problem']>('/api/jobs', { ...thumbnail(''), source: '/photo.png' });
  check(refused.errors?.[0]?.pointer === '/source', refused);
  console.log('done');
`;

it('C28.2: types of openapi-typescript compile strictly and lead a program through the whole flow', async () => {
  const program = (name: string) => join(checkout, 'node_modules', name);
  const preload = join(checkout, 'testing/typescript-5.ts');
  const generate = ['--import', preload, program('openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'service.ts'];
  await run('node', generate, { cwd: folder });
  await writeFile(join(folder, 'flow.ts'), typescriptFlow);
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const types = ['--types', 'node', '--typeRoots', program('@types'), '--lib', 'esnext,dom'];
  const options = [
    '--strict',
    '--noEmit',
    '--module',
    'nodenext',
    '--target',
    'esnext',
    '--allowImportingTsExtensions',
  ];
  const compiled = await run(program('typescript/bin/tsc'), [...options, ...types, 'flow.ts'], { cwd: folder }).catch(
    (error: { stdout: string }) => error,
  );
  expect(compiled.stdout).toBe('');
  expect((await run('node', ['flow.ts'], { cwd: folder, env })).stdout).toBe('done\n');
}, 120_000);

it.skipIf(pythonGenerator === null)(
  'C28.2: the client of openapi-python-client is whole, imports, and leads a program through the whole flow',
  async () => {
    const generator = pythonGenerator ?? '';
    const options = ['--path', 'openapi.json', '--output-path', 'service', '--meta', 'none'];
    const { stdout, stderr } = await run(generator, ['generate', ...options], { cwd: folder });
    // Answers of other content types, such as segments, have no model. It also warns that ruff is not on PATH.
    const faults = (stdout + stderr).match(/.*(?:duplicate|unsupported|cannot|error|unable).*/gi) ?? [];
    expect(faults.filter((line) => !line.includes('Unsupported content_type'))).toEqual([]);
    await copyFile(join(checkout, 'test/fixtures/client-flow.py'), join(folder, 'flow.py'));
    // The client's own packages came with the generator.
    const packages = join(dirname(generator), '../openapi-python-client');
    const pythonEnv = { ...env, PYTHONPATH: [packages, env['PYTHONPATH'] ?? ''].filter(Boolean).join(':') };
    const modules =
      'import importlib, pkgutil, service\n' +
      'for m in pkgutil.walk_packages(service.__path__, "service."): importlib.import_module(m.name)';
    await run('python3', ['-c', modules], { cwd: folder, env: pythonEnv });
    expect((await run('python3', ['flow.py'], { cwd: folder, env: pythonEnv })).stdout).toBe('done\n');
  },
  120_000,
);
