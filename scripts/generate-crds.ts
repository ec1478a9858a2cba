import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { stringify } from 'yaml';
import { z } from 'zod';
import { apiGroup, apiVersion, type CustomResource } from '#domain/kubernetes/custom-resource.ts';
import { mediaJobResource } from '#domain/kubernetes/media-job.ts';
import { runnerPoolResource } from '#domain/kubernetes/runner-pool.ts';

// Writes crds/*.yaml from the schemas in domain/kubernetes: `node scripts/generate-crds.ts`. A test holds the files
// equal to what this makes.

type JsonSchema = Record<string, unknown>;

const maxSafe = Number.MAX_SAFE_INTEGER;

/** Where they are for `kubectl apply`, and where the chart, which reads only its own folder, finds them. */
export const crdFolders = ['../crds/', '../charts/reelwright/crd-files/'].map((path) => new URL(path, import.meta.url));

/** The files of `crds/` by name, with their contents. */
export async function crdFiles(): Promise<Map<string, string>> {
  const resources = [mediaJobResource, runnerPoolResource];
  return new Map(await Promise.all(resources.map(async (one) => [`${one.plural}.yaml`, await crdYaml(one)] as const)));
}

async function crdYaml(resource: CustomResource): Promise<string> {
  const head = '# Made by scripts/generate-crds.ts from domain/kubernetes; change it there.\n';
  const text = head + stringify(definitionOf(resource), { lineWidth: 0, aliasDuplicateObjects: false });
  const config = await resolveConfig(fileURLToPath(new URL('../crds/any.yaml', import.meta.url)));
  return format(text, { ...config, parser: 'yaml' });
}

function definitionOf(resource: CustomResource): object {
  const { kind, plural, shortName, category, columns, scale } = resource;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${apiGroup}` },
    spec: {
      group: apiGroup,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        shortNames: [shortName],
        categories: [category],
      },
      scope: 'Namespaced',
      versions: [
        {
          name: apiVersion.split('/')[1],
          served: true,
          storage: true,
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: schemaOf(resource) },
          subresources: { status: {}, ...(scale ? { scale } : {}) },
        },
      ],
    },
  };
}

function schemaOf({ description, spec, status, rules }: CustomResource): JsonSchema {
  return {
    type: 'object',
    description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: structural(spec),
      status: structural(status),
    },
    ...(rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
  };
}

// A zod schema as a structural schema: what OpenAPI v3 and the API server do not know of JSON Schema is left out or
// said otherwise. Unknown fields are refused by the API server's own field validation, not by a schema.
function structural(schema: z.ZodType): JsonSchema {
  const made = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema;
  delete made['$schema'];
  adapt(made);
  return made;
}

function adapt(schema: JsonSchema): void {
  if (schema['additionalProperties'] === false || isEmpty(schema['additionalProperties'])) {
    delete schema['additionalProperties'];
  }
  delete schema['propertyNames'];
  if (schema['minimum'] === -maxSafe) delete schema['minimum'];
  if (schema['maximum'] === maxSafe) delete schema['maximum'];
  if ('const' in schema) {
    schema['enum'] = [schema['const']];
    delete schema['const'];
  }
  // The API server checks the format itself; zod's pattern says it again in 200 characters.
  if (schema['format'] === 'date-time') delete schema['pattern'];
  if (typeof schema['exclusiveMinimum'] === 'number') {
    schema['minimum'] = schema['exclusiveMinimum'];
    schema['exclusiveMinimum'] = true;
  }
  // A value that may be a number or a text has two types, which is said so.
  if (schema['x-kubernetes-int-or-string'] === true) {
    delete schema['type'];
    schema['anyOf'] = [{ type: 'integer' }, { type: 'string' }];
  }
  const { properties, items, additionalProperties } = schema;
  for (const inner of [...Object.values(properties ?? {}), items, additionalProperties]) {
    if (typeof inner === 'object' && inner !== null) adapt(inner as JsonSchema);
  }
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

if (import.meta.main) {
  for (const [name, text] of await crdFiles())
    await Promise.all(crdFolders.map((folder) => writeFile(new URL(name, folder), text)));
}
