import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jobErrorSchema } from '#domain/job-error.ts';
import { jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { manifestShape } from '#domain/work/manifest.ts';
import { reportSchema } from '#domain/work/report.ts';
import { taskShape } from '#domain/work/task.ts';
import { chunkResultSchema, splitImagesSchema, splitShape } from '#domain/work/split.ts';
import { encodePlanSchema } from '../../runner/handlers/video-transcode/chunked/plan.ts';
import { encodedSchema } from '../../runner/handlers/video-transcode/encoded.ts';
import { readSources } from '../../testing/imports.ts';
import { imagesMadeSchema } from '../../runner/handlers/video-full/stages.ts';

// Sources, decoders and tools write into these documents, which are stored, listed and sent: nothing in them grows
// without a maximum.

interface JsonSchema {
  readonly type?: string;
  readonly enum?: unknown;
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
}

/** A whole pattern without repetitions that have no end. */
const isBoundedPattern = (pattern: string) => /^\^.*\$$/.test(pattern) && !/[^\\][*+]|,\}/.test(pattern);

function isBoundedString({ enum: values, const: value, format, pattern, maxLength }: JsonSchema): boolean {
  const isBounded = maxLength !== undefined || (pattern !== undefined && isBoundedPattern(pattern));
  return isBounded || values !== undefined || value !== undefined || format === 'uuid';
}

/** The paths of strings and arrays without a maximum. */
function unbounded(schema: JsonSchema, path: string): string[] {
  const own =
    (schema.type === 'string' && !isBoundedString(schema)) || (schema.type === 'array' && schema.maxItems === undefined)
      ? [path]
      : [];
  const { properties = {}, items, additionalProperties } = schema;
  return [
    ...own,
    ...Object.entries(properties).flatMap(([name, each]) => unbounded(each, `${path}.${name}`)),
    ...(items === undefined ? [] : unbounded(items, `${path}[]`)),
    ...(typeof additionalProperties === 'object' ? unbounded(additionalProperties, `${path}.*`) : []),
    ...[schema.anyOf, schema.oneOf, schema.allOf].flatMap((each = []) => each.flatMap((one) => unbounded(one, path))),
  ];
}

const documents: readonly (readonly [string, z.ZodType])[] = [
  ...jobTypeNames.map((type) => [`the results of ${type}`, jobTypes[type].results] as const),
  ['an error', jobErrorSchema],
  ['a report', reportSchema],
  ['a task', taskShape],
  ['a result manifest', manifestShape],
  ['the list of chunks', splitShape],
  ['the result of a chunk', chunkResultSchema],
  ['the images beside a chunked encode', splitImagesSchema],
  ['the plan of a chunked encode', encodePlanSchema],
  ['what process hands to publish of a stream', encodedSchema],
  ['what process hands to publish of images', imagesMadeSchema],
];

describe('documents that sources and decoders write into', () => {
  it('documents of runners are read by parseJson', () => {
    const readers = readSources(join(import.meta.dirname, '../..')).filter(
      ({ path, text }) => /^(domain\/work|runner)\//.test(path) && /\b(JSON\.parse|parseJson)\(/.test(text),
    );
    expect(readers.length).toBeGreaterThan(10);
    const raw = readers.filter(({ path, text }) => !path.endsWith('.test.ts') && text.includes('JSON.parse('));
    // These read what ffprobe prints: a tag of a source may be called toString.
    expect(raw.map(({ path }) => path)).toEqual(['runner/source/ffprobe-document.ts', 'runner/source/mastering.ts']);
  });

  it.each(documents)('every string and list of %s has a maximum', (_, schema) => {
    const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as JsonSchema;
    expect(unbounded(json, '')).toEqual([]);
  });

  it('strings and lists without a maximum are found', () => {
    const open = z.object({
      a: z.string(),
      b: z.array(z.string().max(1)),
      c: z.string().regex(/^a+$/).nullable(),
      d: z.string().regex(/^[a-f]{3}$/),
    });
    expect(unbounded(z.toJSONSchema(open) as JsonSchema, '')).toEqual(['.a', '.b', '.c']);
  });
});
