import { randomBytes } from 'node:crypto';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { openObjectStore } from '#platform/storage/open.ts';
import { type Outage, playThroughOutage, segmentKeys, viewerCount } from '../../testing/away-bucket.ts';

// What players see while the media bucket is away for half a minute: the figures of docs/guides/failure.md, printed.

const bucket = `away-${randomBytes(4).toString('hex')}`;
const mebibyte = 1024 * 1024;
const segmentBytes = mebibyte / 8;
/** `MEDIA_S3_TIMEOUT`, and what a busy machine adds. */
const waitMsMax = 30_000 + 5_000;
const s3 = inject('s3');

describe.skipIf(s3 === null).concurrent('a media bucket that is away for half a minute', () => {
  beforeAll(fillBucket, 120_000);

  // The bucket answers the requests that still wait for it when it is back.
  it.for([
    ['refuses connections', 'cut', [500]],
    ['never answers', 'silent', [200, 206, 404, 500, 503]],
  ] as const)(
    'C17.22, C17.40: while the media bucket %s a server plays what it has, fails the rest in time, and then goes on',
    { timeout: 240_000 },
    async ([what, state, patient]) => {
      if (s3 === null) return;
      const outage = await playThroughOutage(s3, { bucket, state });
      const figures = figuresOf(outage);
      process.stdout.write(`  a media bucket that ${what}: ${JSON.stringify(figures)}\n`);

      expect(new Set(outage.hot.map(({ status }) => status))).toEqual(new Set([200]));
      for (const { status } of outage.patient) expect(patient).toContain(status);
      expect(figures.longestPatientMs).toBeLessThan(waitMsMax);
      // What the viewers were answered; `UND_ERR_SOCKET` is a response that was cut off midway.
      for (const outcome of Object.keys(figures.requests))
        expect(['200', '500', 'timeout', 'UND_ERR_SOCKET']).toContain(outcome);
      expect(outage.peak.memoryBytes - outage.before.memoryBytes).toBeLessThan(150 * mebibyte);
      // A connection of each viewer, and one to the bucket for what they wait for.
      expect(outage.peak.descriptors).toBeLessThan(2 * viewerCount + 300);

      expect(new Set(outage.probes)).toEqual(new Set([503]));
      expect(outage.readyAfterMs).toBeLessThan(10_000);
      expect(outage.servedAfterMs).toBeLessThan(10_000);
      // A player asks again after at most eight seconds, and waits for ten; a busy machine adds to it.
      expect(figures.lastResumedMs).toBeLessThan(25_000);
      // An object is requested once, however many wait for it.
      expect(outage.requestsOfReturn).toBeLessThan(viewerCount);
      expect(figures.gaveUp).toBe(0);
    },
  );
});

const mostOf = (figures: readonly number[]) => Math.round(Math.max(...figures));

function figuresOf({ viewings, awayAtMs, backAtMs, hot, patient, before, peak, ...rest }: Outage) {
  const whileAway = viewings
    .flatMap(({ requests }) => requests)
    .filter(({ startedAtMs, endedAtMs }) => endedAtMs > awayAtMs && startedAtMs < backAtMs);
  const resumedAtMs = viewings.map(
    ({ requests }) =>
      requests.find(({ endedAtMs, outcome }) => endedAtMs > backAtMs && outcome === '200')?.endedAtMs ?? Infinity,
  );
  const stalls = viewings.map(({ stalledMs }) => stalledMs);
  return {
    requests: countBy(whileAway.map(({ outcome }) => outcome)),
    longestMs: mostOf(whileAway.map(({ startedAtMs, endedAtMs }) => endedAtMs - startedAtMs)),
    longestHotMs: mostOf(hot.map(({ ms }) => ms)),
    longestPatientMs: mostOf(patient.map(({ ms }) => ms)),
    memoryMiB: [before, peak].map(({ memoryBytes }) => Math.round(memoryBytes / mebibyte)),
    descriptors: [before, peak].map(({ descriptors }) => descriptors),
    servedAfterMs: Math.round(rest.servedAfterMs),
    lastResumedMs: mostOf(resumedAtMs) - Math.round(backAtMs),
    requestsOfReturn: rest.requestsOfReturn,
    readyAfterMs: Math.round(rest.readyAfterMs),
    stalledViewers: stalls.filter((ms) => ms > 0).length,
    longestStallMs: mostOf(stalls),
    gaveUp: viewings.filter(({ hasGivenUp }) => hasGivenUp).length,
    logLines: rest.logLines,
  };
}

function countBy(values: readonly string[]): Record<string, number> {
  return Object.fromEntries([...Map.groupBy(values, (value) => value)].map(([value, all]) => [value, all.length]));
}

async function fillBucket(): Promise<void> {
  if (s3 === null) return;
  const { endpoint, accessKeyId, secretAccessKey } = s3;
  const keys = { accessKeyId, secretAccessKey };
  const settings = { endpoint, region: 'us-east-1', forcePathStyle: true };
  const client = new S3Client({ ...settings, credentials: keys });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  client.destroy();
  const more = { timeoutMs: 30_000, chainVariables: {}, checksums: 'when_supported' } as const;
  const store = openObjectStore({ bucket, s3: { ...settings, keys, ...more } });
  const put = (key: string) => store.put(key, randomBytes(segmentBytes), { contentType: 'video/iso.segment' });
  for (let start = 0; start < segmentKeys.length; start += 20)
    await Promise.all(segmentKeys.slice(start, start + 20).map(put));
  await store.close();
}
