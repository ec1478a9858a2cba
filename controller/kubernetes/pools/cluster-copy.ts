import { isDeepStrictEqual } from 'node:util';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { mediaProfiles, type RunnerPool, runnerPools } from '#platform/kubernetes/objects.ts';
import type { ClusterPool, PoolStore } from '#platform/postgres/pool-store.ts';
import type { ProfileStore } from '#platform/postgres/profile-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Caches } from '../cache/caches.ts';
import { aliveSinceMs } from '../reconcile/deleted.ts';
import { isSizedByOthers } from './pool-size.ts';

/*
 * MediaProfiles and RunnerPools are what people keep in etcd. Postgres has a copy of them, for a cluster that is
 * rebuilt or a namespace that was deleted: a cluster without any pool of the settings gets every missing object again
 * before those pools are created. So the pools of the settings are the mark of a cluster that is whole; without them,
 * and while the namespace is being deleted, nothing is taken out of the copy.
 */

/** The ports that show whether a cluster is whole. */
export interface WholenessPorts {
  readonly client: Pick<KubeClient, 'get'>;
  readonly caches: Pick<Caches, 'pools'>;
  /** The RunnerPools of the settings. */
  readonly pools: Readonly<Record<string, RunnerPoolSpec>>;
  readonly runnerNamespace: string;
}

export interface ClusterCopyPorts extends WholenessPorts {
  readonly client: Pick<KubeClient, 'apply' | 'create' | 'get'>;
  readonly profiles: Pick<ProfileStore, 'read'>;
  readonly poolCopy: PoolStore;
  readonly log: Logger;
}

/** Owns the size of a pool that was scaled before its cluster was rebuilt, so that the settings leave it alone. */
const restoreManager = 'reelwright-restored';

/** Makes what the copy has again if the cluster has no pool of the settings; what exists stays as it is. */
export async function restoreCluster(ports: ClusterCopyPorts): Promise<void> {
  const { client, profiles, poolCopy, pools, runnerNamespace: namespace, log } = ports;
  if (ownPools(ports).some((pool) => pool !== undefined)) return;
  const [wantedProfiles, { pools: wantedPools }] = await Promise.all([profiles.read(), poolCopy.read()]);
  if (wantedProfiles.length + wantedPools.length === 0) return;
  for (const { profile, rules } of wantedProfiles) {
    const { name, ...document } = profile;
    const spec = { ...document, rules };
    await client.create(mediaProfiles, { metadata: { namespace, name }, spec }).catch(unlessExists);
  }
  for (const { name, spec } of wantedPools) {
    const object = { metadata: { namespace, name }, spec };
    if (name in pools) await client.apply(runnerPools, object, { manager: restoreManager });
    else await client.create(runnerPools, object).catch(unlessExists);
  }
  log.warn(
    { profiles: wantedProfiles.length, pools: wantedPools.length },
    'profiles and pools of the cluster restored',
  );
}

/** Copies the pools that were made or scaled by hand, and the names of all. */
export async function copyPools(ports: ClusterCopyPorts): Promise<void> {
  const { caches, poolCopy, pools } = ports;
  const all = [...caches.pools.values()].toSorted((a, b) => (poolName(a) < poolName(b) ? -1 : 1));
  const wanted = { pools: all.flatMap((pool) => copyOf(pool, pools)), known: all.map(poolName) };
  const before = await poolCopy.read();
  if (isDeepStrictEqual(wanted, before)) return;
  const copied = new Set(wanted.pools.map(({ name }) => name));
  const isKept = ({ name }: ClusterPool) => copied.has(name);
  const isWhole = before.pools.every(isKept) && before.known.every((name) => wanted.known.includes(name));
  if (isWhole || (await mayForget(ports))) await poolCopy.replace(wanted);
}

/** Whether an object that the copy has and the cluster has not was deleted by itself, and not with everything. */
export async function mayForget(ports: WholenessPorts): Promise<boolean> {
  return ownPools(ports).every((pool) => pool !== undefined) && (await aliveSinceMs(ports)) !== null;
}

function ownPools({ caches, pools, runnerNamespace }: Omit<WholenessPorts, 'client'>) {
  return Object.keys(pools).map((name) => caches.pools.get(runnerNamespace, name));
}

function poolName({ metadata }: RunnerPool): string {
  return metadata?.name ?? '';
}

function copyOf(pool: RunnerPool, settings: ClusterCopyPorts['pools']): ClusterPool[] {
  const { spec } = pool;
  const name = poolName(pool);
  if (!(name in settings)) return [{ name, spec }];
  return isSizedByOthers(pool) ? [{ name, spec: { concurrency: spec.concurrency } }] : [];
}

/** Someone applied it first. */
function unlessExists(error: unknown): void {
  if (!hasReason(error, 'AlreadyExists')) throw error;
}
