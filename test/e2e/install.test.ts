import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { checkEncryptedStream, checkObjects } from '../../demo/check.ts';
import { putClip, putImage } from './support/clips.ts';
import { helm, kubectlJson } from './support/kubectl.ts';
import { type List, type PodObject } from './support/objects.ts';
import { freePort } from '../../testing/free-port.ts';
import { release } from './support/release.ts';
import {
  cancel,
  completed,
  eventually,
  getJob,
  inRunners,
  newHash,
  openBucket,
  runnerPods,
  signatureOf,
  submit,
} from './support/service.ts';
import { startReceiver } from './support/webhooks.ts';

beforeAll(async () => {
  await putClip();
  await putImage();
});

describe('`helm install` on two nodes', () => {
  test('every deployment is ready, with pods on both nodes and at the Pod Security level `restricted`', async () => {
    const nodes = await kubectlJson<List<{ metadata: { name: string } }>>('get', 'nodes');
    expect(nodes.items.length).toBeGreaterThanOrEqual(2);
    const { items } = await kubectlJson<List<PodObject>>('-n', release.namespace, 'get', 'pods');
    const ready = items.filter(({ status }) =>
      status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
    );
    const components = ready.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/component'] ?? '');
    expect(Object.groupBy(components, (component) => component)).toEqual(
      Object.fromEntries(['api', 'controller', 'delivery'].map((component) => [component, [component, component]])),
    );
    expect(new Set(ready.map(({ spec }) => spec.nodeName)).size).toBeGreaterThanOrEqual(2);
    for (const namespace of [release.namespace, release.runners]) {
      const { metadata } = await kubectlJson<PodObject>('get', 'namespace', namespace);
      expect(metadata.labels?.['pod-security.kubernetes.io/enforce']).toBe('restricted');
    }
  });

  test('`helm test` succeeds on the installed release', async () => {
    const out = await helm('test', release.name, '-n', release.namespace, '--timeout', '120s');
    expect(out).toMatch(/Phase:\s+Succeeded/);
  });

  test('the first `curl` of the notes works when pasted', async () => {
    const notes = await helm('get', 'notes', release.name, '-n', release.namespace);
    const commands = notes.split('\n').filter((line) => line.startsWith('  ') && !line.includes(' -w'));
    // Another process may listen on port 3000 of this machine.
    const script = commands.join('\n').replaceAll(/\b3000\b/g, String(await freePort()));
    const { stdout } = await runShell(`set -e\n${script}\nkill $!`);
    const { job_id, status } = JSON.parse(stdout.slice(stdout.indexOf('{"'))) as { job_id: string; status: string };
    expect(status).toBe('queued');
    expect(await cancel(job_id)).toBe(200);
  });
});

describe('POST /api/jobs on the cluster', () => {
  let receiver: Awaited<ReturnType<typeof startReceiver>>;
  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.close());

  test('an `image:thumbnail` completes in one container and writes every output to the media bucket', async () => {
    const hash = newHash();
    const outputs = [
      { variant: 'thumb', width: 320, format: 'webp' },
      { variant: 'large', width: 900, format: 'jpg' },
    ];
    const id = await submit({ type: 'image:thumbnail', hash, source: 'images/first.jpg', options: { outputs } });
    const { results } = await completed<'image:thumbnail'>(id);
    expect(results.outputs.map(({ width, height }) => [width, height])).toEqual([
      [320, 213],
      [900, 600],
    ]);
    expect(await objectsOf(hash, results)).toBe(2);
    const [pod] = await runnerPods(id);
    expect(pod?.spec.initContainers ?? []).toEqual([]);
    expect(pod?.spec.containers.map(({ name }) => name)).toEqual(['all']);
  });

  test('an encrypted `video:full` completes in a pod of three steps, plays, and sends one webhook with both signatures', async () => {
    const hash = newHash();
    const id = await submit({
      type: 'video:full',
      hash,
      source: 'clips/first.mp4',
      options: { transcode: { encrypt: true } },
      callback_url: receiver.url,
    });
    const columns = await eventually(
      () => inRunners('get', 'mj', `mj-${id}`).catch(() => ''),
      // A short job may complete between two writes of its status.
      (text) => /encoding|packaging|completed/.test(text),
    );
    expect(columns.split('\n')[0]).toMatch(/^NAME\s+TYPE\s+PHASE\s+PROGRESS\s+CHUNKS\s+REASON\s+POOL\s+AGE$/);
    expect(columns.split('\n')[1]).toMatch(
      new RegExp(`^mj-${id}\\s+video:full\\s+\\w+\\s+\\d+\\s+(\\w+\\s+)?default\\s+\\d+s$`),
    );

    const waited = await inRunners('wait', '--for=condition=Complete', '--timeout=150s', `mj/mj-${id}`);
    expect(waited).toContain('condition met');

    const job = await completed<'video:full'>(id, 5_000);
    expect(job.attempt).toBe(1);
    const [pod] = await runnerPods(id);
    expect(pod?.spec.initContainers?.map(({ name }) => name)).toEqual(['fetch', 'process']);
    expect(pod?.spec.containers.map(({ name }) => name)).toEqual(['publish']);
    expect(pod?.spec.automountServiceAccountToken).toBe(false);

    expect(await objectsOf(hash, job.results)).toBeGreaterThan(4);
    expect(await playsAfterDecryption(hash, job.results)).toBeGreaterThanOrEqual(2);

    const [hook] = await eventually(
      () => Promise.resolve(receiver.about(id)),
      (received) => received.length > 0,
      30_000,
    );
    if (hook === undefined) throw new Error('expected a webhook, received none');
    expect(hook.headers['x-signature']).toBe(signatureOf(hook.body));
    const secret = Buffer.from(inject('e2e').secrets.webhook).toString('base64');
    expect(new Webhook(secret).verify(hook.body.toString(), hook.headers as Record<string, string>)).toMatchObject({
      job_id: id,
      type: 'video:full',
      hash,
      status: 'completed',
    });
    await eventually(
      () => getJob(id),
      ({ callback_status }) => callback_status === 'sent',
      10_000,
    );
    expect(receiver.about(id)).toHaveLength(1);
  });
});

function runShell(script: string) {
  return promisify(execFile)('bash', ['-c', script], { timeout: 60_000 });
}

/** Checks that every object named in the results exists and that a stream is served; returns how many there are. */
async function objectsOf(hash: string, results: unknown): Promise<number> {
  const media = openBucket('media');
  try {
    const reach = { baseUrl: inject('e2e').deliveryUrl, hash, signal: AbortSignal.timeout(60_000) };
    return await checkObjects(results, media, reach);
  } finally {
    await media.close();
  }
}

/** Decrypts every rendition with the key from the key endpoint and decodes it; returns how many there are. */
async function playsAfterDecryption(hash: string, results: JobResults<'video:full'>): Promise<number> {
  const { deliveryUrl: baseUrl, secrets } = inject('e2e');
  const workDir = await mkdtemp(join(tmpdir(), 'reelwright-e2e-'));
  onTestFinished(() => rm(workDir, { recursive: true }));
  const { encryption, video_tracks, audio_tracks, source } = results;
  if (!encryption || !video_tracks || !audio_tracks || !source)
    throw new Error('expected results with an encrypted stream');
  const checked = await checkEncryptedStream({
    baseUrl,
    hash,
    token: signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + 600 }, secrets.keyToken),
    results: { encryption, video_tracks, audio_tracks, source },
    tools: { ffmpeg: findProgram('ffmpeg', process.env), packager: findProgram('packager', process.env) },
    workDir,
    signal: AbortSignal.timeout(90_000),
  });
  return checked.length;
}
