import { describe, expect, expectTypeOf, it } from 'vitest';
import { settingsTable, variablesOf } from './documentation.ts';
import { positiveDurationValue } from './values.ts';
import { declareFor, missingVariables, readVariables } from './variable.ts';
import { configVariables, sections } from './variables.ts';

const secretsOf = (...roles: Parameters<typeof variablesOf>[0]) =>
  variablesOf(roles, Object.values(sections)).flatMap(({ name, isSecret }) => (isSecret ? [name] : []));

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
    expect(settingsTable(added)).toMatch(/\n\| `EXAMPLE_TIMEOUT` \(secret\) \| – \| An example\. \|$/);
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
