import { z } from 'zod';
import { imageThumbnailOptions } from '../job-types/image-thumbnail.ts';
import { type JobType, jobTypeNames, jobTypes } from '../job-types/index.ts';
import { jobErrorSchema } from '../job-error.ts';
import { jobPhases } from '../jobs/status.ts';
import { priorityMax } from '../jobs/ticket.ts';
import {
  type CelRule,
  celRules,
  conditionsSchema,
  type CustomResource,
  listMap,
  timeSchema,
  withoutDefault,
  withoutDefaults,
} from './custom-resource.ts';

// A MediaJob is one job as a Kubernetes object. The controller creates one for each job that runs there; one that is
// applied with kubectl is a submission like any other. What POST /api/jobs refuses with 400, the API server refuses
// here with the field's name: bounds by the schema, other rules by CEL.
//
// A structural schema has no unions, so `options` has the fields of every type, and a rule says which type each field
// belongs to. It has no defaults, since all types would get them.

/** The state of a MediaJob in one word: the phase of its job, a problem that keeps it from running, or its end. */
export const mediaJobPhases = [
  ...jobPhases,
  'queued',
  'unschedulable',
  'image_unavailable',
  'quota_exceeded',
  'completed',
  'failed',
  'cancelled',
] as const;
/** One of them. */
export type MediaJobPhase = (typeof mediaJobPhases)[number];

/** The conditions of a MediaJob; the first two end it. */
export const mediaJobConditionTypes = ['Complete', 'Failed', 'Suspended', 'Progressing', 'Published'] as const;
/** One of them. */
export type MediaJobConditionType = (typeof mediaJobConditionTypes)[number];

/** The options of one type, all optional. */
export type MediaJobOptions = Readonly<Record<string, unknown>>;

/** `spec`: a submission, and how it is to be run. */
export interface MediaJobSpec {
  readonly type: JobType;
  readonly hash: string;
  /** Object key in the source bucket. */
  readonly source: string;
  readonly options?: MediaJobOptions;
  readonly callbackUrl?: string;
  /** The API server fills in false. */
  readonly suspend?: boolean;
  /** The priority among jobs that wait for the same pool: the higher begins first. The API server fills in 0. */
  readonly priority?: number;
  /** The RunnerPool; when there is none, the measured size of the source decides. */
  readonly pool?: string;
  /** The encoding profile; when there is none, the rules of the service decide. */
  readonly profile?: string;
  /** The name of the media for people. */
  readonly title?: string;
  /** How many chunks of its video are encoded at once, at most. */
  readonly chunks?: number;
  /** The API key in whose turns it begins, by its id. */
  readonly key?: string;
}

/** `status`. `results` and `error` have the field names of `GET /api/jobs/{id}`. */
export type MediaJobStatus = z.infer<typeof statusSchema>;

// The defaults of `duration` and `fps` stand in for what is left out.
const framesRule: CelRule = {
  rule:
    '(has(self.duration) ? self.duration : 3.0) * double(has(self.fps) ? self.fps : 10) <= 300.0' +
    ' || !(has(self.duration) || has(self.fps))',
  message: 'duration × fps must be at most 300',
  fieldPath: '.duration',
};

const optionFields: Readonly<Record<string, z.ZodType>> = {
  ...Object.assign({}, ...jobTypeNames.map((type) => withoutDefaults(jobTypes[type].options).shape)),
  outputs: withoutDefault(imageThumbnailOptions.shape.outputs, listMap('variant')),
  preview: withoutDefault(jobTypes['video:full'].options.shape.preview, celRules(framesRule)),
};

const optionsOfType = Object.fromEntries(jobTypeNames.map((type) => [type, Object.keys(jobTypes[type].options.shape)]));

// One rule an option: it belongs to one type.
const belongingRules = Object.entries(optionsOfType).flatMap(([type, names]) =>
  names.map((name) => ({
    rule: `!has(self.options) || !has(self.options.${name}) || self.type == '${type}'`,
    message: `is an option of ${type} alone`,
    fieldPath: `.options.${name}`,
  })),
);

const immutableFields = [
  'type',
  'hash',
  'source',
  'options',
  'callbackUrl',
  'pool',
  'profile',
  'key',
  'title',
] as const;
const requiredFields: readonly string[] = ['type', 'hash', 'source'];

const immutableRules = immutableFields.map((name) => ({
  rule: requiredFields.includes(name)
    ? `self.${name} == oldSelf.${name}`
    : `has(self.${name}) == has(oldSelf.${name}) && (!has(self.${name}) || self.${name} == oldSelf.${name})`,
  message: 'cannot be changed: only suspend, priority and chunks can',
  fieldPath: `.${name}`,
}));

// The same bounds as in domain/jobs/submission.ts, whose checks are functions that no API server can run.
const specSchema = z
  .strictObject({
    type: z.enum(jobTypeNames).describe('What to make of the source.'),
    hash: z
      .string()
      .max(128)
      .regex(/^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/)
      .meta(celRules({ rule: "!self.contains('..')", message: 'must not contain ".."' }))
      .describe('The stable identifier of the media.'),
    source: z
      .string()
      .min(1)
      .max(1024)
      // oxlint-disable-next-line no-control-regex -- refused characters; a CRD's pattern has no other way to say so
      .regex(/^[^\x00-\x1f\x7f-\x9f]+$/)
      .meta(
        celRules(
          { rule: 'bytes(self).size() <= 1024', message: 'must be at most 1024 bytes of UTF-8' },
          { rule: "!self.startsWith('/')", message: 'must not begin with "/"' },
          { rule: "!self.matches('(^|/)[.][.](/|$)')", message: 'must not contain a ".." segment' },
        ),
      )
      .describe('The key of the source object in the source bucket.'),
    options: z
      .strictObject(optionFields)
      .meta(celRules(framesRule))
      .optional()
      .describe('The options of the type, as POST /api/jobs has them. What is left out has its default.'),
    callbackUrl: z
      .string()
      .max(2048)
      // oxlint-disable-next-line no-control-regex -- refused characters; a CRD's pattern has no other way to say so
      .regex(/^[^\x00-\x20\x7f-\x9f]+$/)
      .meta(
        celRules(
          {
            rule: "isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != ''",
            message: 'must be an http or https URL',
          },
          { rule: "!self.matches('^[^/?#]*//[^/?#]*@')", message: 'must not contain credentials' },
        ),
      )
      .optional()
      .describe('Where the webhook of the end goes.'),
    suspend: z.boolean().default(false).describe('Stops the work and begins none, at no cost of an attempt.'),
    priority: z
      .int()
      .min(-priorityMax)
      .max(priorityMax)
      .default(0)
      .describe(
        'Above 0, the job starts before all waiting jobs of its key and pool with a lower one; below 0, after all. Jobs of the API have their X-Priority.',
      ),
    pool: z
      .string()
      .max(63)
      .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
      .optional()
      .describe('The RunnerPool to run in. Without it, the measured size of the source decides.'),
    profile: z
      .string()
      .max(63)
      .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/)
      .optional()
      .describe('The encoding profile of its stream. Without it, the rules of the service decide.'),
    key: z
      .string()
      .max(8)
      .regex(/^[0-9a-f]{8}$/)
      .optional()
      .describe('The API key in whose turns it begins, by its key_id. Without it, it shares those of all without one.'),
    title: z
      .string()
      .min(1)
      .max(256)
      // oxlint-disable-next-line no-control-regex -- refused characters; a CRD's pattern has no other way to say so
      .regex(/^[^\x00-\x1f\x7f-\x9f]+$/)
      .optional()
      .describe('What people call the media, as X-Title of a submission.'),
    chunks: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe('How many chunks of its video are encoded at once, at most. Without it, the RunnerPool decides.'),
  })
  .meta(celRules(...belongingRules, ...immutableRules))
  .describe('A submission, and how it is run.');

const statusSchema = z
  .strictObject({
    observedGeneration: z.int().min(0).optional().describe('The generation of the spec that this status answers.'),
    phase: z.enum(mediaJobPhases).optional().describe('How it stands, in one word.'),
    progress: z.int().min(0).max(100).optional().describe('Percent.'),
    chunks: z
      .string()
      .regex(/^[0-9]+\/[0-9]+$/)
      .max(16)
      .optional()
      .describe('How many chunks of its video are finished, and of how many.'),
    jobId: z.string().max(36).optional().describe('The id under which GET /api/jobs/{id} shows it.'),
    pool: z.string().max(63).optional().describe('The RunnerPool that was chosen.'),
    attempt: z.int().min(1).optional().describe('The attempt that runs, or the last one.'),
    startTime: timeSchema.optional().describe('When its work first began.'),
    completionTime: timeSchema.optional().describe('When it ended, either way.'),
    // Not typed here: the API server would silently drop fields that an older definition does not know. The controller
    // alone writes them, by the schemas in domain/job-types.
    results: z
      .looseObject({})
      .meta({ 'x-kubernetes-preserve-unknown-fields': true })
      .optional()
      .describe('The results, as GET /api/jobs/{id} has them.'),
    error: jobErrorSchema.optional().describe('Why it failed.'),
    conditions: conditionsSchema.optional().describe('Complete, Failed, Suspended, Progressing, Published.'),
  })
  .describe('How the job stands, and what came of it.');

const isFinal = (status: string) =>
  `${status}.conditions.exists(c, c.type in ['Complete', 'Failed'] && c.status == 'True')`;

// An end cannot be taken back, whoever tries: not a controller that was paused, and not a person with kubectl.
const terminalRules: CelRule[] = [
  {
    rule:
      `!has(oldSelf.status) || !has(oldSelf.status.conditions) || !${isFinal('oldSelf.status')}` +
      ' || has(self.status) && has(self.status.conditions)' +
      " && oldSelf.status.conditions.filter(c, c.type in ['Complete', 'Failed'] && c.status == 'True')" +
      ".all(old, self.status.conditions.exists(c, c.type == old.type && c.status == 'True'))",
    message: 'Complete and Failed cannot be taken back',
    fieldPath: '.status.conditions',
  },
  {
    rule:
      `!has(oldSelf.status) || !has(oldSelf.status.conditions) || !${isFinal('oldSelf.status')}` +
      ' || !has(oldSelf.status.phase)' +
      ' || has(self.status) && has(self.status.phase) && self.status.phase == oldSelf.status.phase',
    message: 'the phase of a job that has ended cannot change',
    fieldPath: '.status.phase',
  },
  {
    rule:
      '!has(self.status) || !has(self.status.conditions)' +
      " || !(self.status.conditions.exists(c, c.type == 'Complete' && c.status == 'True')" +
      " && self.status.conditions.exists(c, c.type == 'Failed' && c.status == 'True'))",
    message: 'a job is Complete or Failed, not both',
    fieldPath: '.status.conditions',
  },
];

/** The CustomResourceDefinition of MediaJob. */
export const mediaJobResource: CustomResource = {
  kind: 'MediaJob',
  plural: 'mediajobs',
  shortName: 'mj',
  category: 'media',
  description: 'One media-processing job: what to make of a source object, and what became of it.',
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.spec.type' },
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Progress', type: 'integer', jsonPath: '.status.progress' },
    { name: 'Chunks', type: 'string', jsonPath: '.status.chunks' },
    { name: 'Reason', type: 'string', jsonPath: '.status.conditions[?(@.type=="Progressing")].reason' },
    { name: 'Pool', type: 'string', jsonPath: '.status.pool' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Hash', type: 'string', jsonPath: '.spec.hash', priority: 1 },
    { name: 'Profile', type: 'string', jsonPath: '.spec.profile', priority: 1 },
    { name: 'Attempt', type: 'integer', jsonPath: '.status.attempt', priority: 1 },
    { name: 'Error', type: 'string', jsonPath: '.status.error.code', priority: 1 },
  ],
  spec: specSchema,
  status: statusSchema,
  rules: terminalRules,
};
