import { z } from 'zod';
import type { Fault } from '../errors.ts';
import { explain, faultsOf } from '../jobs/faults.ts';

/**
 * Notifications of a bucket: S3's own (`Records`, as Amazon, MinIO and Ceph send them, whose keys are URL-encoded), one
 * event of Amazon EventBridge, whose key is plain, and the message with which S3 tries a new destination. Amazon SNS
 * puts each of them as text into an envelope of its own.
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

/** A record that is no event of an object. It leaves the others alone. */
export interface UnreadableRecord {
  /** As it came; empty where it has none. */
  readonly key: string;
  /** The fields that are wrong, and how. */
  readonly fault: string;
}

/** A topic of Amazon SNS asks whether it may send here. Its address is for a person to open, never for the service. */
export interface SubscriptionRequest {
  readonly topic: string;
  /** Null where the address is not Amazon's. */
  readonly confirmUrl: string | null;
}

export type ReadNotification =
  | { readonly events: readonly (BucketEvent | UnreadableRecord)[] }
  | { readonly subscription: SubscriptionRequest }
  | { readonly faults: readonly Fault[] };

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
const recordsSchema = z.object({ Records: z.array(z.unknown()).max(recordsMax) });
const keyOfRecord = z.object({ s3: z.object({ object: z.object({ key: z.string().max(4096) }) }) });
const bridgeSchema = z.object({
  source: z.literal('aws.s3'),
  'detail-type': z.string().max(256),
  detail: z.object({ bucket: z.object({ name: text }), object: objectSchema }),
});
const testSchema = z.object({ Event: z.literal('s3:TestEvent') });
const envelopeSchema = z.object({ Type: z.literal('Notification'), TopicArn: text, Message: z.string() });
const subscriptionSchema = z.object({
  Type: z.enum(['SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  TopicArn: text,
  SubscribeURL: z.string().max(4096),
});

/** Reads a notification, or names every fault of the whole; a record that is wrong is one of its events. */
export function readNotification(body: unknown): ReadNotification {
  const { data: subscription } = subscriptionSchema.safeParse(body);
  if (subscription !== undefined)
    return { subscription: { topic: subscription.TopicArn, confirmUrl: urlOfAmazon(subscription.SubscribeURL) } };
  const { data: envelope } = envelopeSchema.safeParse(body);
  if (envelope === undefined) return readPlain(body);
  const message = parsed(envelope.Message);
  if (message !== null) return readPlain(message);
  return {
    faults: [{ pointer: '/Message', code: 'invalid_value', detail: 'must be the JSON of a notification of S3' }],
  };
}

function parsed(message: string): unknown {
  try {
    return JSON.parse(message) as unknown;
  } catch {
    return null;
  }
}

function urlOfAmazon(address: string): string | null {
  const url = URL.parse(address);
  return url?.protocol === 'https:' && /\.amazonaws\.com(?:\.cn)?$/.test(url.hostname) ? url.href : null;
}

function readPlain(body: unknown): Exclude<ReadNotification, { subscription: unknown }> {
  if (testSchema.safeParse(body).success) return { events: [] };
  const isBridge = typeof body === 'object' && body !== null && 'detail' in body;
  return isBridge ? readBridge(body) : readRecords(body);
}

function readBridge(body: unknown) {
  const { data, error } = bridgeSchema.safeParse(body, { error: explain });
  if (data === undefined) return { faults: faultsOf(error) };
  const { bucket, object } = data.detail;
  const event = bucketEvent(bucket.name, object.key, object);
  return { events: [{ ...event, isCreation: data['detail-type'] === 'Object Created' }] };
}

function readRecords(body: unknown) {
  const { data, error } = recordsSchema.safeParse(body, { error: explain });
  if (data === undefined) return { faults: faultsOf(error) };
  return { events: data.Records.map((record, index) => readRecord(record, `/Records/${index}`)) };
}

function readRecord(record: unknown, pointer: string): BucketEvent | UnreadableRecord {
  const { data, error } = recordSchema.safeParse(record, { error: explain });
  if (data === undefined) {
    const faults = faultsOf(error).map((fault) => `${pointer}${fault.pointer} ${fault.detail}`);
    return { key: keyOfRecord.safeParse(record).data?.s3.object.key ?? '', fault: faults.join('; ') };
  }
  const { bucket, object } = data.s3;
  const key = decodeKey(object.key);
  if (key === null) return { key: object.key, fault: `${pointer}/s3/object/key must be URL-encoded, as S3 sends keys` };
  return { ...bucketEvent(bucket.name, key, object), isCreation: /^(?:s3:)?ObjectCreated:/.test(data.eventName) };
}

function bucketEvent(bucket: string, key: string, object: NotifiedObject) {
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
