import type { MediaJobSpec, MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import { release } from './release.ts';

// The fields of objects from `kubectl -o json` that the tests read.

interface Metadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
}

export interface MediaJobObject {
  readonly metadata: Metadata;
  readonly spec: MediaJobSpec;
  readonly status?: MediaJobStatus;
}

interface ContainerStatus {
  readonly name: string;
  readonly containerID?: string;
  readonly state?: {
    readonly running?: object;
    readonly waiting?: { readonly reason: string };
    readonly terminated?: { readonly reason: string; readonly exitCode: number };
  };
}

export interface PodObject {
  readonly metadata: Metadata;
  readonly spec: {
    readonly nodeName?: string;
    readonly containers: readonly { readonly name: string }[];
    readonly initContainers?: readonly { readonly name: string }[];
    readonly automountServiceAccountToken?: boolean;
  };
  readonly status: {
    readonly phase: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

export interface List<T> {
  readonly items: readonly T[];
}

/** A MediaJob in the runners' namespace, for `kubectl apply`. */
export function mediaJobManifest(name: string, spec: object): object {
  return {
    apiVersion: 'reelwright.dev/v1alpha1',
    kind: 'MediaJob',
    metadata: { name, namespace: release.runners },
    spec,
  };
}
