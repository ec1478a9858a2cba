import { KnownProblem } from '#domain/errors.ts';
import { isListedHost } from '#domain/imports/hosts.ts';
import { type Import, nameOfUrl } from '#domain/imports/import.ts';
import { partSizeOf } from '#domain/uploads/part-plan.ts';
import { uploadKey } from '#domain/uploads/upload-key.ts';
import type { ImportSettings } from '#platform/config/import-settings.ts';
import type { UploadSettings } from '#platform/config/upload-settings.ts';
import { isKnownToBeAllowed } from '#platform/outbound-http/callback-address.ts';
import type { ImportStore } from '#platform/postgres/import-store.ts';

interface BeginDependencies {
  readonly settings: ImportSettings;
  /** The settings of the bucket that imports go to. */
  readonly bucket: Pick<UploadSettings, 'prefix' | 'openMax'>;
  readonly rows: ImportStore;
  readonly randomUuid: () => string;
}

/** A file as its caller names it. */
interface WantedFile extends Pick<Import, 'keyId' | 'url' | 'sha256'>, Partial<Pick<Import, 'title'>> {
  /** Null: the last segment of the address. */
  readonly name: string | null;
}

/** An import that no worker came to begin in this time fails. */
const waitMsMax = 7 * 86_400_000;

/**
 * Begins an import, which a worker carries out.
 *
 * @throws KnownProblem `invalid_request` for a host that is not listed, and for a literal address that is refused;
 *   `rate_limited` when the API key has too many open imports
 */
export async function beginImport(
  { settings, bucket, rows, randomUuid }: BeginDependencies,
  file: WantedFile,
): Promise<Import> {
  const url = new URL(file.url);
  if (!isListedHost(url, settings.hosts))
    throw refusal('host_not_allowed', 'must lead to a host that IMPORT_HOSTS of this service names');
  if (!isKnownToBeAllowed(url, settings.allowedCidrs))
    throw refusal('address_refused', 'must lead to a public address or to a network that IMPORT_ALLOWED_CIDRS names');
  const id = randomUuid();
  const name = file.name ?? nameOfUrl(file.url);
  const begun = await rows.insert(
    {
      ...file,
      id,
      name,
      source: uploadKey(bucket.prefix, id, name),
      // Its size is not known yet: parts in which the largest one fits.
      partSizeBytes: partSizeOf(settings.bytesMax),
    },
    { openMax: bucket.openMax, waitMsMax },
  );
  if (begun !== null) return begun;
  const detail = `At most ${bucket.openMax} imports are open at once; wait for their end or cancel some.`;
  throw new KnownProblem('rate_limited', detail);
}

function refusal(code: string, detail: string): KnownProblem {
  return new KnownProblem('invalid_request', undefined, { faults: [{ pointer: '/url', code, detail }] });
}

/**
 * Cancels an import: the row is the decision, and the worker removes what is stored. Whether this call changed it.
 *
 * @throws KnownProblem `not_found`; `conflict` when it has completed
 */
export async function cancelImport({ rows }: Pick<BeginDependencies, 'rows'>, id: string): Promise<boolean> {
  const found = await rows.find(id);
  if (found === null) throw new KnownProblem('not_found', 'There is no such import.');
  if (await rows.cancel(found)) return true;
  const { status } = (await rows.find(id)) ?? found;
  if (status === 'completed')
    throw new KnownProblem('conflict', 'The import has completed: its object is a source now.');
  return false;
}
