import { z } from 'zod';
import { celRules, conditionsSchema, type CustomResource } from './custom-resource.ts';

// A RunnerPool says where runner pods are scheduled and how many jobs run there at once. Every field may be changed at
// any time; running pods keep the values that they started with.

// As Kubernetes writes quantities (`500m`, `4Gi`), without the sign, and of a number of bytes or cores too.
const quantitySchema = z.union([z.int(), z.string()]).meta({
  'x-kubernetes-int-or-string': true,
  pattern: '^(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]+))?$',
  maxLength: 32,
});

const tolerationSchema = z
  .strictObject({
    key: z.string().max(316).optional().describe('The key of the taint; none: every key.'),
    operator: z.enum(['Exists', 'Equal']).optional().describe('Equal, the default, compares the value too.'),
    value: z.string().max(63).optional().describe('The value of the taint.'),
    effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).optional().describe('The effect; none: all.'),
    tolerationSeconds: z.int().min(0).optional().describe('How long NoExecute is tolerated; none: for ever.'),
  })
  .meta(
    celRules(
      {
        rule: "!has(self.value) || self.value == '' || !has(self.operator) || self.operator == 'Equal'",
        message: 'must be empty when operator is Exists',
        fieldPath: '.value',
      },
      {
        rule: "has(self.key) && self.key != '' || has(self.operator) && self.operator == 'Exists'",
        message: 'a toleration of every key needs the operator Exists',
        fieldPath: '.key',
      },
    ),
  );

const spreadSchema = z.strictObject({
  maxSkew: z.int().min(1).describe('By how many pods two domains may differ, at most.'),
  topologyKey: z.string().min(1).max(316).describe('The label of nodes that tells domains apart, such as a zone.'),
  whenUnsatisfiable: z
    .enum(['DoNotSchedule', 'ScheduleAnyway'])
    .describe('Whether a pod waits that would differ by more, or goes where it differs least.'),
  minDomains: z.int().min(1).optional().describe('How many domains there have to be, with DoNotSchedule.'),
});

/** Labels or annotations of pods; the names of the controller are refused. */
const podMetadataSchema = z
  .record(z.string(), z.string().max(1024))
  .meta({
    maxProperties: 32,
    ...celRules({
      rule: "self.all(key, !key.startsWith('reelwright.dev/') && key.size() <= 317)",
      message: 'names that begin with reelwright.dev/ are reserved for the controller',
    }),
  })
  .optional();

const resourceListSchema = z.record(z.string(), quantitySchema).meta({ maxProperties: 16 });

/** The schema of `spec` of a RunnerPool. */
export const runnerPoolSpecSchema = z
  .strictObject({
    concurrency: z.int().min(0).max(10_000).describe('How many pods of this pool are at work at once; 0 begins none.'),
    chunkParallelism: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe('How many chunks of one video are encoded at once, at most; without it, as many as slots are free.'),
    imageSlots: z
      .int()
      .min(0)
      .max(10_000)
      .optional()
      .describe(
        'How many slots are reserved for image jobs, so that none waits behind videos; never the last one. Without it 1 of four or more in the pool default, else none.',
      ),
    nodeSelector: z
      .record(z.string(), z.string().max(63))
      .meta({ maxProperties: 32 })
      .optional()
      .describe('Labels that a node must have for pods of this pool.'),
    tolerations: z.array(tolerationSchema).max(32).optional().describe('Taints that pods of this pool tolerate.'),
    // Its shape is the one of Kubernetes, which the API server checks when a Job is created.
    affinity: z
      .looseObject({})
      .meta({ 'x-kubernetes-preserve-unknown-fields': true })
      .optional()
      .describe('The affinity of the pods, as in a pod: nodeAffinity, podAffinity, podAntiAffinity.'),
    topologySpreadConstraints: z
      .array(spreadSchema)
      .max(8)
      .optional()
      .describe('How the pods of this pool are spread over nodes or zones.'),
    podLabels: podMetadataSchema.describe('Labels of the pods of this pool, beside those of the controller.'),
    podAnnotations: podMetadataSchema.describe('Annotations of the pods of this pool, such as those of autoscalers.'),
    resources: z
      .strictObject({
        requests: resourceListSchema
          .optional()
          .describe('What a node must have free, by resource; `ephemeral-storage` for the scratch folder too.'),
        limits: resourceListSchema.optional().describe('What a step may use at most, by resource.'),
      })
      .optional()
      .describe('What each step of a job asks for, and may use.'),
    scratch: z
      .strictObject({
        sizeLimit: quantitySchema.optional().describe('At most so much, else the pod is evicted.'),
        request: quantitySchema.optional().describe('How much ephemeral storage a node must have free for it.'),
      })
      .optional()
      .describe('The folder that the steps of a job share.'),
    priorityClassName: z.string().max(253).optional().describe('The PriorityClass of the pods; empty: none.'),
    runtimeClassName: z.string().max(253).optional().describe('The RuntimeClass of the pods; empty: none.'),
    activeDeadlineSeconds: z.int().min(1).max(604_800).optional().describe('How long one attempt may take.'),
    kueueQueue: z.string().max(253).optional().describe('The LocalQueue of Kueue that admits the Jobs; empty: none.'),
  })
  .describe('How many pods run at once, on which nodes, and with what resources.');

const statusSchema = z
  .strictObject({
    observedGeneration: z.int().min(0).optional().describe('The generation of the spec that this status answers.'),
    active: z.int().min(0).optional().describe('How many pods of this pool run or are about to.'),
    queued: z.int().min(0).optional().describe('How many wait for this pool.'),
    lastError: z
      .string()
      .max(1024)
      .optional()
      .describe('What last kept a job of this pool from running; empty: nothing.'),
    selector: z.string().max(512).optional().describe('The pods of this pool, for autoscalers.'),
    conditions: conditionsSchema.optional().describe('Ready: False while something keeps its jobs from running.'),
  })
  .describe('What runs in the pool, and what waits for it.');

/** `spec` of a RunnerPool. Empty names mean none. */
export type RunnerPoolSpec = z.infer<typeof runnerPoolSpecSchema>;
/** `status` of a RunnerPool. */
export type RunnerPoolStatus = z.infer<typeof statusSchema>;

/** The CustomResourceDefinition of RunnerPool. */
export const runnerPoolResource: CustomResource = {
  kind: 'RunnerPool',
  plural: 'runnerpools',
  shortName: 'rp',
  category: 'media',
  description: 'Where runner pods go, what they may use, and how many run at once.',
  columns: [
    { name: 'Concurrency', type: 'integer', jsonPath: '.spec.concurrency' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Active', type: 'integer', jsonPath: '.status.active' },
    { name: 'Queued', type: 'integer', jsonPath: '.status.queued' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    { name: 'Last Error', type: 'string', jsonPath: '.status.lastError', priority: 1 },
  ],
  spec: runnerPoolSpecSchema,
  status: statusSchema,
  rules: [],
  scale: {
    specReplicasPath: '.spec.concurrency',
    statusReplicasPath: '.status.active',
    labelSelectorPath: '.status.selector',
  },
};
