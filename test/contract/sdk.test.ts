import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Job, JobEndedError, Reelwright } from '../../clients/typescript/src/index.ts';
import { playbackToken, thumbUrl, verifyWebhook } from '../../clients/typescript/src/server.ts';
import { checkout } from '../../testing/checkout.ts';
import { until } from '../../testing/controller-rig.ts';
import { endPrograms, type Program, secrets, startProgram } from '../../testing/programs.ts';
import { prepareService, type ServiceUnderTest } from './service-under-test.ts';

// The TypeScript client against the program: every method that has a route, in one process with the test, and as the
// package that npm would have.

const run = promisify(execFile);

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let service: ServiceUnderTest;
let program: Program;
let client: Reelwright;
let receiver: Server;
const received: Received[] = [];
let hook = '';

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  service = await prepareService();
  if (!inject('postgres')) return;
  const uploads = { UPLOAD_BUCKET: `file:${service.folder('source')}` };
  program = await startProgram({ env: { ...service.env, ...uploads, WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
  client = new Reelwright({ baseUrl: program.url, apiKey: secrets.API_KEY });
});
afterAll(async () => {
  await endPrograms();
  receiver.closeAllConnections();
  receiver.close();
  await service.close();
});

describe.skipIf(!inject('postgres'))('the TypeScript client', () => {
  it('C28.2: an image is submitted, waited for, found again, shown and reported by a genuine webhook', async () => {
    const outputs = [{ variant: 'small', width: 32, format: 'webp' as const }];
    const submission = { type: 'image:thumbnail', hash: 'sdk-image', source: 'red.png', options: { outputs } } as const;
    const submitted = await client.submit({ ...submission, callback_url: hook });
    expect(submitted).toMatchObject({ type: 'image:thumbnail', hash: 'sdk-image', is_new: true, results: null });
    const job = await client.waitFor(submitted);
    expect(job.results.outputs[0]?.width).toBe(32);
    const again = await client.submit(submission);
    expect([again.is_new, again.results?.key]).toEqual([false, job.results.key]);
    expect((await client.job(submitted)).results?.key).toBe(job.results.key);

    const secret = { keyTokenSecret: secrets.KEY_TOKEN_SECRET };
    const image = await fetch(
      await thumbUrl(job.results.key, { w: 16, f: 'png' }, { ...secret, baseUrl: program.url }),
    );
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);

    await until(
      async () => received.length,
      (count) => count > 0,
      20_000,
    );
    const [webhook = { headers: {}, body: '' }] = received;
    const event = await verifyWebhook({ ...webhook, secret: secrets.WEBHOOK_SECRET });
    expect(event).toMatchObject({ job_id: submitted.job_id, type: 'image:thumbnail', status: 'completed' });
    const forged = verifyWebhook({ ...webhook, body: `${webhook.body} `, secret: secrets.WEBHOOK_SECRET });
    await expect(forged).rejects.toMatchObject({ code: 'invalid_signature' });
    const callbacks = await until(
      () => client.callbacks(submitted),
      ({ callback_status: status }) => status === 'sent',
      20_000,
    );
    expect(callbacks.attempts).toHaveLength(1);
    expect((await client.redeliver(submitted)).callback_status).toBe('pending');
  });

  it('C28.2: a video is followed to its end, and its key is given for a token', async () => {
    const shown: Job[] = [];
    const options = { encrypt: true };
    const submission = { type: 'video:transcode', hash: 'sdk-video', source: 'clip.mp4', options } as const;
    const submitted = await client.submit(submission);
    const job = await client.waitFor(submitted, { onProgress: (each) => shown.push(each) });
    expect(job.results.streaming.encrypted).toBe(true);
    expect(shown.at(-1)?.status).toBe('completed');
    expect(shown.length).toBeGreaterThan(1);
    const token = await playbackToken('sdk-video', secrets.KEY_TOKEN_SECRET, { expiresInSec: 60 });
    const headers = { authorization: `Bearer ${token}` };
    const key = await fetch(`${program.url}/api/key/sdk-video`, { headers });
    expect((await key.arrayBuffer()).byteLength).toBe(16);
    const playlist = await client.http.GET('/stream/{hash}/{path}', {
      params: { path: { hash: 'sdk-video', path: 'master.m3u8' } },
      parseAs: 'text',
    });
    expect(playlist.data).toContain('#EXTM3U');
  }, 90_000);

  it('C28.2: a failed job throws its error, and is retried once its source is there', async () => {
    const submitted = await client.submit({ type: 'image:thumbnail', hash: 'sdk-late', source: 'late.png' });
    const error: unknown = await client.waitFor(submitted).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(JobEndedError);
    expect(error).toMatchObject({ code: 'source_not_found', advice: expect.stringContaining('Upload') as string });
    await copyFile(service.folder('source/red.png'), service.folder('source/late.png'));
    const { jobs } = await client.retry(submitted);
    expect((await client.waitFor(jobs[0]?.job_id ?? '')).status).toBe('completed');
  });

  it('C28.2: a job is cancelled, and lists have it page by page', async () => {
    const submitted = await client.submit({ type: 'video:preview', hash: 'sdk-video', source: 'clip.mp4' });
    expect((await client.cancel(submitted)).status).toBe('cancelled');
    await expect(client.waitFor(submitted)).rejects.toMatchObject({ code: 'cancelled' });
    const listed = await Array.fromAsync(client.jobs({ hash: 'sdk-video', limit: 1 }));
    expect(listed.map(({ type }) => type)).toEqual(['video:preview', 'video:transcode']);
  });

  it('C28.2: a media is shown, listed and deleted with a receipt, and its image is refused then', async () => {
    const submitted = await client.submit({ type: 'image:thumbnail', hash: 'sdk-deleted', source: 'red.png' });
    const { results } = await client.waitFor(submitted);
    expect(await client.media('sdk-deleted')).toMatchObject({ status: 'live', images: [{ job_id: submitted.job_id }] });
    const listed = await Array.fromAsync(client.mediaList({ prefix: 'sdk-', limit: 1 }));
    expect(listed.map(({ hash }) => hash)).toContain('sdk-deleted');
    expect((await client.deleteMedia('sdk-deleted')).hash).toBe('sdk-deleted');
    const deletion = await until(
      () => client.deletion('sdk-deleted'),
      ({ status }) => status === 'deleted',
      30_000,
    );
    expect(deletion.receipt).not.toBeNull();
    const address = await thumbUrl(results.key, {}, { keyTokenSecret: secrets.KEY_TOKEN_SECRET, baseUrl: program.url });
    expect((await fetch(address)).ok).toBe(false);
    await expect(client.media('sdk-unknown')).rejects.toMatchObject({ code: 'not_found', status: 404 });
  });

  it('C28.2: a refusal has the code, every fault with its field, the trace and what to do', async () => {
    const submission = { type: 'video:cover', hash: 'a..b', source: '/a.mp4' } as const;
    const error: unknown = await client.submit(submission).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ status: 400, code: 'invalid_request' });
    expect((error as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer)).toEqual([
      '/hash',
      '/source',
    ]);
    expect((error as { traceId: string }).traceId).toMatch(/^[0-9a-f]{32}$/);
    const other = new Reelwright({ baseUrl: program.url, apiKey: 'another key' });
    await expect(other.job(crypto.randomUUID())).rejects.toMatchObject({ status: 401, code: 'unauthorized' });
  });

  it('the package as npm would publish it runs in a program of its own, with the types of each job', async () => {
    const flow = `
      import { Reelwright } from '@reelwright/client';
      import { playbackToken } from '@reelwright/client/server';
      const client = new Reelwright({ baseUrl: process.env['API'] ?? '', apiKey: process.env['API_KEY'] ?? '' });
      const image = await client.waitFor(await client.submit({ type: 'image:thumbnail', hash: 'p', source: 'red.png' }));
      const variant: string | undefined = image.results.outputs[0]?.variant;
      // @ts-expect-error: an image has no playlist
      image.results.streaming;
      const cover = await client.waitFor(await client.submit({ type: 'video:cover', hash: 'p', source: 'clip.mp4' }));
      const time: number = cover.results.timestamp_sec;
      console.log(variant, time >= 0, (await playbackToken('p', 'a secret of sixteen', { expiresInSec: 1 })).length > 9);`;
    expect(await runWithPackage({ 'flow.ts': flow })).toBe('thumb true true\n');
  }, 60_000);

  it('the program in README.md, at most 12 lines, uploads a video, plays it and verifies its webhook', async () => {
    const page = await readFile(join(checkout, 'README.md'), 'utf8');
    const code = /^```ts sdk\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '';
    expect(code.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(12);
    received.length = 0;
    const output = await runWithPackage({ 'readme.ts': code }, async (folder) => {
      await copyFile(service.folder('source/clip.mp4'), join(folder, 'movie.mp4'));
    });
    expect(output).toMatch(/^\d+ %$/m);
    const [, hash, token] = /\/player\/#hash=(\S+)&token=(\S+)$/m.exec(output) ?? [];
    const key = await fetch(`${program.url}/api/key/${hash}`, { headers: { authorization: `Bearer ${token}` } });
    expect([hash, (await key.arrayBuffer()).byteLength]).toEqual(['movie-1', 16]);
    await until(
      async () => received.length,
      (count) => count > 0,
      20_000,
    );
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    const sent = JSON.stringify({ headers, body });
    const check = `
      import { onWebhook } from './readme.ts';
      const { headers, body } = ${sent};
      console.log((await onWebhook(new Request('http://hook', { method: 'POST', headers, body }))).status);`;
    const withoutFlow = code.replaceAll(/^const \{ source \}[\s\S]*?(?=^export)/gm, '');
    expect(await runWithPackage({ 'flow.ts': check, 'readme.ts': withoutFlow })).toBe('completed\n');
  }, 90_000);
});

/** Compiles and runs the first of the files in a folder where npm has installed the client; its output. */
async function runWithPackage(
  files: Readonly<Record<string, string>>,
  prepare: (folder: string) => Promise<void> = async () => undefined,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-package-'));
  const tsc = join(checkout, 'node_modules/typescript/bin/tsc');
  try {
    const installed = join(folder, 'node_modules/@reelwright/client');
    await mkdir(installed, { recursive: true });
    const project = join(checkout, 'clients/typescript');
    await copyFile(join(project, 'package.json'), join(installed, 'package.json'));
    await run(tsc, ['-p', project, '--outDir', join(installed, 'dist')]);
    for (const name of ['openapi-fetch', 'openapi-typescript-helpers', '@types'])
      await symlink(join(checkout, 'node_modules', name), join(folder, 'node_modules', name));
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await prepare(folder);
    const [first = ''] = Object.keys(files);
    const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const compile = run(tsc, [...options, '--allowImportingTsExtensions', first], { cwd: folder });
    expect((await compile.catch((error: { stdout: string }) => error)).stdout).toBe('');
    const { API_KEY, KEY_TOKEN_SECRET, WEBHOOK_SECRET } = secrets;
    const env = { ...process.env, API: program.url, API_KEY, KEY_TOKEN_SECRET, WEBHOOK_SECRET, HOOK: hook };
    return (await run('node', [first], { cwd: folder, env })).stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

it('a secret of Standard Webhooks verifies too, an old webhook does not', async () => {
  const { webhookSignatureHeaders } = await import('#domain/webhooks/signature.ts');
  const body = '{"type":"video:cover"}';
  for (const secret of [`whsec_${btoa('a secret of the tests')}`, 'whsec_ not base64', 'plain']) {
    const sent = { body, eventId: 'e', timestampSec: Math.floor(Date.now() / 1000) };
    const headers = new Headers(webhookSignatureHeaders(sent, secret));
    expect(await verifyWebhook({ headers, body, secret })).toEqual({ type: 'video:cover' });
    const old = webhookSignatureHeaders({ ...sent, timestampSec: 1 }, secret);
    await expect(verifyWebhook({ headers: old, body, secret })).rejects.toThrow('clock');
  }
});
