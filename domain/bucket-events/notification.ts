import { z } from 'zod';
import type { Fault } from '../errors.ts';
import { explain, faultsOf } from '../jobs/faults.ts';

/**
 * Notifications of a bucket: S3's own (`Records`, as Amazon, MinIO and Ceph send them, whose keys are URL-encoded), one
 * event of Amazon EventBridge, whose key is plain, and the message with which S3 tries a new destination.
 */

/** An event of an object. */
export interface BucketEvent {
  readonly bucket: string;
  readonly key: string;
  /** Differs for each version of an object: its version id, else its ETag, else the event's `sequencer`. */
  readonly version: string;
  readonly etag: string;
  /** Whether an object was created; every other event is ignored. */
  readonly isCreation: boolean;
}

/** Records of one notification. */
const recordsMax = 1_000;

const text = z.string().max(1024);
/** The names of S3's notifications and of EventBridge. */
const objectSchema = z.object({
  key: z.string().min(1).max(4096),
  versionId: text.optional(),
  'version-id': text.optional(),
  eTag: text.optional(),
  etag: text.optional(),
  sequencer: text.optional(),
});
type NotifiedObject = z.output<typeof objectSchema>;

const recordSchema = z.object({
  eventName: z.string().max(256),
  s3: z.object({ bucket: z.object({ name: text }), object: objectSchema }),
});
const recordsSchema = z.object({ Records: z.array(recordSchema).max(recordsMax) });
const bridgeSchema = z.object({
  source: z.literal('aws.s3'),
  'detail-type': z.string().max(256),
  detail: z.object({ bucket: z.object({ name: text }), object: objectSchema }),
});
const testSchema = z.object({ Event: z.literal('s3:TestEvent') });

/** The events of a notification, or every fault of it. */
export function readNotification(
  body: unknown,
): { readonly events: readonly BucketEvent[] } | { readonly faults: readonly Fault[] } {
  if (testSchema.safeParse(body).success) return { events: [] };
  const isBridge = typeof body === 'object' && body !== null && 'detail' in body;
  return isBridge ? readBridge(body) : readRecords(body);
}

function readBridge(body: unknown) {
  const { data, error } = bridgeSchema.safeParse(body, { error: explain });
  if (data === undefined) return { faults: faultsOf(error) };
  const { bucket, object } = data.detail;
  const event = eventOf(bucket.name, object.key, object);
  return { events: [{ ...event, isCreation: data['detail-type'] === 'Object Created' }] };
}

function readRecords(body: unknown) {
  const { data, error } = recordsSchema.safeParse(body, { error: explain });
  if (data === undefined) return { faults: faultsOf(error) };
  const faults: Fault[] = [];
  const events = data.Records.flatMap(({ eventName, s3: { bucket, object } }, index): BucketEvent[] => {
    const key = decodeKey(object.key);
    if (key === null)
      faults.push({
        pointer: `/Records/${index}/s3/object/key`,
        code: 'invalid_value',
        detail: 'must be URL-encoded, as S3 sends keys',
      });
    const event = eventOf(bucket.name, key ?? '', object);
    return [{ ...event, isCreation: /^(?:s3:)?ObjectCreated:/.test(eventName) }];
  });
  return faults.length > 0 ? { faults } : { events };
}

function eventOf(bucket: string, key: string, object: NotifiedObject) {
  const etag = (object.eTag ?? object.etag ?? '').replaceAll('"', '');
  const versionId = object.versionId ?? object['version-id'];
  const version = [versionId, etag, object.sequencer].find((one) => one !== undefined && one !== '' && one !== 'null');
  return { bucket, key, etag, version: version ?? '' };
}

function decodeKey(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    return null;
  }
}
