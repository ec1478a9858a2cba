import { isDeepStrictEqual } from 'node:util';
import { KnownProblem } from '#domain/errors.ts';
import type { Condition } from '#domain/kubernetes/custom-resource.ts';
import {
  type MediaRolloutStatus,
  outlineOfRollout,
  type ReadRollout,
  readMediaRollout,
} from '#domain/kubernetes/media-rollout.ts';
import { activeStatuses, isBeginning, type Rollout, type RolloutStatus } from '#domain/rollouts/rollout.ts';
import { createRollout, type CreateRolloutDependencies } from '#jobs/rollouts/create-rollout.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { unlessDeleted } from '#platform/kubernetes/errors.ts';
import type { EventRecorder } from '#platform/kubernetes/events.ts';
import { type MediaRollout, mediaRollouts } from '#platform/kubernetes/objects.ts';
import { refOf } from '#platform/kubernetes/store.ts';
import type { Requeue } from '#platform/kubernetes/work-queue.ts';
import type { RolloutStore } from '#platform/postgres/rollout-store.ts';
import type { Caches } from '../cache/caches.ts';
import { timeOf } from '../plan/status.ts';
import { mayForget, type WholenessPorts } from '../pools/cluster-copy.ts';
import { aliveSinceMs } from '../reconcile/deleted.ts';
import { type Acceptance, rolloutConditions } from './rollout-conditions.ts';

/** The ports that the reflection of MediaRollouts needs. */
export interface RolloutPorts extends Omit<CreateRolloutDependencies, 'rollouts'>, WholenessPorts {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly rollouts: RolloutStore;
  readonly caches: Pick<Caches, 'pools' | 'rollouts'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly now: () => number;
}

const whileActiveMs = 3_000;
const otherwiseMs = 60_000;

/**
 * Makes a rollout of each MediaRollout, passes on what its spec asks for, and writes its state into the status. A
 * rollout whose MediaRollout was deleted by itself, and not with its cluster or namespace, is cancelled. One that
 * cannot be reflected delays no other.
 *
 * @throws what kept the first of them from being reflected
 */
export async function reflectRollouts(ports: RolloutPorts): Promise<Requeue> {
  const objects = [...ports.caches.rollouts.values()];
  const uids = new Set(objects.map(({ metadata }) => metadata?.uid ?? ''));
  for (const id of await deletedByThemselves(uids, ports))
    await ports.rollouts.move(id, 'cancelling', { reason: 'Its MediaRollout was deleted.' });
  let isActive = false;
  const errors: unknown[] = [];
  for (const object of objects) {
    try {
      const acceptance = await accept(object, ports);
      isActive ||= acceptance.rollout !== null && isUnfinished(acceptance.rollout);
      await writeStatus(object, rolloutStatus(object, acceptance, ports.now()), ports);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
  return { afterMs: isActive ? whileActiveMs : otherwiseMs };
}

/**
 * The active rollouts whose MediaRollouts are missing, but for those that were begun before the namespace: their
 * objects went with one that had its name.
 */
async function deletedByThemselves(uids: ReadonlySet<string>, ports: RolloutPorts): Promise<string[]> {
  const missing = (await ports.rollouts.ofResources()).filter(({ id }) => !uids.has(id));
  if (missing.length === 0 || !(await mayForget(ports))) return [];
  const sinceMs = await aliveSinceMs(ports);
  return missing.flatMap(({ id, createdAt }) => (sinceMs === null || createdAt.getTime() < sinceMs ? [] : [id]));
}

function isUnfinished({ status }: Rollout): boolean {
  return (activeStatuses as readonly RolloutStatus[]).includes(status);
}

async function accept({ metadata, spec }: MediaRollout, ports: RolloutPorts): Promise<Acceptance> {
  const id = metadata?.uid ?? '';
  const before = await ports.rollouts.find(id);
  const read = readMediaRollout(spec);
  if ('faults' in read) return { rollout: before, reason: 'Invalid', message: read.faults.join('; ') };
  try {
    const resource = `${metadata?.namespace}/${metadata?.name}`;
    const rollout = before ?? (await createRollout(ports, { id, spec: read.spec, resource })).rollout;
    const now = await follow(rollout, read, ports);
    return isDeepStrictEqual(now.spec, read.spec)
      ? { rollout: now, reason: 'Accepted', message: 'Workers make it.' }
      : { rollout: now, reason: 'SpecChanged', message: 'It began otherwise: only paused and rollback may change.' };
  } catch (error) {
    if (!(error instanceof KnownProblem) || error.details.faults === undefined) throw error;
    const faults = error.details.faults.map(({ pointer, detail }) => `spec${pointer.replaceAll('/', '.')}: ${detail}`);
    return { rollout: before, reason: 'Invalid', message: faults.join('; ') };
  }
}

/** Rolls back, pauses or resumes, as the object asks. */
async function follow(rollout: Rollout, read: ReadRollout, { rollouts }: RolloutPorts): Promise<Rollout> {
  const { id, isPaused } = rollout;
  if (read.isRolledBack) await rollouts.move(id, 'rolling_back', { reason: 'Its MediaRollout asks for a rollback.' });
  else if (isBeginning(rollout) && isPaused !== read.isPaused) await rollouts.setPaused(id, read.isPaused);
  else return rollout;
  return (await rollouts.find(id)) ?? rollout;
}

function rolloutStatus({ metadata, status }: MediaRollout, acceptance: Acceptance, nowMs: number): MediaRolloutStatus {
  const observedGeneration = metadata?.generation ?? 0;
  const conditions = Object.entries(rolloutConditions(acceptance)).map(([type, fields]): Condition => {
    const before = status?.conditions?.find((one) => one.type === type);
    const lastTransitionTime = before?.status === fields.status ? before.lastTransitionTime : timeOf(nowMs);
    return { type, observedGeneration, lastTransitionTime, ...fields };
  });
  const { rollout } = acceptance;
  return { observedGeneration, ...(rollout === null ? {} : outlineOfRollout(rollout)), conditions };
}

async function writeStatus(
  object: MediaRollout,
  status: MediaRolloutStatus,
  { client, recorder }: RolloutPorts,
): Promise<void> {
  if (isDeepStrictEqual({ ...object.status, ...status }, object.status)) return;
  const patch = { metadata: { uid: object.metadata?.uid ?? '' }, status };
  await client.mergePatch(mediaRollouts, refOf(object), patch, { subresource: 'status' }).catch(unlessDeleted);
  const { apiVersion, kind } = mediaRollouts;
  for (const { reason, message, type } of endsOf(object, status)) {
    const note = message === '' ? 'Every media that was chosen has been made.' : message;
    const event = { type: type === 'Failed' ? 'Warning' : 'Normal', action: 'RollingOut', reason, note } as const;
    recorder.record({ regarding: { ...object, apiVersion, kind }, ...event });
  }
}

/** The conditions of an end that the object did not show before. */
function endsOf({ status: before }: MediaRollout, { conditions = [] }: MediaRolloutStatus): Condition[] {
  const isShown = ({ type, status }: Condition) =>
    before?.conditions?.some((one) => one.type === type && one.status === status) === true;
  return conditions.filter((one) => one.type !== 'Accepted' && one.status === 'True' && !isShown(one));
}
