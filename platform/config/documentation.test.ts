import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { variablesOf } from './documentation.ts';
import { positiveDurationValue } from './values.ts';
import { declareFor, missingVariables, readVariables, type Variables } from './variable.ts';
import { configVariables, sections } from './variables.ts';

/** The rows of each section's table in docs/reference/configuration.md, without its two lines of head. */
function documentedRows(): Record<string, string[]> {
  const text = readFileSync(join(import.meta.dirname, '../../docs/reference/configuration.md'), 'utf8');
  const rows = text.split(/^## /m).map((section, index) => {
    const [title = '', ...lines] = section.split('\n');
    const table = lines.filter((line) => line.startsWith('|')).map((line) => line.replaceAll(/ +/g, ' '));
    return [index === 0 ? 'roles' : title, table.slice(2)] as const;
  });
  return Object.fromEntries(rows.filter(([, table]) => table.length > 0));
}

/** A row of docs/reference/configuration.md for each variable: name, default, meaning. */
function documentationRows(variables: Variables): string[] {
  return Object.values(variables).map(({ name, isSecret, default: fallback, defaultDoc, doc }) => {
    const shown = typeof fallback === 'string' ? `\`${fallback}\`` : (defaultDoc ?? '–');
    return `| \`${name}\`${isSecret === true ? ' (secret)' : ''} | ${shown} | ${doc} |`;
  });
}

/** The rows of the table of docs/reference/configuration.md that says which part of the service requires what. */
function roleTable(tables: readonly Variables[]): string[] {
  const declared = tables.flatMap((variables) => Object.values(variables));
  const isOfSome = ({ requiredBy }: (typeof declared)[number]) =>
    requiredBy.length > 0 && !requiredBy.includes('kubernetes') && requiredBy.length < 3;
  return declared.filter(isOfSome).map(({ name, requiredBy, usedBy }) => {
    const cells = (['api', 'delivery', 'worker'] as const).map((role) =>
      requiredBy.includes(role) ? 'yes' : usedBy.includes(role) ? 'optional' : '–',
    );
    return `| \`${name}\` | ${cells.join(' | ')} |`;
  });
}

const secretsOf = (...roles: Parameters<typeof variablesOf>[0]) =>
  variablesOf(roles, Object.values(sections)).flatMap(({ name, isSecret }) => (isSecret ? [name] : []));

describe('docs/reference/configuration.md', () => {
  it('the page has a row for every variable, with its default and its meaning, and no other', () => {
    const { roles: _, ...documented } = documentedRows();
    const declared = Object.entries(sections).map(([title, table]) => [title, documentationRows(table)] as const);
    expect(documented).toEqual(Object.fromEntries(declared));
  });

  it('the page says which secrets and addresses each part of the service needs', () => {
    expect(documentedRows()['roles']).toEqual(roleTable(Object.values(sections)));
  });
});

describe('a variable that is added to the declarations', () => {
  const added = {
    ...configVariables,
    exampleTimeoutMs: declareFor('delivery')('EXAMPLE_TIMEOUT', positiveDurationValue, {
      isRequired: true,
      isSecret: true,
      doc: 'An example.',
    }),
  };

  it('the added variable is read into a typed field of the configuration', () => {
    const { values } = readVariables(added, { EXAMPLE_TIMEOUT: '5s' });
    expectTypeOf(values.exampleTimeoutMs).toEqualTypeOf<number | undefined>();
    expect(values.exampleTimeoutMs).toBe(5000);
    expect(readVariables(added, { EXAMPLE_TIMEOUT: 'soon' }).faults).toEqual([
      'EXAMPLE_TIMEOUT: expected a duration over zero, such as 250ms, 5s or 3m',
    ]);
  });

  it('the added variable is documented, and required by the surface that uses it and by no other', () => {
    expect(documentationRows(added).at(-1)).toBe('| `EXAMPLE_TIMEOUT` (secret) | – | An example. |');
    expect(missingVariables(added, {}, new Set(['delivery']))).toContain('EXAMPLE_TIMEOUT: is required');
    expect(missingVariables(added, {}, new Set(['api', 'worker']))).not.toContain('EXAMPLE_TIMEOUT: is required');
    const need = { name: 'EXAMPLE_TIMEOUT', isSecret: true, isRequired: true };
    expect(variablesOf(['delivery'], [added])).toContainEqual(need);
    expect(variablesOf(['api', 'worker', 'kubernetes'], [added])).not.toContainEqual(need);
  });
});

describe('what a deployment needs', () => {
  const media = ['MEDIA_S3_ACCESS_KEY_ID', 'MEDIA_S3_SECRET_ACCESS_KEY'];
  const source = ['SOURCE_S3_ACCESS_KEY_ID', 'SOURCE_S3_SECRET_ACCESS_KEY'];

  const uploads = ['UPLOAD_S3_ACCESS_KEY_ID', 'UPLOAD_S3_SECRET_ACCESS_KEY'];

  it.each([
    ['the API', ['api'], ['API_KEY', 'EVENTS_TOKEN', ...source, ...media, ...uploads]],
    ['delivery', ['delivery'], ['KEY_TOKEN_SECRET', 'ENCRYPTION_KEY', 'THUMB_SECRET', 'STREAM_SECRET', ...media]],
    ['the controller', ['worker', 'kubernetes'], ['WEBHOOK_SECRET', 'ENCRYPTION_KEY', ...source, ...media, ...uploads]],
  ] as const)('%s reads its own secrets only', (_name, roles, secrets) => {
    expect(secretsOf(...roles)).toEqual(['DATABASE_URL', 'REDIS_URL', ...secrets]);
  });
});
