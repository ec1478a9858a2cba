import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { apiGroup } from '#domain/kubernetes/custom-resource.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { labels } from '../snapshots/names.ts';

const annotation = `${apiGroup}/mark`;

/**
 * The ownership signature of the MediaJobs that a controller created. Without an admission policy, anyone who may
 * create MediaJobs could create one with the name and the label of another's job; a label without the signature is
 * ignored (docs/decisions/0071).
 *
 * Only the controller may write the status, which names the job too: so a MediaJob of a version without signatures is
 * recognised by its status.
 */
export class OwnMark {
  readonly #keys: readonly Buffer[];

  /** The first of the keys marks, each of them is accepted. */
  constructor(encryptionKeys: readonly string[]) {
    this.#keys = encryptionKeys.map((key) => Buffer.from(hkdfSync('sha256', key, '', 'media-jobs/v1', 32)));
  }

  /** The annotations of a job's MediaJob. */
  annotationsFor(jobId: string): Record<string, string> {
    return { [annotation]: this.#marksOf(jobId)[0]?.toString('base64url') ?? '' };
  }

  /** The MediaJob, without the labels of the controller if a stranger set them. */
  withoutForgedLabels<T extends MediaJob>(mediaJob: T): T {
    const { metadata, status } = mediaJob;
    const jobId = metadata?.labels?.[labels.jobId];
    if (jobId === undefined || status?.jobId === jobId) return mediaJob;
    const mark = Buffer.from(metadata?.annotations?.[annotation] ?? '', 'base64url');
    const isOwn = this.#marksOf(jobId).some((own) => own.length === mark.length && timingSafeEqual(own, mark));
    if (isOwn) return mediaJob;
    const others = Object.entries(metadata?.labels ?? {}).filter(([name]) => !name.startsWith(`${apiGroup}/`));
    return { ...mediaJob, metadata: { ...metadata, labels: Object.fromEntries(others) } };
  }

  #marksOf(jobId: string): Buffer[] {
    return this.#keys.map((key) => createHmac('sha256', key).update(jobId).digest());
  }
}
