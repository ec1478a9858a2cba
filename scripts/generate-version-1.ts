import { readFile, writeFile } from 'node:fs/promises';
import { openApiText } from './generate-clients.ts';

// Adds the routes and fields that are new to test/contract/version-1.txt, the record of what version 1 of the API has
// had: `node scripts/generate-version-1.ts`. It takes none away and changes none: a test compares the record with the
// document, so that what breaks a client fails.

/** Where the record is. */
export const recordFile = new URL('../test/contract/version-1.txt', import.meta.url);

interface Operation {
  readonly responses: Readonly<Record<string, unknown>>;
}
interface Component {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Component>> };
}

/**
 * The lines that a client can rely upon in a document: each route with its statuses, each field with its type; sorted.
 */
export function promisedBy(text: string): string[] {
  const { paths, components } = JSON.parse(text) as Document;
  const routes = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { responses }]) =>
      Object.entries(responses)
        .filter(([status]) => status < '400')
        .map(([status, answer]) => `${method.toUpperCase()} ${path} ${status} ${JSON.stringify(refsIn(answer))}`),
    ),
  );
  const fields = Object.entries(components.schemas).flatMap(([name, { properties = {}, required = [] }]) =>
    Object.entries(properties).map(
      ([field, schema]) => `${name}.${field}${required.includes(field) ? '' : '?'} ${JSON.stringify(schema, promised)}`,
    ),
  );
  // The pattern of a format is the library's.
  const unpromised = /(?<="format":"[a-z-]+"),"pattern":"(?:[^"\\]|\\.)*"/g;
  return [...routes, ...fields].map((line) => line.replaceAll(unpromised, '')).toSorted();
}

/** Descriptions and examples of a field may change. */
function promised(key: string, value: unknown): unknown {
  return (key === 'description' && typeof value === 'string') || key === 'examples' ? undefined : value;
}

function refsIn(part: unknown): (string | undefined)[] {
  return [...JSON.stringify(part).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
}

/** The lines of the record. */
export async function recorded(): Promise<string[]> {
  return (await readFile(recordFile, 'utf8')).trimEnd().split('\n');
}

/** The subject of a line: the route or the field. A line that says something else of it is no new one. */
function subjectOf(line: string): string {
  return /^\S+\.\S+?(?=\??\s)|^\S+ \S+ \S+/.exec(line)?.[0] ?? line;
}

if (import.meta.main) {
  const lines = await recorded();
  const known = new Set(lines.map(subjectOf));
  const added = promisedBy(await openApiText()).filter((line) => !known.has(subjectOf(line)));
  await writeFile(recordFile, `${[...lines, ...added].toSorted().join('\n')}\n`);
}
