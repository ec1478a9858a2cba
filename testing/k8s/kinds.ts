import type { KubeObject, ObjectMeta, Resource } from '#platform/kubernetes/objects.ts';

export interface ConfigMap extends KubeObject {
  metadata: ObjectMeta;
  data?: Record<string, string>;
}

/** The plainest kind there is. */
export const configMaps: Resource<ConfigMap> = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  isNamespaced: true,
};

export const namespaces: Resource<KubeObject> = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  isNamespaced: false,
};

export const quotas: Resource<KubeObject & { spec: object; status?: { hard?: object } }> = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  isNamespaced: true,
};
