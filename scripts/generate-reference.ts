import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { z } from 'zod';
import { jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { rolesTable, settingsTable } from '#platform/config/documentation.ts';
import { sections } from '#platform/config/variables.ts';

// Writes the tables of docs/reference that say what schemas and declarations say, each between two comments that name
// it: `node scripts/generate-reference.ts`. A test compares the pages with what this generates.

/** An option as JSON Schema describes it. */
interface Option {
  readonly type?: string;
  readonly description?: string;
  readonly default?: string | number | boolean | object;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: { readonly properties?: Readonly<Record<string, Option>> };
}

/** The pages with generated parts, and the parts by name. */
const parts: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'configuration.md': {
    roles: () => rolesTable(Object.values(sections)),
    ...Object.fromEntries(Object.entries(sections).map(([title, table]) => [title, () => settingsTable(table)])),
  },
  'crds/mediajob.md': { options: optionsTable },
};

const folder = new URL('../docs/reference/', import.meta.url);

/** Each page, with the contents that it is to have. */
export async function referencePages(): Promise<Map<URL, string>> {
  const pages = Object.entries(parts).map(async ([name, tables]): Promise<[URL, string]> => {
    const file = new URL(name, folder);
    let text = await readFile(file, 'utf8');
    for (const [title, table] of Object.entries(tables)) text = withPart(text, { title, table: table(), name });
    const config = await resolveConfig(fileURLToPath(file));
    return [file, await format(text, { ...config, parser: 'markdown' })];
  });
  return new Map(await Promise.all(pages));
}

function withPart(text: string, { title, table, name }: Readonly<Record<'title' | 'table' | 'name', string>>): string {
  const [begin, end] = [`<!-- generated: ${title} -->\n`, '<!-- end of generated -->'];
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`docs/reference/${name} lacks ${begin.trim()} … ${end}`);
  return `${text.slice(0, from)}${begin}\n${table}\n\n${text.slice(to)}`;
}

/** The options of each job type. */
function optionsTable(): string {
  const rows = jobTypeNames.flatMap((type) => {
    const { properties = {} } = z.toJSONSchema(jobTypes[type].options, { io: 'input' });
    return Object.entries(properties as Record<string, Option>).flatMap(([name, option]) => rowsOf(type, name, option));
  });
  return ['| type | option | value | default | meaning |', '| --- | --- | --- | --- | --- |', ...rows].join('\n');
}

function rowsOf(type: string, name: string, option: Option): string[] {
  const { default: fallback, description = '', items } = option;
  const shown = fallback === undefined || typeof fallback === 'object' ? '' : `\`${fallback}\``;
  const row = `| \`${type}\` | \`${name}\` | ${allowedValues(option)} | ${shown} | ${description} |`;
  const fields = Object.entries(items?.properties ?? {});
  return [row, ...fields.flatMap(([field, inner]) => rowsOf(type, `${name}[].${field}`, inner))];
}

/** The values that an option may have. */
function allowedValues({ type, enum: values, minimum, maximum, minItems, maxItems }: Option): string {
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ');
  if (type === 'array') return `a list of ${minItems}–${maxItems}`;
  if (type === 'boolean') return '`true` or `false`';
  if (type === 'object') return 'its options';
  if (type !== 'integer' && type !== 'number') return 'text';
  const bounds =
    maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? `at least ${minimum}` : `${minimum}–${maximum}`;
  return type === 'integer' ? `${bounds}, whole` : bounds;
}

if (import.meta.main) for (const [file, text] of await referencePages()) await writeFile(file, text);
