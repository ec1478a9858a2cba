import { isDeepStrictEqual } from 'node:util';
import { type MediaProfileStatus, outlineOf, readMediaProfile } from '#domain/kubernetes/media-profile.ts';
import type { ClusterProfile } from '#domain/media/cluster-profiles.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { EventRecorder } from '#platform/kubernetes/events.ts';
import { unlessDeleted } from '#platform/kubernetes/errors.ts';
import { type MediaProfile, mediaProfiles } from '#platform/kubernetes/objects.ts';
import { refOf } from '#platform/kubernetes/store.ts';
import type { Requeue, WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { ProfileStore } from '#platform/postgres/profile-store.ts';
import type { Caches } from '../cache/caches.ts';
import { timeOf } from '../plan/status.ts';
import { mayForget, type WholenessPorts } from '../pools/cluster-copy.ts';

/** The ports that the publication of profiles needs. */
export interface ProfilePorts extends WholenessPorts {
  readonly client: Pick<KubeClient, 'get' | 'mergePatch'>;
  readonly profiles: ProfileStore;
  readonly caches: Pick<Caches, 'pools' | 'profiles'>;
  /** Keys of MediaJobs that wait for a profile. */
  readonly profileWaiters: Set<string>;
  readonly workQueue: Pick<WorkQueue, 'add'>;
  readonly recorder: Pick<EventRecorder, 'record'>;
  readonly now: () => number;
}

/** A former leader may still write what it knew, and a database may be restored: both are corrected after this. */
const checkEveryMs = 60_000;
/** The definition allows more; a list of faults is read by people. */
const messageLengthMax = 2_000;

type Read = ReturnType<typeof readMediaProfile>;

/**
 * Copies the MediaProfiles to Postgres, from where jobs get them, reconciles the MediaJobs that wait for a profile, and
 * writes each status. A MediaProfile that became invalid keeps its last valid version.
 */
export async function publishProfiles(ports: ProfilePorts): Promise<Requeue> {
  const { caches, profiles, profileWaiters, workQueue } = ports;
  const before = await profiles.read();
  const all = [...caches.profiles.values()]
    .toSorted((a, b) => (profileName(a) < profileName(b) ? -1 : 1))
    .map((object) => {
      const read = readMediaProfile(profileName(object), object.spec);
      const inUse = 'entry' in read ? read.entry : before.find(({ profile }) => profile.name === profileName(object));
      return { object, read, inUse };
    });
  const wanted = all.flatMap(({ inUse = [] }) => inUse);
  const names = new Set(all.map(({ object }) => profileName(object)));
  const mayReplace = before.every(({ profile }) => names.has(profile.name)) || (await mayForget(ports));
  if (mayReplace && !isDeepStrictEqual(wanted, before)) await profiles.replace(wanted);
  for (const key of profileWaiters) workQueue.add(key);
  profileWaiters.clear();
  for (const { object, read, inUse } of all)
    await writeStatus(object, profileStatus(object, { read, inUse }, ports), ports);
  return { afterMs: checkEveryMs };
}

function profileName({ metadata }: MediaProfile): string {
  return metadata?.name ?? '';
}

function profileStatus(
  { metadata, status }: MediaProfile,
  { read, inUse }: { readonly read: Read; readonly inUse: ClusterProfile | undefined },
  { now }: ProfilePorts,
): MediaProfileStatus {
  const observedGeneration = metadata?.generation ?? 0;
  const isValid = 'entry' in read;
  const valid = isValid
    ? ({ status: 'True', reason: 'Valid', message: 'Jobs that are accepted from now on may get it.' } as const)
    : ({ status: 'False', reason: 'Invalid', message: faultsMessage(read.faults, inUse !== undefined) } as const);
  // `Ready` says the same to tools that know no other condition, such as kstatus of Flux and Argo CD.
  const conditions = ['Valid', 'Ready'].map((type) => {
    const before = status?.conditions?.find((one) => one.type === type);
    const lastTransitionTime = before?.status === valid.status ? before.lastTransitionTime : timeOf(now());
    return { type, observedGeneration, lastTransitionTime, ...valid };
  });
  return {
    observedGeneration,
    ...(inUse === undefined ? {} : outlineOf(inUse.profile)),
    conditions,
  };
}

function faultsMessage(faults: readonly string[], isInUse: boolean): string {
  const text = faults.join('; ').slice(0, messageLengthMax);
  return isInUse ? `${text}. The last valid version stays in use.` : text;
}

async function writeStatus(
  object: MediaProfile,
  status: MediaProfileStatus,
  { client, recorder }: ProfilePorts,
): Promise<void> {
  if (isDeepStrictEqual({ ...object.status, ...status }, object.status)) return;
  const [valid] = status.conditions ?? [];
  if (valid?.status === 'False') {
    const { apiVersion, kind } = mediaProfiles;
    const regarding = { ...object, apiVersion, kind };
    const { reason, message: note } = valid;
    recorder.record({ regarding, type: 'Warning', action: 'Publishing', reason, note });
  }
  const patch = { metadata: { uid: object.metadata?.uid ?? '' }, status };
  await client.mergePatch(mediaProfiles, refOf(object), patch, { subresource: 'status' }).catch(unlessDeleted);
}
