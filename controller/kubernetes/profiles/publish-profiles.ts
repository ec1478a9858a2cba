import { isDeepStrictEqual } from 'node:util';
import { type MediaProfileStatus, outlineOf, readMediaProfile } from '#domain/kubernetes/media-profile.ts';
import type { ClusterProfile } from '#domain/media/cluster-profiles.ts';
import { type MediaProfile, mediaProfiles } from '#platform/kubernetes/objects.ts';
import type { Requeue } from '#platform/kubernetes/work-queue.ts';
import type { LeaderContext } from '../leader-context.ts';
import { timeOf } from '../reconcile/status.ts';
import { refOf, unlessDeleted } from '../reconcile/write-status.ts';

/** A former leader may still write what it knew, and a database may be restored: both are corrected after this. */
const checkEveryMs = 60_000;
/** The definition allows more; a list of faults is read by people. */
const messageLengthMax = 2_000;

type Read = ReturnType<typeof readMediaProfile>;

/**
 * Copies the MediaProfiles to Postgres, where jobs get theirs, then reconciles the MediaJobs that wait for a profile, and
 * shows in each status what became of it. A MediaProfile that is not valid any more keeps its last valid version.
 */
export async function publishProfiles(context: LeaderContext): Promise<Requeue> {
  const { caches, dependencies, profileWaiters, queue } = context;
  const before = await dependencies.profiles.read();
  const all = [...caches.profiles.values()]
    .toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
    .map((object) => {
      const read = readMediaProfile(nameOf(object), object.spec);
      const inUse = 'entry' in read ? read.entry : before.find(({ profile }) => profile.name === nameOf(object));
      return { object, read, inUse };
    });
  const wanted = all.flatMap(({ inUse = [] }) => inUse);
  if (!isDeepStrictEqual(wanted, before)) await dependencies.profiles.replace(wanted);
  for (const key of profileWaiters) queue.add(key);
  profileWaiters.clear();
  for (const { object, read, inUse } of all)
    await writeStatus(object, statusOf(object, { read, inUse }, context), context);
  return { afterMs: checkEveryMs };
}

function nameOf({ metadata }: MediaProfile): string {
  return metadata?.name ?? '';
}

function statusOf(
  { metadata, status }: MediaProfile,
  { read, inUse }: { readonly read: Read; readonly inUse: ClusterProfile | undefined },
  { now }: LeaderContext,
): MediaProfileStatus {
  const observedGeneration = metadata?.generation ?? 0;
  const isValid = 'entry' in read;
  const valid = isValid
    ? ({ status: 'True', reason: 'Valid', message: 'Jobs that are accepted from now on may get it.' } as const)
    : ({ status: 'False', reason: 'Invalid', message: messageOf(read.faults, inUse !== undefined) } as const);
  const before = status?.conditions?.find(({ type }) => type === 'Valid');
  const lastTransitionTime = before?.status === valid.status ? before.lastTransitionTime : timeOf(now());
  return {
    observedGeneration,
    ...(inUse === undefined ? {} : outlineOf(inUse.profile)),
    conditions: [{ type: 'Valid', observedGeneration, lastTransitionTime, ...valid }],
  };
}

function messageOf(faults: readonly string[], isInUse: boolean): string {
  const text = faults.join('; ').slice(0, messageLengthMax);
  return isInUse ? `${text}. The last valid version stays in use.` : text;
}

async function writeStatus(object: MediaProfile, status: MediaProfileStatus, { client }: LeaderContext): Promise<void> {
  if (isDeepStrictEqual({ ...object.status, ...status }, object.status)) return;
  const patch = { metadata: { uid: object.metadata?.uid ?? '' }, status };
  await client.mergePatch(mediaProfiles, refOf(object), patch, { subresource: 'status' }).catch(unlessDeleted);
}
