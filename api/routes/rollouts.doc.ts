import { rolloutListQuerySchema } from '#domain/rollouts/rollout.ts';
import type { RolloutAction } from '#jobs/rollouts/change-rollout.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import {
  rolloutBodySchema,
  rolloutDetailsSchema,
  rolloutListSchema,
  rolloutPlanSchema,
  rolloutSchema,
} from '../wire/rollout.ts';

// Documentation of the rollout routes in the OpenAPI document.

const shared = { tag: 'Rollouts', credential: 'api_key' } as const;
const ofOne = { ...shared, path: { id: 'The rollout.' } } as const;

export const create: RouteDoc = {
  ...shared,
  operationId: 'createRollout',
  right: 'publish',
  subject: 'everything',
  summary: 'Make streams of many media again by another profile',
  description:
    'Reruns have the lowest priority, and one that holds a slot for which a submission waits is planned again. A canary is made first; one that fails its gate is rolled back.',
  isLimited: true,
  body: { schema: rolloutBodySchema, isRequired: true },
  answers: { 202: { description: 'The rollout has begun.', schemas: [rolloutSchema] } },
  problems: [],
};

export const plan: RouteDoc = {
  ...shared,
  operationId: 'planRollout',
  right: 'publish',
  subject: 'everything',
  summary: 'Show what a rollout would make again, and write nothing',
  description:
    'Media, hours and bytes, and what is expected of them. It looks at media for three seconds: `is_whole` says whether those were all.',
  isLimited: true,
  body: { schema: rolloutBodySchema, isRequired: true },
  answers: { 200: { description: 'The plan.', schemas: [rolloutPlanSchema] } },
  problems: ['busy'],
};

export const list: RouteDoc = {
  ...shared,
  operationId: 'listRollouts',
  right: 'read',
  subject: 'everything',
  summary: 'List rollouts, newest first',
  description: 'For the next page, repeat the request with `cursor` set to `next_cursor`.',
  query: rolloutListQuerySchema,
  answers: { 200: { description: 'One page.', schemas: [rolloutListSchema] } },
  problems: ['invalid_request'],
};

export const find: RouteDoc = {
  ...ofOne,
  operationId: 'getRollout',
  right: 'read',
  subject: 'everything',
  summary: 'Follow a rollout',
  description: 'How many media are planned, running, done and failed, bytes and scores, and the last 20 failures.',
  answers: { 200: { description: 'The rollout.', schemas: [rolloutDetailsSchema] } },
  problems: ['not_found'],
};

const changed = {
  ...ofOne,
  answers: { 200: { description: 'The rollout.', schemas: [rolloutDetailsSchema] } },
  problems: ['not_found', 'conflict'],
} as const satisfies Partial<RouteDoc>;

export const change: Readonly<Record<RolloutAction, RouteDoc>> = {
  pause: {
    ...changed,
    operationId: 'pauseRollout',
    right: 'publish',
    subject: 'everything',
    summary: 'Begin no reruns for now',
    description: 'Those that run go on.',
  },
  resume: {
    ...changed,
    operationId: 'resumeRollout',
    right: 'publish',
    subject: 'everything',
    summary: 'Go on with a paused rollout',
  },
  rollback: {
    ...changed,
    operationId: 'rollBackRollout',
    right: 'publish',
    subject: 'everything',
    summary: 'Publish the earlier streams again',
    description:
      'Reruns that are active are cancelled. Each media whose stream is still the one of the rollout gets its earlier one back; `kept` counts the others.',
  },
  cancel: {
    ...changed,
    operationId: 'cancelRollout',
    right: 'publish',
    subject: 'everything',
    summary: 'End a rollout and keep what it made',
    description: 'Reruns that are active are cancelled.',
  },
};
