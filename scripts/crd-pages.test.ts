import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { mediaJobConditionTypes, mediaJobPhases } from '#domain/kubernetes/media-job.ts';

interface Schema {
  properties?: Record<string, Schema>;
  items?: Schema;
}

const read = (path: string) => readFile(new URL(`../${path}`, import.meta.url), 'utf8');

async function schemaOf(plural: string): Promise<Schema> {
  const definition = parse(await read(`crds/${plural}.yaml`)) as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  return definition.spec.versions[0]?.schema.openAPIV3Schema ?? {};
}

function fieldNames(schema: Schema | undefined): string[] {
  const own = Object.entries(schema?.properties ?? {}).flatMap(([name, inner]) => [name, ...fieldNames(inner)]);
  return schema?.items ? [...own, ...fieldNames(schema.items)] : own;
}

// Conditions are documented by type; their fields are the same for every condition in Kubernetes.
const ofEveryCondition = new Set(['type', 'status', 'reason', 'message', 'lastTransitionTime', 'observedGeneration']);

test.each([
  { page: 'mediajob.md', plural: 'mediajobs' },
  { page: 'mediaprofile.md', plural: 'mediaprofiles' },
  { page: 'mediarollout.md', plural: 'mediarollouts' },
  { page: 'runnerpool.md', plural: 'runnerpools' },
])('docs/reference/crds/$page names every field of spec and status', async ({ page, plural }) => {
  const text = await read(`docs/reference/crds/${page}`);
  const { spec, status } = (await schemaOf(plural)).properties ?? {};
  const names = [...fieldNames(spec), ...fieldNames(status).filter((name) => !ofEveryCondition.has(name))];
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !new RegExp(`\`([a-z]+(\\[\\])?\\.)?${name}\``).test(text))).toEqual([]);
});

test('docs/reference/crds/mediajob.md names every phase and condition', async () => {
  const text = await read('docs/reference/crds/mediajob.md');
  const names = [...mediaJobPhases, ...mediaJobConditionTypes];
  expect(names.filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});
