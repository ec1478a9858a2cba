import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
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
}

/** The schema of `spec`. */
async function specOf(plural: string): Promise<Schema> {
  const { spec } = parse((await crdFiles()).get(`${plural}.yaml`) ?? '') as {
    spec: { versions: { schema: { openAPIV3Schema: Schema } }[] };
  };
  return spec.versions[0]?.schema.openAPIV3Schema.properties?.['spec'] ?? {};
}

/** The paths of the fields that `kubectl explain` has nothing to say about. */
function undescribed(schema: Schema, path: string): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    ...(field.description === undefined ? [`${path}.${name}`] : []),
    ...undescribed(field, `${path}.${name}`),
  ]);
}

test('kubectl explain describes spec of a RunnerPool and every option of a MediaJob', async () => {
  const options = (await specOf('mediajobs')).properties?.['options'] ?? {};
  expect(Object.keys(options.properties ?? {})).toContain('timestamp_sec');
  expect(undescribed(options, 'options')).toEqual([]);
  expect((await specOf('runnerpools')).description).toMatch(/pods/);
});
