import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Fault } from '../errors.ts';
import { jobTypeNames } from '../job-types/index.ts';
import { explain, faultsOf } from '../jobs/faults.ts';
import { parseSubmission } from '../jobs/submission.ts';
import { firstCharacters, titleCharactersMax, titleSchema } from '../media/description.ts';
import { poolNameSchema } from '../pool-name.ts';
import type { BucketEvent } from './notification.ts';

/** The parts of an event that a template may name. */
const placeholders = ['key', 'name', 'etag', 'digest'] as const;
type Placeholder = (typeof placeholders)[number];
const unknownPlaceholder = new RegExp(`\\{(?!(?:${placeholders.join('|')})\\})`);

const templateSchema = z
  .string()
  .min(1)
  .max(256)
  .refine(
    (template) => !unknownPlaceholder.test(template),
    `may contain ${placeholders.map((name) => `{${name}}`).join(', ')} and no other braces`,
  );

const ruleSchema = z.strictObject({
  /** The beginning of the object's key. */
  prefix: z.string().max(1024).default(''),
  suffix: z.string().max(1024).default(''),
  type: z.enum(jobTypeNames),
  options: z.unknown().optional(),
  callback_url: z.string().optional(),
  /** The hash of the media: text with `{key}`, `{name}`, `{etag}` and `{digest}`. */
  hash: templateSchema.default('{digest}'),
  /** The title of the media, such as `{name}`, the name of the file without its extension; by default it has none. */
  title: templateSchema.optional(),
  /** The RunnerPool of the job; without it, the profile or the measured size decides. */
  pool: poolNameSchema.optional(),
  /** The way of a new version of a key whose job has ended: the job is made again, or the first version stays. */
  new_version: z.enum(['rerun', 'keep']).default('rerun'),
});

/** A rule by which an object that was created is submitted. */
export type EventRule = z.output<typeof ruleSchema>;

/** `EVENT_RULES`: the first rule that matches a key counts. */
const eventRulesSchema = z.array(ruleSchema).max(100);

/** Reads a document of rules, or every fault of it: each rule must make a valid submission. */
export function readEventRules(
  document: unknown,
): { readonly rules: readonly EventRule[] } | { readonly faults: readonly Fault[] } {
  const { data, error } = eventRulesSchema.safeParse(document, { error: explain });
  if (data === undefined) return { faults: faultsOf(error, { schema: eventRulesSchema }) };
  const faults = data.flatMap((rule, index) =>
    (parseSubmission(submissionBody(rule, 'hash', 'source')).faults ?? []).map((fault) => ({
      ...fault,
      pointer: `/${index}${fault.pointer}`,
    })),
  );
  return faults.length > 0 ? { faults } : { rules: data };
}

/** The rule for a key; null: none matches. */
export function ruleFor(rules: readonly EventRule[], key: string): EventRule | null {
  return rules.find(({ prefix, suffix }) => key.startsWith(prefix) && key.endsWith(suffix)) ?? null;
}

/** The submission that a rule makes of an event, or what is wrong with it, such as a hash that is too long. */
export function submissionOf(rule: EventRule, event: BucketEvent): ReturnType<typeof parseSubmission> {
  return parseSubmission(submissionBody(rule, mediaHash(rule.hash, event), event.key));
}

function submissionBody({ type, options, callback_url: callbackUrl }: EventRule, hash: string, source: string) {
  return { type, hash, source, options, callback_url: callbackUrl };
}

/** The title that a rule gives a media, as much of it as a title may have; undefined for none, or nothing but spaces. */
export function titleOf({ title: template }: EventRule, event: BucketEvent): string | undefined {
  if (template === undefined) return undefined;
  return titleSchema.safeParse(firstCharacters(filled(template, event).trim(), titleCharactersMax)).data;
}

/**
 * The hash of an event. What hashes cannot contain becomes `-`; two keys that differ in such characters only need
 * `{digest}`.
 */
function mediaHash(template: string, event: BucketEvent): string {
  return filled(template, event, plain);
}

/** A template with what the placeholders stand for, of which `change` makes what may be there. */
function filled(template: string, { key, etag }: BucketEvent, change = (text: string) => text): string {
  const values: Readonly<Record<Placeholder, () => string>> = {
    key: () => change(key),
    name: () => change((key.split('/').at(-1) ?? '').replace(/\.[^.]*$/, '')),
    etag: () => change(etag),
    digest: () => createHash('sha256').update(key).digest('hex').slice(0, 32),
  };
  return template.replaceAll(/\{(\w+)\}/g, (_, name: Placeholder) => values[name]());
}

function plain(text: string): string {
  return text
    .replaceAll(/[^A-Za-z0-9._~-]/g, '-')
    .replaceAll(/\.{2,}/g, '.')
    .replace(/^[^A-Za-z0-9]+/, '');
}
