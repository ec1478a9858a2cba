import { describe, expect, it } from 'vitest';
import { thumbCacheKey, thumbVariantOf } from './thumb-variant.ts';

const key = 'images/ab/photo/0123456789abcdef/thumb.webp';

describe('the variant of an image', () => {
  it.each([
    ['image/avif,image/webp,*/*', 'avif'],
    ['image/webp,*/*', 'webp'],
    ['image/avif;q=0, image/webp', 'webp'],
    ['*/*', 'jpg'],
    ['image/avif ; q=0.00', 'jpg'],
    ['image/avif;level=1;q=0, image/webp', 'webp'],
    ['image/webp ; q=0.00, */*', 'jpg'],
    ['image/webp;q=0.5', 'webp'],
  ])('the variant of an image for Accept: %s and f=auto is %s', (accept, format) => {
    expect(thumbVariantOf(key, { f: 'auto' }, accept)).toMatchObject({ format });
  });

  it('the variant of an image keeps the format of its image, and an animated GIF becomes WebP', () => {
    expect(thumbVariantOf('videos/ab/h/r/cover.jpg', {}, '')).toMatchObject({
      format: 'jpg',
      quality: 82,
      fit: 'inside',
    });
    expect(thumbVariantOf('videos/ab/h/r/preview.gif', {}, '')).toMatchObject({ format: 'webp', quality: 80 });
    expect(thumbVariantOf('images/ab/h/x.png', {}, '')).toMatchObject({ format: 'png', quality: 80 });
    expect(thumbVariantOf('images/ab/h/x.avif', {}, '')).toMatchObject({ format: 'avif', quality: 50 });
  });

  it('the variant of an image is kept under one key for equal requests, and under another for each difference', () => {
    const base = { w: 100, h: 100, fit: 'cover', q: 50, f: 'webp' } as const;
    const others = [{ w: 101 }, { h: 101 }, { fit: 'contain' }, { q: 51 }, { f: 'jpg' }] as const;
    const keys = [base, ...others.map((other) => ({ ...base, ...other }))].map((query) =>
      thumbCacheKey(thumbVariantOf(key, query, '')),
    );
    expect(new Set(keys).size).toBe(keys.length);
    // Another key would make every image that is stored again.
    expect(thumbCacheKey(thumbVariantOf(key, { w: 100 }, ''))).toBe(
      'cache/thumb/55/photo/6b1c026b35096ecbf262a9e04b6c53fbcf0bdeb9a775e95ec8a19876f2022650.webp',
    );
    expect(thumbCacheKey(thumbVariantOf(key, { ...base, exp: 5 }, ''))).toBe(keys[0]);
  });

  it('C20.19: an image is kept under another key for each difference of an operation', () => {
    const base = { w: 100, h: 100, fit: 'cover' } as const;
    const others = [
      {},
      { gravity: 'attention' },
      { gravity: 'entropy' },
      { crop: '0-0-10-10' },
      { crop: '0-0-10-11' },
      { rotate: 90 },
      { rotate: 180 },
      { trim: 1 },
      { trim: 2 },
      { blur: 1 },
      { sharpen: 1 },
      { background: '000000' },
      { dpr: 2 },
    ] as const;
    const keys = others.map((other) => thumbCacheKey(thumbVariantOf(key, { ...base, ...other }, '')));
    expect(new Set(keys).size).toBe(others.length);
  });

  it.each([
    [
      { w: 100, dpr: 2 },
      { w: 200, dpr: 1 },
    ],
    [{ w: 100, h: 50, fit: 'cover', gravity: 'center' } as const, { w: 100, h: 50, fit: 'cover' } as const],
    [{ rotate: 0 } as const, {}],
    [{ background: 'FFEE00' }, { background: 'ffee00' }],
    [{ crop: '001-0-10-10' }, { crop: '1-0-10-10' }],
    [{ w: 9, preset: 'card' }, { w: 9 }],
    [
      { blur: 1, sharpen: 2, rotate: 90 },
      { rotate: 90, sharpen: 2, blur: 1 },
    ] as const,
  ])('C20.19: an image has one key, asked for as %j and as %j', (one, other) => {
    expect(thumbCacheKey(thumbVariantOf(key, one, ''))).toBe(thumbCacheKey(thumbVariantOf(key, other, '')));
  });

  it('C20.16: `dpr` multiplies the sides that are given, to whole pixels', () => {
    expect(thumbVariantOf(key, { w: 33, dpr: 1.5 }, '')).toMatchObject({ width: 50, height: null });
  });
});
