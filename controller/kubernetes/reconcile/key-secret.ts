import type { Job } from '#domain/jobs/job.ts';
import { runnerVariables } from '#domain/work/steps.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { type MediaJob, mediaJobs, secrets } from '#platform/kubernetes/objects.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { keySecretName, labels } from '../snapshots/names.ts';

interface KeySecretPorts {
  readonly client: Pick<KubeClient, 'create' | 'delete'>;
  readonly contentKeys: Pick<ContentKeyStore, 'findOrCreate'>;
}

/** Creates the immutable Secret with the content key for `publish`; it is deleted with the attempt. */
export async function createKeySecret(
  mediaJob: MediaJob,
  row: Job,
  { client, contentKeys }: KeySecretPorts,
): Promise<void> {
  // The process that concluded an earlier attempt may have died before it deleted that attempt's key.
  await deleteKeySecrets(mediaJob, { id: row.id, attempt: row.attempt - 1 }, { client });
  const { kid, key } = await contentKeys.findOrCreate(row.hash);
  const { apiVersion, kind } = mediaJobs;
  const { name = '', namespace = '', uid = '' } = mediaJob.metadata ?? {};
  const secret = {
    metadata: {
      namespace,
      name: keySecretName(row),
      labels: { [labels.jobId]: row.id, [labels.attempt]: String(row.attempt) },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    immutable: true,
    type: 'Opaque',
    data: { [runnerVariables.contentKey]: Buffer.from(`${kid}:${key.toString('hex')}`).toString('base64') },
  };
  await client.create(secrets, secret).catch((error: unknown) => {
    if (!hasReason(error, 'AlreadyExists')) throw error;
  });
}

/** How many earlier attempts may still have a key: each new attempt deletes the keys before its own. */
const attemptsBack = 3;

/**
 * Deletes the keys of an attempt and of the last ones before it, by name, since the controller may not list Secrets.
 * Other keys are deleted with their MediaJob.
 */
export async function deleteKeySecrets(
  { metadata }: MediaJob,
  { id, attempt: last }: Pick<Job, 'id' | 'attempt'>,
  { client }: Pick<KeySecretPorts, 'client'>,
): Promise<void> {
  for (let attempt = last; attempt >= Math.max(1, last - attemptsBack); attempt -= 1) {
    const ref = { namespace: metadata?.namespace, name: keySecretName({ id, attempt }) };
    await client.delete(secrets, ref).catch((error: unknown) => {
      if (!hasReason(error, 'NotFound')) throw error;
    });
  }
}
