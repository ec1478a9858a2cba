import { apiVersion } from '#domain/kubernetes/custom-resource.ts';
import type { MediaJobSpec, MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import type { MediaProfileSpec, MediaProfileStatus } from '#domain/kubernetes/media-profile.ts';
import type { MediaRolloutSpec, MediaRolloutStatus } from '#domain/kubernetes/media-rollout.ts';
import type { RunnerPoolSpec, RunnerPoolStatus } from '#domain/kubernetes/runner-pool.ts';
import type { V1Job, V1Lease, V1Node, V1Pod, V1Secret, EventsV1Event } from '@kubernetes/client-node';

/** The metadata of every Kubernetes object as it is on the wire: times are RFC 3339 strings. */
export interface ObjectMeta {
  name?: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFields[];
}

/** The fields that one field manager owns; `fieldsV1` has a key `f:<name>` for each. */
export interface ManagedFields {
  manager?: string;
  operation?: string;
  subresource?: string;
  fieldsV1?: Record<string, unknown>;
}

/** The owner of an object: the garbage collector deletes the object after its owner. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** Any object. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

/** A page of a list; it has `metadata.continue` when more follow. */
export interface KubeList<T> {
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  items: T[];
}

/** One event of a watch. Errors are thrown instead; a bookmark has only a resource version. */
export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { type: 'BOOKMARK'; object: { metadata: { resourceVersion: string } } };

/** A kind of object and its address at the API server. */
export interface Resource<T extends KubeObject> {
  /** `v1` or `<group>/<version>`. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The name in paths, plural and lower case. */
  readonly plural: string;
  readonly isNamespaced: boolean;
  /** For the type checker alone: the type of the objects. */
  readonly example?: T;
}

/** Which object. A cluster-wide one has no namespace. */
export interface ObjectRef {
  namespace?: string | undefined;
  name: string;
}

/**
 * A type of `@kubernetes/client-node` as it is on the wire: times are strings, and names such as `continue` have no
 * underscore.
 */
export type Wire<T> = T extends Date
  ? string
  : T extends (infer U)[]
    ? Wire<U>[]
    : T extends object
      ? { [K in keyof T as K extends `_${infer Name}` ? Name : K]: Wire<T[K]> }
      : T;

/** `batch/v1` Jobs. */
export const jobs: Resource<Wire<V1Job>> = { apiVersion: 'batch/v1', kind: 'Job', plural: 'jobs', isNamespaced: true };

/** Pods. */
export const pods: Resource<Wire<V1Pod>> = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', isNamespaced: true };

/** Nodes. */
export const nodes: Resource<Wire<V1Node>> = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', isNamespaced: false };

/** Secrets; their `data` is base64. */
export const secrets: Resource<Wire<V1Secret>> = {
  apiVersion: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  isNamespaced: true,
};

/** `coordination.k8s.io/v1` Leases. */
export const leases: Resource<Wire<V1Lease>> = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
  isNamespaced: true,
};

/** `events.k8s.io/v1` Events. */
export const events: Resource<Wire<EventsV1Event>> = {
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  plural: 'events',
  isNamespaced: true,
};

/** A job as an object of Kubernetes. */
export interface MediaJob extends KubeObject {
  spec: MediaJobSpec;
  status?: MediaJobStatus;
}

/** Where runner pods are placed, and how many jobs run there at once. */
export interface RunnerPool extends KubeObject {
  spec: RunnerPoolSpec;
  status?: RunnerPoolStatus;
}

/** How streams are encoded, and of which sources. */
export interface MediaProfile extends KubeObject {
  spec: MediaProfileSpec;
  status?: MediaProfileStatus;
}

/** Streams that are made again by another profile. */
export interface MediaRollout extends KubeObject {
  spec: MediaRolloutSpec;
  status?: MediaRolloutStatus;
}

/** Our MediaJobs. */
export const mediaJobs: Resource<MediaJob> = { apiVersion, kind: 'MediaJob', plural: 'mediajobs', isNamespaced: true };

/** Our RunnerPools; they have a scale subresource over `spec.concurrency`. */
export const runnerPools: Resource<RunnerPool> = {
  apiVersion,
  kind: 'RunnerPool',
  plural: 'runnerpools',
  isNamespaced: true,
};

/** Our MediaProfiles. */
export const mediaProfiles: Resource<MediaProfile> = {
  apiVersion,
  kind: 'MediaProfile',
  plural: 'mediaprofiles',
  isNamespaced: true,
};

/** Our MediaRollouts. */
export const mediaRollouts: Resource<MediaRollout> = {
  apiVersion,
  kind: 'MediaRollout',
  plural: 'mediarollouts',
  isNamespaced: true,
};
