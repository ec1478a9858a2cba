import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { openApiText } from '../../scripts/generate-clients.ts';
import { pythonModels } from '../../scripts/python-client.ts';
import { checkout } from '../../testing/checkout.ts';
import { secrets } from '../../testing/programs.ts';
import type { StageService } from '../../testing/stage/service.ts';
import { onStage } from '../../testing/stage/stage.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../testing/webhook-receiver.ts';
import { routesNotIn, scenarioFile, variablesFor } from './client-scenario.ts';
import { missingForPython, runPython } from './python-client.ts';

// The Python client against the program of the stage: clients/scenario.json. The TypeScript
// client runs it in test/contract/sdk.test.ts.

let service: StageService;
let receiver: WebhookReceiver;

beforeAll(async () => {
  if (!inject('postgres')) return;
  receiver = await startWebhookReceiver();
  service = await onStage('service');
});
afterAll(() => receiver?.close());

describe.skipIf(!inject('postgres'))('the Python client', () => {
  it.each(['sync', 'async'])(
    'the %s Python client runs the scenario, and calls every route that has a method',
    async (kind) => {
      expect(await missingForPython()).toBe('');
      const script = join(checkout, 'clients/python/tests/scenario.py');
      const output = await runPython([script, kind, scenarioFile], {
        input: JSON.stringify(variablesFor(`py-${kind}`, service, receiver.url)),
      });
      expect(await routesNotIn(service, JSON.parse(output) as string[])).toEqual([]);
    },
  );

  it('the program in README.md, at most 12 lines of Python, uploads a video, plays it and verifies its webhook', async () => {
    const page = await readFile(join(checkout, 'README.md'), 'utf8');
    const code = /^```py sdk\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? '';
    expect(code.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(12);
    const folder = await mkdtemp(join(tmpdir(), 'reelwright-readme-'));
    try {
      await copyFile(join(service.source, 'clip.mp4'), join(folder, 'movie.mp4'));
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
      const env = { API: service.url, API_KEY, KEY_TOKEN_SECRET, WEBHOOK_SECRET, HOOK: receiver.url };
      const output = await runPython(['readme.py'], { cwd: folder, env });
      expect(output).toMatch(/^\d+ %$/m);
      expect(output).toMatch(/^completed$/m);
      const [, hash, token] = /\/player\/#hash=(\S+)&token=(\S+)$/m.exec(output) ?? [];
      const key = await fetch(`${service.url}/api/key/${hash}`, { headers: { authorization: `Bearer ${token}` } });
      expect([hash, (await key.arrayBuffer()).byteLength]).toEqual(['movie-1', 16]);
      await writeFile(join(folder, 'readme.py'), code);
      expect(await runMypy(['readme.py'], folder)).toContain('Success');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});

const python = join(checkout, 'clients/python');

it('the Python client is typed strictly, and the results of every type of job have its fields alone', async () => {
  const types = await readFile(join(python, 'tests/result_types.py'), 'utf8');
  expect(jobTypeNames.filter((type) => !types.includes(`{"type": "${type}", "hash"`))).toEqual([]);
  expect(await runMypy(['src', 'tests'], python)).toContain('Success');
});

it('the models of the Python client are what the generator makes of the routes: make generate', async () => {
  const models = await readFile(join(python, 'src/reelwright/models.py'), 'utf8');
  expect(models).toBe(await pythonModels(await openApiText()));
});

async function runMypy(args: readonly string[], cwd: string): Promise<string> {
  const cache = await mkdtemp(join(tmpdir(), 'reelwright-mypy-'));
  try {
    const env = { MYPYPATH: join(python, 'src') };
    return await runPython(['-m', 'mypy', '--strict', '--cache-dir', cache, ...args], { cwd, env });
  } finally {
    await rm(cache, { recursive: true, force: true });
  }
}
