import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { MediaJobSpec } from '#domain/kubernetes/media-job.ts';
import { parseSubmission } from '#domain/jobs/submission.ts';
import { KubeError } from '#platform/kubernetes/errors.ts';
import { mediaJobs } from '#platform/kubernetes/objects.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { clientFor, newNamespace, server } from '../../testing/k8s/cluster.ts';

const thumbnail: MediaJobSpec = { type: 'image:thumbnail', hash: 'h1', source: 'in/a.jpg' };

async function place() {
  const client = clientFor();
  return { client, namespace: await newNamespace(client) };
}

/** The fields that the API server names when it refuses a spec, or none when it takes it. */
async function refusedFields(spec: object): Promise<string[]> {
  const { client, namespace } = await place();
  try {
    await client.create(mediaJobs, { metadata: { name: 'x', namespace }, spec: spec as MediaJobSpec });
    return [];
  } catch (error) {
    if (!(error instanceof KubeError) || error.reason !== 'Invalid') throw error;
    return error.causes.map(({ field }) => field ?? '');
  }
}

const output = (variant: string, more: object = {}) => ({ variant, width: 100, format: 'webp', ...more });
const outputs = (count: number) => Array.from({ length: count }, (_, i) => output(`v${i}`));

const good: { what: string; spec: object }[] = [
  { what: 'a thumbnail without options', spec: thumbnail },
  { what: 'a thumbnail with twenty outputs', spec: { ...thumbnail, options: { outputs: outputs(20) } } },
  {
    what: 'a cover at a fraction of a second',
    spec: { type: 'video:cover', hash: 'h', source: 's', options: { timestamp_sec: 1.5 } },
  },
  {
    what: 'a preview with every option',
    spec: {
      type: 'video:preview',
      hash: 'h',
      source: 's',
      options: { start_sec: 1, duration: 10, width: 640, fps: 30, format: 'gif' },
    },
  },
  {
    what: 'an encrypted transcode',
    spec: { type: 'video:transcode', hash: 'h', source: 's', options: { encrypt: true } },
  },
  {
    what: 'a full job with nested options',
    spec: {
      type: 'video:full',
      hash: 'h',
      source: 's',
      options: { cover: { timestamp_sec: 3 }, preview: { fps: 5 }, transcode: { encrypt: true } },
    },
  },
  { what: 'dots and dashes in a hash', spec: { ...thumbnail, hash: 'A.b_c~d-e' } },
  { what: 'a source that is not ASCII', spec: { ...thumbnail, source: 'ordner/größe 1 ü..mp4' } },
  { what: 'a source of 1024 bytes', spec: { ...thumbnail, source: 'ü'.repeat(512) } },
  {
    what: 'a callback with a port and a query',
    spec: { ...thumbnail, callbackUrl: 'https://example.com:8443/hook?a=b@c' },
  },
  { what: 'a pool and a priority', spec: { ...thumbnail, pool: 'video-large', priority: -5, suspend: true } },
];

const bad: { what: string; spec: object; field: string }[] = [
  { what: 'no type', spec: { hash: 'h', source: 's' }, field: 'spec.type' },
  { what: 'an unknown type', spec: { ...thumbnail, type: 'video:all' }, field: 'spec.type' },
  { what: 'no hash', spec: { type: 'image:thumbnail', source: 's' }, field: 'spec.hash' },
  { what: 'a hash that begins with a dot', spec: { ...thumbnail, hash: '.a' }, field: 'spec.hash' },
  { what: 'a hash of 129 characters', spec: { ...thumbnail, hash: 'a'.repeat(129) }, field: 'spec.hash' },
  { what: 'a hash that ends in a newline', spec: { ...thumbnail, hash: 'a\n' }, field: 'spec.hash' },
  { what: 'an empty source', spec: { ...thumbnail, source: '' }, field: 'spec.source' },
  { what: 'a source with a leading slash', spec: { ...thumbnail, source: '/etc/passwd' }, field: 'spec.source' },
  { what: 'a source that climbs', spec: { ...thumbnail, source: 'a/../b' }, field: 'spec.source' },
  { what: 'a source with a NUL', spec: { ...thumbnail, source: 'a\u0000b' }, field: 'spec.source' },
  { what: 'a source with a C1 control', spec: { ...thumbnail, source: 'a\u0085b' }, field: 'spec.source' },
  { what: 'a source of 1026 bytes', spec: { ...thumbnail, source: 'ü'.repeat(513) }, field: 'spec.source' },
  {
    what: 'a callback of another scheme',
    spec: { ...thumbnail, callbackUrl: 'ftp://example.com/' },
    field: 'spec.callbackUrl',
  },
  {
    what: 'a callback with credentials',
    spec: { ...thumbnail, callbackUrl: 'https://u:p@example.com/' },
    field: 'spec.callbackUrl',
  },
  {
    what: 'a callback with a space',
    spec: { ...thumbnail, callbackUrl: 'https://example.com/a b' },
    field: 'spec.callbackUrl',
  },
  { what: 'a priority out of bounds', spec: { ...thumbnail, priority: 1001 }, field: 'spec.priority' },
  { what: 'a pool that is no name', spec: { ...thumbnail, pool: 'video:large' }, field: 'spec.pool' },
  { what: 'no outputs', spec: { ...thumbnail, options: { outputs: [] } }, field: 'spec.options.outputs' },
  {
    what: 'too many outputs',
    spec: { ...thumbnail, options: { outputs: outputs(21) } },
    field: 'spec.options.outputs',
  },
  {
    what: 'a variant twice',
    spec: { ...thumbnail, options: { outputs: [output('a'), output('a')] } },
    field: 'spec.options.outputs[1]',
  },
  {
    what: 'an output without a width',
    spec: { ...thumbnail, options: { outputs: [{ variant: 'a', format: 'webp' }] } },
    field: 'spec.options.outputs[0].width',
  },
  {
    what: 'a negative time',
    spec: { type: 'video:cover', hash: 'h', source: 's', options: { timestamp_sec: -1 } },
    field: 'spec.options.timestamp_sec',
  },
  {
    what: 'a preview of too many frames at the default rate and length',
    spec: { type: 'video:full', hash: 'h', source: 's', options: { preview: { duration: 15, fps: 30 } } },
    field: 'spec.options.preview.duration',
  },
  {
    what: 'an option of another type',
    spec: { ...thumbnail, options: { encrypt: true } },
    field: 'spec.options.encrypt',
  },
  {
    what: 'the legacy flat options of a full job',
    spec: { type: 'video:full', hash: 'h', source: 's', options: { timestamp_sec: 3 } },
    field: 'spec.options.timestamp_sec',
  },
  {
    what: 'nested options where they do not belong',
    spec: { type: 'video:cover', hash: 'h', source: 's', options: { cover: {} } },
    field: 'spec.options.cover',
  },
];

/** The same as a body of POST /api/jobs. */
function isSubmission({ type, hash, source, options, callbackUrl: callback_url }: Record<string, unknown>): boolean {
  const body = { type, hash, source, options, callback_url };
  return parseSubmission(JSON.parse(JSON.stringify(body))).submission !== undefined;
}

describe('a MediaJob', () => {
  test.each(good)('a MediaJob with $what is taken, as by POST /api/jobs', async ({ spec }) => {
    expect(await refusedFields(spec)).toEqual([]);
    expect(isSubmission(spec as Record<string, unknown>)).toBe(true);
  });

  test.each(bad)('a MediaJob with $what is refused with $field named', async ({ spec, field }) => {
    expect(await refusedFields(spec)).toContain(field);
    const { priority, pool } = spec as { priority?: number; pool?: string };
    if (priority === undefined && pool === undefined) expect(isSubmission(spec as Record<string, unknown>)).toBe(false);
  });

  test('a MediaJob with an unknown field is refused by kubectl with the field named', async () => {
    const { namespace } = await place();
    const object = {
      apiVersion: 'reelwright.dev/v1alpha1',
      kind: 'MediaJob',
      metadata: { name: 'x' },
      spec: { ...thumbnail, options: { width_px: 3 } },
    };
    await expect(kubectl(server, ['apply', '-n', namespace, '-f', '-'], stringify(object))).rejects.toThrow(
      'unknown field "spec.options.width_px"',
    );
  });

  test('a MediaJob has neither suspend nor priority left open, and no option filled in', async () => {
    const { client, namespace } = await place();
    const made = await client.create(mediaJobs, {
      metadata: { name: 'x', namespace },
      spec: { ...thumbnail, options: {} },
    });
    expect(made.spec).toEqual({ ...thumbnail, options: {}, suspend: false, priority: 0 });
  });

  test.each([
    { field: 'type', change: { type: 'video:cover' } },
    { field: 'hash', change: { hash: 'h2' } },
    { field: 'source', change: { source: 'other' } },
    { field: 'options', change: { options: { outputs: [output('b')] } } },
    { field: 'options', change: { options: null } },
    { field: 'callbackUrl', change: { callbackUrl: 'https://example.com/' } },
    { field: 'pool', change: { pool: 'other' } },
    { field: 'pool', change: { pool: null } },
  ])('a MediaJob cannot have its $field changed to $change', async ({ field, change }) => {
    const { client, namespace } = await place();
    const metadata = { name: 'x', namespace };
    const spec = { ...thumbnail, pool: 'default', options: { outputs: [output('a')] } } as MediaJobSpec;
    await client.create(mediaJobs, { metadata, spec });
    await expect(client.mergePatch(mediaJobs, metadata, { spec: change })).rejects.toMatchObject({
      reason: 'Invalid',
      causes: expect.arrayContaining([expect.objectContaining({ field: `spec.${field}` })]) as unknown,
    });
  });

  test('a MediaJob can be suspended, resumed and given another priority', async () => {
    const { client, namespace } = await place();
    const metadata = { name: 'x', namespace };
    await client.create(mediaJobs, { metadata, spec: thumbnail });
    for (const change of [{ suspend: true }, { suspend: false }, { priority: 7 }]) {
      expect((await client.mergePatch(mediaJobs, metadata, { spec: change })).spec).toMatchObject(change);
    }
  });
});

test.each(['mediajob', 'runnerpool'])('the example at the head of docs/reference/crds/%s.md is taken', async (page) => {
  const { namespace } = await place();
  const text = await readFile(`docs/reference/crds/${page}.md`, 'utf8');
  const example = /```yaml\n([\s\S]*?)```/.exec(text)?.[1] ?? '';
  expect(await kubectl(server, ['apply', '-n', namespace, '-f', '-'], example)).toMatch(/created\n$/);
});
