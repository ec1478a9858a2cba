import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { thumbSecretsOf } from '#domain/playback/thumb.ts';
import { webhookSignatureHeaders } from '#domain/webhooks/signature.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { dataFolderAt, readOrMakeSecrets, type Secrets } from '../../demo/data-folder.ts';
import { makeSample, testBars, videoCommand } from '../../demo/sample.ts';
import { choosePort, type Service, startService } from '../../demo/service.ts';
import { type FileServer, startFileServer } from '../../testing/file-server.ts';

// docs/guides/api.md against a running service: its blocks are pasted into one shell in their order, and the results
// that it shows are compared with the results of the blocks' jobs.

const page = await readFile(join(import.meta.dirname, '../../docs/guides/api.md'), 'utf8');
const blocks = [...page.matchAll(/^```sh(?: ([\d ]+))?\n([\s\S]*?)^```$/gm)].map(([, status, script = ''], index) => ({
  name: `block ${index + 1}: ${script.trim().split('\n').at(-1)?.slice(0, 70)}`,
  index,
  status: status ?? null,
  script,
}));
const run = promisify(execFile);

let folder: string;
let secrets: Secrets;
let service: Service | undefined;
let receiver: Server;
let files: FileServer;
const received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];

async function startReceiver(): Promise<string> {
  receiver = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      received.push({ headers: request.headers, body });
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  return `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks/media`;
}

/** All blocks as one script: each writes its output and the status of each request into files of its own. */
function scriptOf(): string {
  const curl = `curl() { command curl --silent --show-error --write-out '%{stderr}HTTP %{http_code}\\n' "$@"; }`;
  return [curl, ...blocks.map(({ script, index }) => `{\n${script}} >out-${index} 2>err-${index}`)].join('\n');
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-page-'));
  // As root, PostgreSQL runs as another user, which must be able to enter this folder.
  await chmod(folder, 0o755);
  const data = await dataFolderAt(join(folder, 'data'));
  secrets = await readOrMakeSecrets(data);
  const { signal } = new AbortController();
  const size = { width: 640, height: 360, frameRate: 25, durationSec: 6 };
  const command = videoCommand(findProgram('ffmpeg', process.env), size, testBars);
  await makeSample({ file: join(data.source, 'uploads/movie-1.mp4'), command, signal });
  await mkdir(join(data.source, 'uploads'), { recursive: true });
  const create = { width: 1600, height: 1200, channels: 3 as const, background: 'red' };
  await writeFile(join(data.source, 'uploads/photo-1.jpg'), await sharp({ create }).jpeg().toBuffer());
  await copyFile(join(data.source, 'uploads/movie-1.mp4'), join(folder, 'movie-2.mp4'));
  const hook = await startReceiver();
  const movie = await readFile(join(folder, 'movie-2.mp4'));
  files = await startFileServer(() => ({ bytes: movie, etag: '"1"' }));
  service = await startService({
    checkout: resolve(import.meta.dirname, '../..'),
    data,
    secrets,
    port: await choosePort('0'),
    env: { ...process.env, X264_PRESET: 'ultrafast' },
    settings: {
      WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      IMPORT_HOSTS: files.host,
      IMPORT_ALLOWED_CIDRS: '127.0.0.0/8',
      EVENT_RULES: '[{ prefix: uploads/, suffix: .jpg, type: image:thumbnail }]',
    },
    signal,
  });
  const { API_KEY, KEY_TOKEN_SECRET } = secrets.values;
  const [thumbSecret = ''] = thumbSecretsOf([], KEY_TOKEN_SECRET);
  const variables = { API: service.baseUrl, API_KEY, KEY_TOKEN_SECRET, THUMB_SECRET: thumbSecret };
  const env = { PATH: process.env['PATH'] ?? '', ...variables, HOOK: hook, FILES: files.url };
  await run('bash', ['-uc', scriptOf()], { cwd: folder, env });
}, 300_000);
afterAll(async () => {
  await service?.stop();
  await files?.close();
  receiver.closeAllConnections();
  receiver.close();
  await rm(folder, { recursive: true, force: true });
});

const outputOf = (index: number, stream: 'out' | 'err') => readFile(join(folder, `${stream}-${index}`), 'utf8');

it('docs/guides/api.md has more than twenty blocks to run', () => {
  expect(blocks.length).toBeGreaterThan(20);
});

it.each(blocks.filter(({ status }) => status !== null))('docs/guides/api.md, $name answers $status', async (block) => {
  const errors = await outputOf(block.index, 'err');
  const statuses = [...errors.matchAll(/HTTP (\d+)/g)].map(([, code]) => code);
  // One of them: a rollout that finds no media may have ended before it is paused.
  expect(block.status?.split(' '), errors + (await outputOf(block.index, 'out'))).toContain(
    [...new Set(statuses)].join(),
  );
});

/** The fields of a value and the kinds of their values; of a list the kinds of its first entry. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== 'object' || value === null) return value === null ? null : typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shapeOf(inner)]));
}

async function jobs(): Promise<Record<string, unknown>[]> {
  const headers = { 'x-api-key': secrets.values.API_KEY };
  const response = await fetch(`${service?.baseUrl}/api/jobs?limit=100&include=results`, { headers });
  return ((await response.json()) as { jobs: Record<string, unknown>[] }).jobs;
}

describe('the results in docs/guides/api.md', () => {
  it.each(jobTypeNames)('docs/guides/api.md shows the results of a %s as the service answers them', async (type) => {
    const section = page.slice(page.indexOf(`### ${type}\n`));
    const shown = JSON.parse(/```json results\n([\s\S]*?)```/.exec(section)?.[1] ?? 'null') as object;
    const job = (await jobs()).find((one) => one['type'] === type && one['status'] === 'completed');
    expect(jobTypes[type].results.parse(shown)).toEqual(shown);
    expect(shapeOf(shown)).toEqual(shapeOf(job?.['results']));
  });

  it('docs/guides/api.md shows the error of a job without its source', async () => {
    const job = (await jobs()).find((one) => one['status'] === 'failed');
    const shown = JSON.parse(
      /```json\n(\{\n {2}"code": "source_not_found"[\s\S]*?)```/.exec(page)?.[1] ?? '{}',
    ) as object;
    expect(job?.['error']).toMatchObject(shown);
  });

  it('docs/guides/api.md shows the answer to the refused request', async () => {
    const { index } = blocks.find(({ status }) => status === '400') ?? { index: -1 };
    const shown = JSON.parse(
      /```json\n(\{\n {2}"type": "\/docs#problem-[\s\S]*?)```/.exec(page)?.[1] ?? '{}',
    ) as object;
    const answer = JSON.parse(await outputOf(index, 'out')) as object;
    expect({ ...answer, trace_id: '' }).toEqual({ ...shown, trace_id: '' });
  });
});

/**
 * Runs the recipe of docs/guides/api.md over a webhook that came: 'true' or 'false' for it, for a changed one, for
 * none.
 */
async function verdicts(program: string, file: string, source: string, secret: string): Promise<string> {
  await writeFile(join(folder, file), source);
  const { headers: sent, body } = received[0] ?? { headers: {}, body: '' };
  const timestampSec = Math.floor(Date.now() / 1000);
  const isOwn = secret === secrets.values.WEBHOOK_SECRET;
  const headers = isOwn ? sent : webhookSignatureHeaders({ body, eventId: 'an-event', timestampSec }, secret);
  const input = JSON.stringify([
    [headers, body],
    [headers, `${body} `],
    [{}, body],
  ]);
  const env = { PATH: process.env['PATH'] ?? '', SECRET: secret, INPUT: input };
  return (await run(program, [file], { cwd: folder, env })).stdout.trim().toLowerCase();
}

describe('the verification of webhooks in docs/guides/api.md', () => {
  const forms = {
    whsec_: () => secrets.values.WEBHOOK_SECRET,
    'plain text': () => 'a secret in plain text, not of base64',
  };
  it.each(Object.entries(forms))(
    'the Node recipe of docs/guides/api.md accepts a webhook signed by %s, no changed one and none without headers',
    async (_, secret) => {
      const recipe = /```js\n(import \{ createHmac[\s\S]*?)```/.exec(page)?.[1] ?? '';
      const use = `for (const [h, b] of JSON.parse(process.env.INPUT)) console.log(isGenuine(h, b, process.env.SECRET));`;
      expect(await verdicts('node', 'verify.mjs', `${recipe}\n${use}`, secret())).toBe('true\nfalse\nfalse');
    },
  );

  it.each(Object.entries(forms))(
    'the Python recipe of docs/guides/api.md accepts the same by %s',
    async (_, secret) => {
      const recipe = /```python\n(import base64[\s\S]*?)```/.exec(page)?.[1] ?? '';
      const use = `import json, os\nfor h, b in json.loads(os.environ["INPUT"]):\n    print(is_genuine(h, b.encode(), os.environ["SECRET"]))`;
      expect(await verdicts('python3', 'verify.py', `${recipe}\n${use}`, secret())).toBe('true\nfalse\nfalse');
    },
  );
});
