import { type ApiKey, ownsSource, requireHash, sourceRefused } from '#domain/keys/api-key.ts';
import type { Submission } from '#domain/jobs/submission.ts';
import type { OwnerStore } from '#platform/postgres/owner-store.ts';

type Owned = Pick<Submission, 'hash' | 'source'>;

/**
 * For each submission why the key may not make it, or null: its hash must be below the key's prefix, and its source
 * too, or be a file that an upload or import of the key stored.
 */
export async function refusalsOf(
  key: ApiKey | null,
  submissions: readonly Owned[],
  owners: OwnerStore,
): Promise<readonly unknown[]> {
  if (key === null) return submissions.map(() => null);
  const others = submissions.map(({ source }) => source).filter((source) => !ownsSource(key, source));
  const stored = others.length === 0 ? new Set<string>() : await owners.storedBy(key.id, others);
  return submissions.map(({ hash, source }) => {
    try {
      requireHash(key, hash);
    } catch (error) {
      return error;
    }
    return ownsSource(key, source) || stored.has(source) ? null : sourceRefused(key);
  });
}
