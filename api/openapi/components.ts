import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { type JobType, jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { retryPlanSchema } from '#domain/job-types/retry-plan.ts';
import { sourceFoundSchema, warningSchema } from '#domain/job-types/shared-results.ts';
import { stageResultSchema } from '#domain/job-types/video-full.ts';
import { jobErrorSchema } from '#domain/job-error.ts';
import { waitingReasonSchema } from '#domain/jobs/waiting.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';

// The components of the OpenAPI document. Every object has a name: generators of clients make a class of each
// component, and some (openapi-python-client) make no class at all of a union whose members have no names.

type Json = Record<string, unknown>;
/** The components of the document, by name. */
export type Components = Readonly<Record<string, Readonly<Json>>>;
type Direction = 'input' | 'output';

const addressOf = (name: string) => `#/components/schemas/${name}`;

/** A `$ref` to a component. */
export const reference = (name: string) => ({ $ref: addressOf(name) });

/** The components of all answers and request bodies, by name. */
export function componentSchemas(): Record<string, Json> {
  const results = ofEachType('Results', (type) => jobTypes[type].results);
  const options = ofEachType('Options', (type) => jobTypes[type].options);
  const shared = {
    JobError: jobErrorSchema,
    WaitingReason: waitingReasonSchema,
    RetryPlan: retryPlanSchema,
    SourceFound: sourceFoundSchema,
    StageResult: stageResultSchema,
    Warning: warningSchema,
  };
  const outputs = { ...namedSchemas(answers), ...membersOf(namedSchemas(answers)), ...results, ...shared };
  const inputs = { ...namedSchemas(bodies), ...membersOf(namedSchemas(bodies)), ...options };
  return { ...componentsOf(outputs, 'output'), ...componentsOf(inputs, 'input') };
}

/** The schemas with a name, in its order. */
export function namedSchemas(registry: typeof answers): Record<string, z.ZodType> {
  // oxlint-disable-next-line no-underscore-dangle -- zod lists the schemas of a registry nowhere else
  const ids = [...registry._idmap].map(([id, schema]) => [id, schema as z.ZodType] as const);
  return Object.fromEntries(ids.toSorted(([a], [b]) => a.localeCompare(b)));
}

/** The name of a schema in the document. */
export function nameOf(schema: z.ZodType): string {
  const { id } = answers.get(schema) ?? bodies.get(schema) ?? {};
  if (id === undefined) throw new Error('A schema of a route has no name: add .register(answers, { id }) to it.');
  return id;
}

/** `video:full` → `VideoFull` */
function pascalCase(name: string): string {
  return name.replaceAll(/(?:^|[^A-Za-z\d])([A-Za-z\d])/g, (_, first: string) => first.toUpperCase());
}

function ofEachType(suffix: string, schemaOf: (type: JobType) => z.ZodType): Record<string, z.ZodType> {
  return Object.fromEntries(jobTypeNames.map((type) => [`${pascalCase(type)}${suffix}`, schemaOf(type)]));
}

/** The members of unions over the job types: `VideoFullJob` of `Job`. */
function membersOf(schemas: Readonly<Record<string, z.ZodType>>): Record<string, z.ZodType> {
  const unions = Object.entries(schemas).flatMap(([name, schema]) =>
    schema instanceof z.ZodDiscriminatedUnion ? [{ name, members: schema.options }] : [],
  );
  return Object.fromEntries(
    unions.flatMap(({ name, members }) =>
      members.map((member, index) => [`${pascalCase(jobTypeNames[index] ?? '')}${name}`, member as z.ZodType]),
    ),
  );
}

function componentsOf(schemas: Readonly<Record<string, z.ZodType>>, io: Direction): Record<string, Json> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  const made = z.toJSONSchema(registry, { uri: addressOf, io, override: ({ jsonSchema }) => adapt(jsonSchema, io) });
  const components: Record<string, Json> = {};
  for (const [name, { $schema: _dialect, $id: _id, ...schema }] of Object.entries(made.schemas))
    components[name] = withNamedObjects(schema, name, components);
  return components;
}

function adapt(schema: z.core.JSONSchema.BaseSchema, io: Direction): void {
  // Answers may get new fields at any time, so they allow additional properties; those of a record have a schema.
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties;
  // Generated clients take a field with a default for one that is always there, also in requests.
  if (io === 'input' && schema.default !== undefined) {
    const note = `Default: \`${JSON.stringify(schema.default)}\``;
    schema.description = [schema.description, note].filter(Boolean).join(' ');
    delete schema.default;
  }
  // zod states the bounds of whole numbers that a double can tell apart, which example generators take for the value.
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  const members = schema.oneOf ?? [];
  if (members.length > 0 && members.every(({ $ref }) => $ref !== undefined))
    Object.assign(schema, { discriminator: { propertyName: 'type', mapping: mappingOf(members) } });
}

/** The member of a union for each job type, in whose order they stand. */
function mappingOf(members: readonly z.core.JSONSchema.BaseSchema[]): Json {
  return Object.fromEntries(members.map(({ $ref }, index) => [jobTypeNames[index], $ref]));
}

/**
 * `schema` with its nested objects as components of their own, named by the fields that lead to them; equal objects are
 * one component.
 */
function withNamedObjects(schema: Json, name: string, components: Record<string, Json>): Json {
  const named = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => named(item, path));
    if (typeof value !== 'object' || value === null) return value;
    const nested = withNamedObjects(value as Json, path, components);
    if (nested['properties'] === undefined) return nested;
    // What is said of the field stays at the field.
    const { description, examples, ...shape } = nested;
    const equal = Object.keys(components).find((other) => isDeepStrictEqual(components[other], shape));
    components[equal ?? path] = shape;
    return { ...reference(equal ?? path), ...withoutNone({ description, examples }) };
  };
  const fields = Object.entries(ofNullable(schema)).map(([key, value]) => {
    if (key === 'items') return [key, named(value, name.replace(/s$/, ''))];
    if (key === 'anyOf' || key === 'oneOf') return [key, named(value, name)];
    if (key !== 'properties') return [key, value];
    const properties = Object.entries(value as Json);
    return [
      key,
      Object.fromEntries(properties.map(([field, of]) => [field, named(of, `${name}${pascalCase(field)}`)])),
    ];
  });
  return Object.fromEntries(fields) as Json;
}

/** Moves the description of a value that may be null to its field. */
function ofNullable(schema: Json): Json {
  const [value, none, ...others] = (schema['anyOf'] ?? []) as Json[];
  if (value === undefined || none?.['type'] !== 'null' || others.length > 0) return schema;
  const { description, examples, ...rest } = value;
  const said = withoutNone({ description, examples });
  if (Object.keys(rest).join() !== 'type') return { ...said, ...schema, anyOf: [rest, none] };
  const { anyOf: _anyOf, ...field } = schema;
  return { type: [rest['type'], 'null'], ...said, ...field };
}

function withoutNone(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
