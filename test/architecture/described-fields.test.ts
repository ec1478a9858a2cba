import { expect, test } from 'vitest';
import { checkout } from '../../testing/checkout.ts';
import { remedyFor } from '../../testing/declared-fields.ts';
import { readSources } from '../../testing/imports.ts';
import { openApiText } from '../../scripts/generate-clients.ts';

// What the OpenAPI document says of each field; the definitions of Kubernetes have the same test
// (`scripts/generate-crds.test.ts`).

interface Field {
  readonly description?: string;
}
interface Parameter extends Field {
  readonly name: string;
  readonly in: string;
}
interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly parameters: readonly Parameter[] }>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { readonly properties?: Readonly<Record<string, Field>> }>>;
  };
}

const document = JSON.parse(await openApiText()) as OpenApi;

test('every field of the OpenAPI document has a description, which stands at its schema', () => {
  const fields = Object.entries(document.components.schemas).flatMap(([name, { properties = {} }]) =>
    Object.entries(properties).map(([field, { description = '' }]) => ({ name, field, description })),
  );
  expect(fields.length).toBeGreaterThan(900);
  // The default of a field of a request is said by the document itself.
  const missing = fields.filter(({ description }) => description.replace(/^Default: `.*`$/, '') === '');
  expect(missing.map(({ name, field }) => `${name}.${field}: ${remedyFor(field)}`)).toEqual([]);
});

/** Where the route of a path of the document is declared. */
function routesAt(path: string): string[] {
  const url = `'${path.replaceAll(/\{(\w+)\}/g, ':$1')}'`;
  return readSources(checkout).flatMap(({ path: file, text }) => {
    const line = text.split('\n').findIndex((each) => each.includes(url));
    return line < 0 || file.includes('.test.') ? [] : [`${file}:${line + 1}`];
  });
}

test('every parameter of the OpenAPI document has a description, which stands at its schema or its route', () => {
  const parameters = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.values(operations).flatMap((operation) => operation.parameters.map((parameter) => ({ path, ...parameter }))),
  );
  expect(parameters.length).toBeGreaterThan(70);
  const missing = parameters.filter(({ description = '' }) => description === '');
  const remedies = missing.map(({ path, name, in: place }) =>
    place === 'query'
      ? `${path} ${name}: ${remedyFor(name)}`
      : `${path} ${name}: add ${name} to the doc of ${routesAt(path).join(' or ')}`,
  );
  expect(remedies).toEqual([]);
});
