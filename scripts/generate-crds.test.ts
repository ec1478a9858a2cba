import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { remedyFor } from '../testing/declared-fields.ts';
import { crdFiles, crdFolders } from './generate-crds.ts';

test.each(crdFolders.map((folder) => [folder.pathname.split('/').slice(-3, -1).join('/'), folder] as const))(
  'the custom resource definitions in %s equal what scripts/generate-crds.ts generates (else: make generate)',
  async (_, folder) => {
    const files = (await readdir(folder)).map(
      async (name) => [name, await readFile(new URL(name, folder), 'utf8')] as const,
    );
    expect(Object.fromEntries(await Promise.all(files))).toEqual(Object.fromEntries(await crdFiles()));
  },
);

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
}

/** The paths of the fields that `kubectl explain` has nothing to say about. */
function undescribed({ properties = {}, items, additionalProperties }: Schema, path: string): string[] {
  const ofFields = Object.entries(properties).flatMap(([name, field]) => [
    ...(field.description === undefined ? [`${path}.${name}: ${remedyFor(name)}`] : []),
    ...undescribed(field, `${path}.${name}`),
  ]);
  const inner = [items, additionalProperties].filter((schema) => typeof schema === 'object');
  return [...ofFields, ...inner.flatMap((schema) => undescribed(schema, `${path}[]`))];
}

test('kubectl explain describes every field of every kind', async () => {
  for (const [name, text] of await crdFiles()) {
    const { spec } = parse(text) as { spec: { versions: { schema: { openAPIV3Schema: Schema } }[] } };
    const { properties = {} } = spec.versions[0]?.schema.openAPIV3Schema ?? {};
    const { spec: ownSpec = {}, status = {} } = properties;
    expect(Object.keys(ownSpec.properties ?? {}), name).not.toEqual([]);
    expect(undescribed({ properties: { spec: ownSpec, status } }, name), name).toEqual([]);
  }
});
