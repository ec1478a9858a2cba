import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { openApiText } from '../../scripts/generate-clients.ts';
import { pythonModels } from '../../scripts/python-client.ts';
import { checkout } from '../../testing/checkout.ts';
import { endPrograms, type Program, secrets, startProgram } from '../../testing/programs.ts';
import { runScenario, scenarioFile, type Variables, type Webhook } from './client-scenario.ts';
import { missingForPython, runPython } from './python-client.ts';
import { prepareService, type ServiceUnderTest } from './service-under-test.ts';

// Both clients against one live service: clients/scenario.json, which calls every route.

let service: ServiceUnderTest;
let program: Program;
let receiver: Server;
const received: Webhook[] = [];
let hook = '';

beforeAll(async () => {
  receiver = createServer((request, response) => {
    if (request.url === '/red.png') {
      createReadStream(service.folder('source/red.png')).pipe(response);
      return;
    }
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      if (request.method === 'POST') received.push({ headers: request.headers as Record<string, string>, body });
      response.end(request.method === 'GET' ? JSON.stringify(received) : '');
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  hook = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  service = await prepareService();
  if (!inject('postgres')) return;
  const uploads = {
    UPLOAD_BUCKET: `file:${service.folder('source')}`,
    IMPORT_HOSTS: new URL(hook).host,
    IMPORT_ALLOWED_CIDRS: '127.0.0.0/8',
  };
  program = await startProgram({ env: { ...service.env, ...uploads, WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
});
afterAll(async () => {
  await endPrograms();
  receiver.closeAllConnections();
  receiver.close();
  await service.close();
});

const variables = (run: string): Variables => ({
  run,
  hook,
  api: program.url,
  apiKey: secrets.API_KEY,
  keyTokenSecret: secrets.KEY_TOKEN_SECRET,
  webhookSecret: secrets.WEBHOOK_SECRET,
  clip: service.folder('source/clip.mp4'),
});

/** The routes of the service's own document that none of the requests (`GET /path`) is of. */
async function routesNotIn(requests: readonly string[]): Promise<string[]> {
  const document = (await (await fetch(`${program.url}/openapi.json`)).json()) as { paths: Record<string, object> };
  const routes = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.length).toBeGreaterThan(30);
  // Those without parameters first, since `/api/jobs/batch` looks like `/api/jobs/{id}`.
  const patterns = routes
    .toSorted((a, b) => a.split('{').length - b.split('{').length)
    .map((route) => ({
      route,
      pattern: new RegExp(`^${route.replaceAll(/\{path\}/g, '.+').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    }));
  const called = requests.map((request) => patterns.find(({ pattern }) => pattern.test(request))?.route);
  return routes.filter((route) => !called.includes(route));
}

describe.skipIf(!inject('postgres'))('both clients', () => {
  it('the TypeScript client runs the scenario, which calls every route: a new one needs a step there', async () => {
    expect(await routesNotIn(await runScenario(variables('ts')))).toEqual([]);
  }, 120_000);

  it.each(['sync', 'async'])(
    'the %s Python client runs the scenario, and calls every route',
    async (kind) => {
      expect(await missingForPython()).toBe('');
      const script = join(checkout, 'clients/python/tests/scenario.py');
      const output = await runPython([script, kind, scenarioFile], { input: JSON.stringify(variables(`py-${kind}`)) });
      expect(await routesNotIn(JSON.parse(output) as string[])).toEqual([]);
    },
    120_000,
  );

  it('the program in README.md, at most 12 lines of Python, uploads a video, plays it and verifies its webhook', async () => {
    const page = await readFile(join(checkout, 'README.md'), 'utf8');
    const code = /^```py sdk\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '';
    expect(code.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(12);
    const folder = await mkdtemp(join(tmpdir(), 'reelwright-readme-'));
    try {
      await copyFile(service.folder('source/clip.mp4'), join(folder, 'movie.mp4'));
      const receive = `
import json, time, urllib.request
for _ in range(200):
    webhooks = [each for each in json.load(urllib.request.urlopen(HOOK + "received")) if "movie-1" in each["body"]]
    if webhooks: break
    time.sleep(0.1)
print(on_webhook(webhooks[0]["headers"], webhooks[0]["body"]))
`;
      await writeFile(join(folder, 'readme.py'), `${code}${receive}`);
      const { API_KEY, KEY_TOKEN_SECRET, WEBHOOK_SECRET } = secrets;
      const env = { API: program.url, API_KEY, KEY_TOKEN_SECRET, WEBHOOK_SECRET, HOOK: hook };
      const output = await runPython(['readme.py'], { cwd: folder, env });
      expect(output).toMatch(/^\d+ %$/m);
      expect(output).toMatch(/^completed$/m);
      const [, hash, token] = /\/player\/#hash=(\S+)&token=(\S+)$/m.exec(output) ?? [];
      const key = await fetch(`${program.url}/api/key/${hash}`, { headers: { authorization: `Bearer ${token}` } });
      expect([hash, (await key.arrayBuffer()).byteLength]).toEqual(['movie-1', 16]);
      await writeFile(join(folder, 'readme.py'), code);
      expect(await runMypy(['readme.py'], folder)).toContain('Success');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }, 120_000);
});

const python = join(checkout, 'clients/python');

it('the Python client outlives what a service would have to fail for', async () => {
  expect(await missingForPython()).toBe('');
  await runPython(['-m', 'unittest', ...['client', 'bounds', 'values'].map((name) => `tests/test_${name}.py`)], {
    cwd: python,
  });
}, 60_000);

it('the Python client is typed strictly, and the results of every type of job have its fields alone', async () => {
  const types = await readFile(join(python, 'tests/result_types.py'), 'utf8');
  expect(jobTypeNames.filter((type) => !types.includes(`{"type": "${type}", "hash"`))).toEqual([]);
  expect(await runMypy(['src', 'tests'], python)).toContain('Success');
}, 120_000);

it('the models of the Python client are what the generator makes of the routes: make generate', async () => {
  const models = await readFile(join(python, 'src/reelwright/models.py'), 'utf8');
  expect(models).toBe(await pythonModels(await openApiText()));
}, 60_000);

async function runMypy(args: readonly string[], cwd: string): Promise<string> {
  const cache = await mkdtemp(join(tmpdir(), 'reelwright-mypy-'));
  try {
    const env = { MYPYPATH: join(python, 'src') };
    return await runPython(['-m', 'mypy', '--strict', '--cache-dir', cache, ...args], { cwd, env });
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
}
