import { describe, expect, it } from 'vitest';
import { pngHeader } from '../../testing/png-header.ts';
import { explain, faultsOf } from '../jobs/faults.ts';
import { mediaProfilesSchema } from './profiles.ts';
import { placeWatermark } from './watermark.ts';

describe('the place of a watermark', () => {
  const mark = { width: 200, height: 100 };
  it.each([
    ['bottom-right', { width: 0.25, margin: 0.1 }, { width: 160, height: 80, x: 444, y: 244 }],
    ['top-left', { width: 0.25, margin: 0.1 }, { width: 160, height: 80, x: 36, y: 36 }],
    ['top-right', { width: 0.25, margin: 0 }, { width: 160, height: 80, x: 480, y: 0 }],
    ['bottom-left', { width: 0.1, margin: 0.03 }, { width: 64, height: 32, x: 10, y: 318 }],
    // The margin is a share of the shorter side.
    ['top-left', { width: 0.1, margin: 0.4 }, { width: 64, height: 32, x: 144, y: 144 }],
    // As large as fits between the margins.
    ['bottom-right', { width: 1, margin: 0.1 }, { width: 568, height: 284, x: 36, y: 40 }],
  ] as const)('%s with %o is %o', (position, shares, place) => {
    expect(placeWatermark(mark, { width: 640, height: 360 }, { position, ...shares })).toEqual(place);
  });
});

it('a tall watermark is as large as fits between the upper and the lower margin', () => {
  const asked = { position: 'bottom-right', width: 1, margin: 0.1 } as const;
  const place = placeWatermark({ width: 100, height: 200 }, { width: 640, height: 360 }, asked);
  expect(place).toEqual({ width: 144, height: 288, x: 460, y: 36 });
});

describe('the watermark of a profile', () => {
  it('the watermark of a profile has an image within bounds; every fault is reported at once', () => {
    const { byName } = mediaProfilesSchema.parse({ profiles: { a: { watermark: { png: pngHeader(64, 32) } } } });
    expect(byName.get('a')?.watermark).toMatchObject({ position: 'bottom-right', width: 0.15, opacity: 1 });
    const document = {
      profiles: {
        a: { watermark: { png: pngHeader(4096, 1), opacity: 2, position: 'middle' } },
        b: { watermark: { png: 'no base64!' } },
        c: { watermark: { png: pngHeader(64, 32, 70_000) } },
        d: { watermark: { png: Buffer.from('GIF89a and more than a header').toString('base64') } },
        e: { hdr: 'keep', watermark: { png: pngHeader(64, 32) } },
        // The first 18 bytes.
        f: { watermark: { png: pngHeader(64, 32).slice(0, 24) } },
        g: { watermark: { png: 'A'.repeat(100_000) } },
      },
    };
    const { error } = mediaProfilesSchema.safeParse(document, { error: explain });
    const faults = error === undefined ? [] : faultsOf(error);
    const ofImages = faults.filter(({ pointer }) => pointer.endsWith('/png')).map(({ detail }) => detail);
    expect(new Set(ofImages)).toEqual(
      new Set(['must be the base64 of a PNG of at most 48 KiB and 2048 pixels on a side']),
    );
    expect(faults.map(({ pointer }) => pointer)).toEqual([
      '/profiles/a/watermark/png',
      '/profiles/a/watermark/position',
      '/profiles/a/watermark/opacity',
      '/profiles/b/watermark/png',
      '/profiles/c/watermark/png',
      '/profiles/d/watermark/png',
      '/profiles/e/watermark',
      '/profiles/f/watermark/png',
      '/profiles/g/watermark/png',
    ]);
  });
});
