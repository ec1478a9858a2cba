import { z } from 'zod';

/** The API group of our own kinds, and the one version there is. */
export const apiGroup = 'reelwright.dev';
export const apiVersion = `${apiGroup}/v1alpha1`;

/**
 * A rule that the API server enforces (CEL, https://kubernetes.io/docs/reference/using-api/cel/). `self` is the value
 * at the schema that has the rule; a rule with `oldSelf` applies to changes alone.
 */
export interface CelRule {
  readonly rule: string;
  readonly message: string;
  /** The field that the refusal names, relative to the schema that has the rule: `.options.outputs`. */
  readonly fieldPath?: string;
}

/** A column of `kubectl get`; one of priority 1 shows with `-o wide` only. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly priority?: 0 | 1;
}

/** A CustomResourceDefinition's account of a kind; `scripts/generate-crds.ts` generates the file from it. */
export interface CustomResource {
  readonly kind: string;
  /** The name in paths, which is also the file's. */
  readonly plural: string;
  readonly shortName: string;
  readonly category: string;
  readonly description: string;
  readonly columns: readonly PrinterColumn[];
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  /** Rules about spec and status together. */
  readonly rules: readonly CelRule[];
  /** Where `kubectl scale` and autoscalers find their numbers. */
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath: string;
  };
}

/** The zod metadata that puts rules on a schema. */
export function celRules(...rules: readonly CelRule[]): { 'x-kubernetes-validations': readonly CelRule[] } {
  return { 'x-kubernetes-validations': rules };
}

/** The zod metadata of a list whose items are identified by these fields: the API server refuses a second one. */
export function listMap(...keys: readonly string[]): Record<string, unknown> {
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys };
}

/** A moment, as RFC 3339 has it. */
export const timeSchema = z.iso.datetime();

const conditionSchema = z.strictObject({
  type: z.string().max(316).describe('What the condition is about.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it is so.'),
  observedGeneration: z.int().min(0).optional().describe('The generation of the spec that it answers.'),
  lastTransitionTime: timeSchema.describe('When the status last changed.'),
  reason: z
    .string()
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
    .max(1024)
    .describe('Why, in one UpperCamelCase word.'),
  message: z.string().max(32_768).describe('For people.'),
});
/** A standard condition (`metav1.Condition`). */
export type Condition = z.infer<typeof conditionSchema>;

/** Conditions by type. */
export const conditionsSchema = z.array(conditionSchema).max(16).meta(listMap('type'));

/** A schema without its default and its optionality. */
export function bare(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
    return bare(schema.unwrap());
  }
  return schema as z.ZodType;
}

/** The same fields and bounds, all optional and without defaults. */
export function withoutDefaults(fields: z.ZodObject): z.ZodObject {
  return z.strictObject(
    Object.fromEntries(Object.entries(fields.shape).map(([name, field]) => [name, withoutDefault(field)])),
  );
}

/**
 * One such field.
 *
 * @param meta that the definition has besides
 */
export function withoutDefault(field: z.core.$ZodType, meta: Readonly<Record<string, unknown>> = {}): z.ZodType {
  const inner = bare(field);
  const optional = (inner instanceof z.ZodObject ? withoutDefaults(inner) : inner).optional();
  const description = (field as z.ZodType).description;
  return optional.meta({ ...(description === undefined ? {} : { description }), ...meta });
}
