import { array, constantFrom, integer, ipV4, ipV6, nat, oneof, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readStreamPath } from '#domain/playback/stream-path.ts';
import { thumbVariantOf } from '#domain/playback/thumb-variant.ts';
import { ClientAddresses } from '#platform/http/client-addresses.ts';
import { acceptsGzip, matchesEtag, readRange } from '#platform/http/request-headers.ts';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { Connection, type OpenStream } from '#platform/kubernetes/connection.ts';
import { jobs } from '#platform/kubernetes/objects.ts';
import { isAllowedAddress } from '#platform/outbound-http/address-rules.ts';
import { rangeWithin } from '#platform/storage/ranges.ts';
import { readTraceContext } from '#platform/telemetry/trace-context.ts';
import { fuzz } from '../../testing/fuzz.ts';
import { anyText, changedJson } from '../../testing/hostile-values.ts';

// What callers, proxies and the API server of a cluster send.

describe('headers of requests', () => {
  const end = oneof(nat().map(String), constantFrom('', '-', '9'.repeat(15), '9'.repeat(400), '1e3', ' 1'));
  const range = oneof(
    tuple(end, end).map(([first, last]) => `bytes=${first}-${last}`),
    anyText,
  );
  fuzz('a range lies within its object', { of: tuple(range, nat()) }, ([header, sizeBytes]) => {
    const found = readRange(header, sizeBytes);
    if (found === null || found === 'unsatisfiable') return;
    expect(rangeWithin(sizeBytes, found)).toEqual(found);
  });

  const wish = tuple(
    constantFrom('image/avif', 'image/webp', 'gzip', '*', '*/*'),
    constantFrom('', ';q=0', '; q=0.0', ';q=x'),
  );
  const accept = array(
    oneof(
      wish.map((pair) => pair.join('')),
      anyText,
    ),
  ).map((all) => all.join(','));
  fuzz(
    'any Accept, Accept-Encoding and If-None-Match has an answer',
    { of: tuple(accept, anyText) },
    ([header, etag]) => {
      expect(['avif', 'webp', 'jpg']).toContain(thumbVariantOf('images/ab/c.png', { f: 'auto' }, header).format);
      expect([acceptsGzip(header), matchesEtag(header, etag)].every((value) => typeof value === 'boolean')).toBe(true);
      expect(matchesEtag(`"x", "y"`, '"y"')).toBe(true);
    },
  );

  const address = oneof(
    ipV4(),
    ipV6(),
    constantFrom('::ffff:10.0.0.1', 'fe80::1%eth0', '[::1]:80', '10.0.0.1:80'),
    anyText,
  );
  fuzz(
    'an address forwarded before a trusted proxy never counts',
    { of: tuple(array(address), ipV4()) },
    ([before, client]) => {
      const addresses = new ClientAddresses(['10.0.0.0/8', 'fd00::/8']);
      const bucketOf = (remoteAddress: string, forwarded: string) =>
        addresses.bucketOf({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as never);
      if (addresses.isProxy(client)) return;
      expect(bucketOf('10.1.2.3', [...before, client].join(','))).toBe(client);
      expect(bucketOf(client, before.join(','))).toBe(client);
      expect(bucketOf('10.1.2.3', before.join(',')).length).toBeLessThan(100);
    },
  );
  fuzz('a trace context is read into its one form, or null', { of: tuple(anyText, integer()) }, ([text, flags]) => {
    const given = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-${(flags & 255).toString(16).padStart(2, '0')}`;
    for (const traceparent of [text, given, given + text]) {
      const read = readTraceContext(traceparent, text);
      expect(read?.traceparent ?? given).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/);
      expect(read?.tracestate?.length ?? 0).toBeLessThanOrEqual(512);
    }
  });
});

describe('paths and addresses', () => {
  const piece = oneof(
    constantFrom('movie-1', '..', '.', '%2e', '%252e', '/', '%2f', '%5c', '%00', '%', 'seg_1.m4s'),
    anyText,
  );
  fuzz(
    'a path of a stream stays below its media',
    { of: array(piece).map((all) => all.join('')), examples: ['movie-1/a\uDFFF'] },
    (encoded) => {
      const read = readStreamPath(encoded);
      if (read.kind !== 'object') return;
      expect(`${read.hash}/${read.path}`.split('/').some((segment) => ['', '.', '..'].includes(segment))).toBe(false);
      expect(readStreamPath(read.spelling)).toEqual(read);
    },
  );
  fuzz(
    'an address in a private network is refused in every form of IPv6',
    { of: tuple(constantFrom(10, 127, 0), nat(255), nat(255), nat(255)) },
    (bytes) => {
      const dotted = bytes.join('.');
      const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0'));
      const groups = `${hex.slice(0, 2).join('')}:${hex.slice(2).join('')}`;
      for (const form of [
        dotted,
        `::ffff:${dotted}`,
        `::ffff:${groups}`,
        `64:ff9b::${groups}`,
        `2002:${groups}::1`,
        `::${groups}`,
      ])
        expect(isAllowedAddress(form, []), form).toBe(false);
    },
  );
  fuzz('text that is no address is refused', { of: anyText }, (text) => expect(isAllowedAddress(text, [])).toBe(false));
});

class CannedConnection extends Connection {
  readonly #chunks: readonly string[];

  constructor(chunks: readonly string[]) {
    super({ server: 'http://127.0.0.1', access: () => Promise.reject(new Error('not used')) });
    this.#chunks = chunks;
  }

  override async open(): Promise<OpenStream> {
    const chunks = this.#chunks;
    return {
      chunks: (async function* send() {
        yield* chunks;
      })(),
      close: () => {},
    };
  }
}

const watch = async (chunks: readonly string[]) => {
  const events: unknown[] = [];
  const client = new KubeClient(new CannedConnection(chunks));
  for await (const each of client.watch(jobs, { resourceVersion: '1', timeoutSeconds: 1 })) events.push(each);
  return events;
};

describe('watches of Kubernetes', () => {
  const metadata = { name: 'a', resourceVersion: '1' };
  const event = { type: 'ADDED', object: { metadata } };
  const expired = {
    type: 'ERROR',
    object: {
      kind: 'Status',
      code: 410,
      reason: 'Expired',
      message: 'old',
      details: { causes: [], retryAfterSeconds: 1 },
    },
  };
  const frame = oneof(changedJson(event), changedJson(expired));
  // A text cannot be made of this.
  const odd = '{"toString":1,"valueOf":1}';
  const examples = [
    `{"type":"ERROR","object":{"message":${odd},"details":{"retryAfterSeconds":{}}}}`,
    `{"type":"ERROR","object":{"code":${odd},"message":"old"}}`,
  ].map((text) => [text]);
  fuzz('any frames are events with objects, or a KubeError', { of: array(frame), examples }, async (frames) => {
    try {
      for (const each of await watch(frames.map((text) => `${text}\n`)))
        expect(each).toMatchObject({ object: expect.anything() as unknown });
    } catch (thrown) {
      expect((thrown as Error).name).toBe('KubeError');
      expect((thrown as Error).message.length).toBeLessThan(5000);
    }
  });
  fuzz(
    'events are the same wherever their text is cut',
    { of: tuple(array(nat()), integer({ min: 1, max: 50 })) },
    async ([numbers, size]) => {
      const sent = numbers.map((number) => ({ ...event, object: { metadata: { ...metadata, number } } }));
      const text = sent.map((each) => `${JSON.stringify(each)}\n`).join('');
      expect(await watch(text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [])).toEqual(sent);
    },
  );
  it('a frame of almost 8 MiB in small chunks is read in a time that grows with its length', async () => {
    const text = `${JSON.stringify({ ...event, object: { metadata, pad: 'x'.repeat(2 ** 23 - 200) } })}\n`;
    const startMs = performance.now();
    expect(await watch(text.match(/[^]{1,4096}/g) ?? [])).toHaveLength(1);
    // Searching all of it for each chunk takes over 5 s.
    expect(performance.now() - startMs).toBeLessThan(2500);
  });
});
