import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { KnownProblem } from '#domain/errors.ts';
import { imageKey } from '#domain/media/object-keys.ts';
import { thumbCacheKey, type ThumbVariant } from '#domain/playback/thumb-variant.ts';
import { ClientAddresses } from '#platform/http/client-addresses.ts';
import { type ImageProcessor, ImageRefused, ImagesBusy } from '#platform/images/image-processor.ts';
import { RecentClients } from '#platform/rate-limit/recent-clients.ts';
import { ownPiece } from '#platform/storage/blocks.ts';
import type { Download, ObjectStore } from '#platform/storage/object-store.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { ThumbMaker } from './thumb-maker.ts';
import { thumbCacheControl } from './thumb-headers.ts';

const from = (remoteAddress: string) => ({ socket: { remoteAddress }, headers: {} }) as unknown as IncomingMessage;
const variantOf = (hash: string, width: number): ThumbVariant => {
  const key = imageKey(hash, '0123456789abcdef', { variant: 'thumb', format: 'jpg' });
  return { key, width, height: null, fit: 'inside', format: 'webp', quality: 80, operations: {} };
};

interface Parts {
  readonly sizeBytes?: number;
  readonly make?: (variant: ThumbVariant) => Promise<Buffer>;
  readonly put?: (key: string) => Promise<void>;
  readonly imageSource?: ObjectStore;
}

/** A bucket with every source and no cached image, and a processor of the test. */
function makerOf({ sizeBytes = 10, make = async ({ width }) => Buffer.from(`${width}`), put, imageSource }: Parts) {
  const [stored, destroyed]: [string[], string[]] = [[], []];
  const media = {
    download: async (key: string): Promise<Download | null> => {
      if (key.startsWith('cache/')) return null;
      return {
        info: { key, sizeBytes, etag: '"e"', lastModified: new Date(0) },
        start: (receiver) => {
          receiver.onPiece(ownPiece(Buffer.alloc(10)));
          receiver.onEnd();
        },
        pause: () => undefined,
        resume: () => undefined,
        destroy: () => void destroyed.push(key),
      };
    },
    put: async (key: string) => {
      await put?.(key);
      stored.push(key);
    },
  } as unknown as ObjectStore;
  const images = {
    make: async (readSource: () => Promise<unknown>, variant: ThumbVariant) => {
      await readSource();
      return make(variant);
    },
  } as unknown as ImageProcessor;
  const metrics = new Metrics();
  const maker = new ThumbMaker({
    clients: new ClientAddresses([]),
    recent: new RecentClients(),
    media,
    imageSource: imageSource ?? null,
    images,
    metrics,
    log: createLogger({ level: 'silent', name: 'test' }),
    isDeleted: async (hash) => hash === 'deleted',
  });
  return { maker, stored, destroyed, metrics };
}

/** A source bucket with one object, which is written again or deleted between a look and the read that follows. */
function changingSource() {
  const state: { etag: string | null; next: string | null | undefined } = { etag: '"1"', next: undefined };
  const bytes = Buffer.alloc(10);
  const imageSource = {
    head: async (key: string) => {
      const { etag, next } = state;
      if (next !== undefined) Object.assign(state, { etag: next, next: undefined });
      return etag === null ? null : { key, etag, sizeBytes: bytes.length, lastModified: new Date(0) };
    },
    download: async (key: string, { ifMatch }: { ifMatch?: string }): Promise<Download | null> => {
      if (state.etag === null) return null;
      if (ifMatch !== state.etag) throw new KnownProblem('source_changed');
      return {
        info: { key, sizeBytes: bytes.length, etag: state.etag, lastModified: new Date(0) },
        start: (receiver) => {
          receiver.onPiece(ownPiece(bytes));
          receiver.onEnd();
        },
        pause: () => undefined,
        resume: () => undefined,
        destroy: () => undefined,
      };
    },
  } as unknown as ObjectStore;
  return { state, imageSource };
}

describe('ThumbMaker', () => {
  it.each([
    [64 * 1024 * 1024, null],
    [64 * 1024 * 1024 + 1, 'unreadable_image'],
  ])('C22.19: of a source of %i bytes the refusal is %s, and its reading ends', async (sizeBytes, code) => {
    const { maker, destroyed } = makerOf({ sizeBytes });
    const refusal = await maker.get(variantOf('a', 1), from('192.0.2.1')).then(
      () => null,
      (error: { code: string }) => error.code,
    );
    expect([refusal, destroyed.length]).toEqual([code, code === null ? 0 : 1]);
  });

  it.each([
    ['unreadable_image', new ImageRefused('no image')],
    ['busy', new ImagesBusy('too many images are waiting')],
  ])('C22.19: what fails is %s, keeps no place and is made at the next request', async (code, failure) => {
    let isFailing = true;
    const { maker } = makerOf({
      make: async () => {
        if (isFailing) throw failure;
        return Buffer.from('image');
      },
    });
    for (let n = 0; n < 300; n++)
      await expect(maker.get(variantOf('a', n), from('192.0.2.1'))).rejects.toMatchObject({ code });
    isFailing = false;
    expect((await maker.get(variantOf('a', 1), from('192.0.2.1'))).bytes.toString()).toBe('image');
  });

  it('C20.14: an address with as many images under way as are free is busy, and another one is not', async () => {
    const resumed = Promise.withResolvers<void>();
    const { maker } = makerOf({
      make: async ({ width }) => {
        await resumed.promise;
        return Buffer.from(`${width}`);
      },
    });
    const made = Array.from({ length: 128 }, (_, n) => maker.get(variantOf('a', n), from('192.0.2.1')));
    await expect(maker.get(variantOf('a', 128), from('192.0.2.1'))).rejects.toMatchObject({ code: 'busy' });
    // One that is under way is joined.
    made.push(maker.get(variantOf('a', 0), from('192.0.2.1')), maker.get(variantOf('a', 128), from('192.0.2.2')));
    resumed.resolve();
    expect(new Set((await Promise.all(made)).map(({ bytes }) => bytes.toString())).size).toBe(129);
    expect((await maker.get(variantOf('a', 200), from('192.0.2.1'))).bytes.toString()).toBe('200');
  });

  it('C20.11: an image that cannot be stored is answered and counted', async () => {
    const { maker, metrics } = makerOf({ put: () => Promise.reject(new Error('the bucket is full')) });
    expect((await maker.get(variantOf('a', 1), from('192.0.2.1'))).bytes.toString()).toBe('1');
    const counted = async () => metrics.registry.metrics();
    await expect.poll(counted).toMatch(/svc_image_errors_total\{stage="store",status="internal"\} 1/);
  });

  it('C29.12: an image of a deleted media is not stored', async () => {
    const { maker, stored } = makerOf({});
    const [kept, dropped] = [variantOf('a', 1), variantOf('deleted', 1)];
    for (const variant of [dropped, kept]) await maker.get(variant, from('192.0.2.1'));
    await expect.poll(() => stored).toEqual([thumbCacheKey(kept)]);
  });

  const ofSource: ThumbVariant = { ...variantOf('a', 1), key: 'uploads/photo.jpg', isOfSource: true };

  it('C20.21: a source that is written again between the look at it and its read is busy, and then the new one', async () => {
    const { state, imageSource } = changingSource();
    let made = 0;
    const { maker, stored } = makerOf({ imageSource, make: async () => Buffer.from(`${(made += 1)}`) });
    state.next = '"2"';
    await expect(maker.get(ofSource, from('192.0.2.1'))).rejects.toMatchObject({ code: 'busy' });
    // Another client asks for the same image at that instant.
    const both = await Promise.all([maker.get(ofSource, from('192.0.2.1')), maker.get(ofSource, from('192.0.2.2'))]);
    expect([both.map(({ bytes }) => bytes.toString()), made, stored]).toEqual([['1', '1'], 1, []]);
  });

  it('C20.21: a source that is deleted between the look at it and its read is missing', async () => {
    const { state, imageSource } = changingSource();
    const { maker } = makerOf({ imageSource });
    state.next = null;
    await expect(maker.get(ofSource, from('192.0.2.1'))).rejects.toMatchObject({ code: 'not_found' });
  });

  it('C20.12: images of one size differ in their ETag, and equal ones do not', async () => {
    const { maker } = makerOf({});
    const etags = [];
    for (const [hash, width] of [
      ['a', 1],
      ['a', 2],
      ['b', 1],
    ] as const)
      etags.push((await maker.get(variantOf(hash, width), from('192.0.2.1'))).etag);
    expect([etags[0] === etags[1], etags[0] === etags[2]]).toEqual([false, true]);
  });

  it('C29.11: the images of a deleted media are dropped from memory, and no others', async () => {
    const { maker } = makerOf({});
    const variants = [variantOf('a', 1), variantOf('a', 2), variantOf('ab', 1)];
    for (const variant of variants) await maker.get(variant, from('192.0.2.1'));
    maker.forget(['a']);
    expect(variants.map((variant) => maker.cached(thumbCacheKey(variant)) === null)).toEqual([true, true, false]);
  });
});

it.each([
  [{}, 'public, max-age=31536000, immutable'],
  [{ exp: 1_000 }, 'public, max-age=1'],
  [{ exp: 999 }, 'public, max-age=0'],
  [{ exp: 998 }, null],
  [{ preset: 'card' }, 'public, max-age=300'],
  [{ from: 'source' } as const, 'public, max-age=300'],
  [{ preset: 'card', exp: 2_000 }, 'public, max-age=300'],
  [{ preset: 'card', exp: 1_000 }, 'public, max-age=1'],
])('C20.9, C20.18, C20.21: the Cache-Control of an image with %j is %s in the second 999', (query, header) => {
  expect(thumbCacheControl(query, () => new Date(999_900))).toBe(header);
});
