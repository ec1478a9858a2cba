import type { Components } from './components.ts';

/**
 * A value of a schema of the OpenAPI document: of the examples of its fields, or else of their types.
 *
 * @param components by name, for what the schema refers to
 */
export function exampleOf(schema: Components[string], components: Components): unknown {
  const { $ref, examples, const: constant, enum: values, anyOf, oneOf, properties, items, type, format } = schema;
  const inner = (part: unknown) => exampleOf(part as Components[string], components);
  if (Array.isArray(examples)) return examples[0];
  if (typeof $ref === 'string') return inner(components[$ref.split('/').at(-1) ?? '']);
  if (constant !== undefined) return constant;
  if (Array.isArray(values)) return values[0];
  const members = anyOf ?? oneOf;
  if (Array.isArray(members)) return inner(members[0]);
  if (typeof properties === 'object' && properties !== null)
    return Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, inner(field)]));
  const [first] = [type].flat();
  if (first === 'array') return [inner(items)];
  if (first === 'object') return {};
  if (first === 'boolean') return false;
  if (first === 'integer' || first === 'number') return schema['minimum'] ?? 1;
  return exampleOfFormat[format as string] ?? '…';
}

const exampleOfFormat: Readonly<Record<string, string>> = {
  'date-time': '2026-11-24T08:00:00.000Z',
  uuid: '0b6f1c52-7d0e-4c7a-9d2b-3f5a1e8c6d40',
};
