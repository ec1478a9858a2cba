import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Reelwright, ReelwrightError } from '../../clients/typescript/src/index.ts';
import * as server from '../../clients/typescript/src/server.ts';
import { expect } from 'vitest';
import { checkout } from '../../testing/checkout.ts';
import { readSources } from '../../testing/imports.ts';
import { secrets } from '../../testing/programs.ts';
import type { StageService } from '../../testing/stage/service.ts';
import type { ReceivedWebhook } from '../../testing/webhook-receiver.ts';

// Runs clients/scenario.json with the TypeScript client; clients/python/tests/scenario.py does with the Python client.

export const scenarioFile = join(checkout, 'clients/scenario.json');

interface Step {
  readonly step: string;
  readonly call?: string;
  readonly with?: readonly unknown[];
  readonly options?: object;
  readonly http?: string;
  readonly path?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly receive?: string;
  readonly webhook?: ReceivedWebhook;
  readonly suffix?: string;
  readonly as?: string;
  readonly expect?: unknown;
  readonly throws?: object;
  readonly until?: object;
}

/** The values that the steps begin with. */
export interface Variables {
  readonly run: string;
  readonly api: string;
  readonly apiKey: string;
  readonly keyTokenSecret: string;
  readonly streamSecret: string;
  readonly webhookSecret: string;
  /** `testing/webhook-receiver.ts`. */
  readonly hook: string;
  /** The host of imports. */
  readonly files: string;
  /** A path. */
  readonly clip: string;
}

export const variablesFor = (run: string, { url, source, files }: StageService, hook: string): Variables => ({
  run,
  hook,
  files,
  api: url,
  apiKey: secrets.API_KEY,
  keyTokenSecret: secrets.KEY_TOKEN_SECRET,
  streamSecret: secrets.STREAM_SECRET,
  webhookSecret: secrets.WEBHOOK_SECRET,
  clip: join(source, 'clip.mp4'),
});

/** The routes that the TypeScript client has a method for: those that it names. */
const methodsOfClient = new Set(
  readSources(join(checkout, 'clients/typescript/src')).flatMap(({ text }) =>
    [...text.matchAll(/\.(GET|POST|PUT|PATCH|DELETE)\('([^']+)'/g)].map(([, method, path]) => `${method} ${path}`),
  ),
);

/** The routes of the service's own document that none of the requests (`GET /path`) is of, and a method is. */
export async function routesNotIn({ url }: StageService, requests: readonly string[]): Promise<string[]> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, object> };
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
  const called = requests.map((sent) => patterns.find(({ pattern }) => pattern.test(sent))?.route);
  return routes.filter((route) => methodsOfClient.has(route) && !called.includes(route));
}

type Method = (...given: unknown[]) => unknown;

/** The requests that the client made, as `GET /path`. @throws where a step does not come to what it says */
export async function runScenario(given: Variables): Promise<string[]> {
  const requests: string[] = [];
  const variables: Record<string, unknown> = { ...given, clip: await openAsBlob(given.clip) };
  const fetch = (sent: Request) => {
    requests.push(`${sent.method} ${new URL(sent.url).pathname}`);
    return globalThis.fetch(sent);
  };
  const client = new Reelwright({ baseUrl: given.api, apiKey: given.apiKey, fetch });
  const { steps } = JSON.parse(await readFile(scenarioFile, 'utf8')) as { steps: Step[] };
  for (const step of steps) {
    const run = () => runStep(client, filled(step, variables) as Step, given);
    const result = await run().catch((cause: unknown) => {
      throw new Error(`${step.step}: ${String(cause)}`, { cause });
    });
    if (step.as !== undefined) variables[step.as] = result;
  }
  return requests;
}

async function runStep(client: Reelwright, step: Step, given: Variables): Promise<unknown> {
  const untilMs = Date.now() + 30_000;
  for (;;) {
    const result = await resultOf(client, step, given).catch((error: unknown) => {
      if (!(error instanceof ReelwrightError) || step.throws === undefined) throw error;
      return error;
    });
    const isError = result instanceof ReelwrightError;
    if (isError !== (step.throws !== undefined)) throw new Error(`no error, but ${JSON.stringify(result)}`);
    const wanted = step.throws ?? step.until ?? step.expect ?? {};
    if (step.expect === undefined && step.until === undefined && !isError) return result;
    if (matches(result, wanted)) return result;
    if (step.until === undefined || Date.now() > untilMs)
      throw new Error(`expected ${JSON.stringify(wanted)}, found ${JSON.stringify(result)}`);
    await pause(200);
  }
}

async function resultOf(client: Reelwright, step: Step, given: Variables): Promise<unknown> {
  if (step.receive !== undefined) return await received(given.hook, step.receive);
  if (step.http !== undefined) return await request(client, step);
  const { call = '', webhook, suffix = '' } = step;
  if (webhook !== undefined) {
    const { headers, body } = webhook;
    return await server.verifyWebhook({ headers, body: body + suffix, secret: given.webhookSecret });
  }
  const methods = { ...server } as Record<string, unknown>;
  const method = (client[call as keyof Reelwright] ?? methods[call]) as Method;
  const options = step.options === undefined ? [] : [step.options];
  const result: unknown = await method.apply(client, [...(step.with ?? []), ...options]);
  const isList = typeof result === 'object' && result !== null && Symbol.asyncIterator in result;
  return isList ? await Array.fromAsync(result as AsyncIterable<unknown>) : result;
}

async function request(client: Reelwright, step: Step): Promise<unknown> {
  const [method = '', path = ''] = (step.http ?? '').split(' ');
  const send = (client.http as unknown as Record<string, Method>)[method] as Method;
  const { headers, body } = step;
  const options = { params: { path: step.path ?? {} }, headers, body, parseAs: 'text' };
  const { error, response } = (await send(path, options)) as { error?: string; response: Response };
  if (response.ok) return { status: response.status };
  const { code, detail } = error as unknown as { code: string; detail: string };
  throw new ReelwrightError({ code, detail, status: response.status });
}

/** The first webhook of a job, from the server of the test. */
async function received(hook: string, jobId: string): Promise<ReceivedWebhook> {
  for (let attempt = 0; attempt < 300; attempt += 1) {
    const webhooks = (await (await fetch(`${hook}received`)).json()) as ReceivedWebhook[];
    const found = webhooks.find(({ body }) => (JSON.parse(body) as { job_id: string }).job_id === jobId);
    if (found !== undefined) return found;
    await pause(100);
  }
  throw new Error(`no webhook of ${jobId}`);
}

/** A value of the file with the variables in their places. */
function filled(value: unknown, variables: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((each) => filled(each, variables));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, variables)]));
  if (typeof value !== 'string') return value;
  const whole = /^\$\{([\w.]+)\}$/.exec(value)?.[1];
  if (whole !== undefined) return field(variables, whole);
  return value.replaceAll(/\$\{([\w.]+)\}/g, (_, path: string) => String(field(variables, path)));
}

function field(variables: unknown, path: string): unknown {
  return path.split('.').reduce((of, name) => (of as Record<string, unknown>)[name], variables);
}

/** Whether a part is there: objects may have more fields, and lists more items. */
function matches(found: unknown, part: unknown): boolean {
  if (Array.isArray(part))
    return Array.isArray(found) && found.length >= part.length && part.every((each, at) => matches(found[at], each));
  if (typeof part === 'object' && part !== null) {
    if (typeof found !== 'object' || found === null) return false;
    return Object.entries(part).every(([name, each]) => matches((found as Record<string, unknown>)[name], each));
  }
  return found === part;
}
