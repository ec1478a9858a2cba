import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readThumb, signThumbPath, thumbRequestSchema, thumbSecretsOf } from './thumb.ts';

const key = 'images/ab/photo/0123456789abcdef/thumb.webp';
const secret = 'a secret of at least sixteen bytes';
const nowSec = 1_700_000_000;

type Query = Readonly<Record<string, string | number>>;

const read = (path: string, secrets = [secret]) =>
  readThumb(path, { secrets, presets: new Map(), isUnsigned: false, sourcePrefix: null }, nowSec);

describe('the address of a signed image', () => {
  it('C20.2: an image address has the documented form, so other languages can make it', () => {
    expect(signThumbPath(key, { w: 200, f: 'webp' }, secret)).toBe(
      '/thumb/bOgW98O2xgNx3h2671lpwmkNqq9YLjgtYKld--jJk1Q/aW1hZ2VzL2FiL3Bob3RvLzAxMjM0NTY3ODlhYmNkZWYvdGh1bWIud2VicA?f=webp&w=200',
    );
  });

  it('C20.6: an image address with its query in another order is moved to the sorted one', () => {
    const path = signThumbPath(key, { w: 200, h: 100, f: 'webp', fit: undefined }, secret);
    expect(read(path.replace(/\?.*/, '?w=200&f=webp&h=100'))).toEqual({ kind: 'moved', path });
    expect(read(path)).toMatchObject({ kind: 'valid', key, query: { w: 200, h: 100 } });
  });

  it.each([
    ['an escaped letter in the query', (path: string) => path.replace('w=200', 'w=%3200')],
    ['an escaped name', (path: string) => path.replace('w=200', '%77=200')],
    ['an empty pair', (path: string) => `${path}&&`],
    ['a second question mark', (path: string) => path.replace('?', '??')],
    ['an escaped letter in the key', (path: string) => path.replace('/aW1h', '/%61W1h')],
    ['an escaped letter in the signature', (path: string) => path.replace('/bOgW', '/%62OgW')],
    ['an escaped letter in the route', (path: string) => path.replace('/thumb', '/%74humb')],
    ['a segment more', (path: string) => path.replace('?', '/?')],
  ])('C20.6: an image address does not hold with %s', (_name, respell) => {
    const path = signThumbPath(key, { w: 200, f: 'webp' }, secret);
    expect(respell(path)).not.toBe(path);
    expect(read(respell(path))).toEqual({ kind: 'forbidden' });
  });

  it('C20.6: an image address without a query does not hold with an empty one', () => {
    expect(read(signThumbPath(key, {}, secret))).toMatchObject({ kind: 'valid' });
    expect(read(`${signThumbPath(key, {}, secret)}?`)).toEqual({ kind: 'forbidden' });
  });

  it.each([
    ['another width', (path: string) => path.replace('w=200', 'w=201')],
    ['a parameter more', (path: string) => `${path}&q=10`],
    ['a parameter less', (path: string) => path.replace('&w=200', '')],
    ['no query', (path: string) => path.replace(/\?.*/, '')],
    ['another key', (path: string) => path.replace('/aW1h', '/aW1i')],
    [
      'another signature',
      (path: string) => path.replace(/thumb\/./, (start) => (start.endsWith('y') ? 'thumb/z' : 'thumb/y')),
    ],
    ['no signature', (path: string) => path.replace(/thumb\/[^/]+/, 'thumb/-')],
    ['a parameter twice', (path: string) => `${path}&w=200`],
    ['no key', (path: string) => path.replace(/[^/]+$/, '')],
    ['no path', () => ''],
  ])('C20.4: the address of a signed image does not hold with %s', (_name, forge) => {
    expect(read(forge(signThumbPath(key, { w: 200, f: 'webp' }, secret)))).toEqual({ kind: 'forbidden' });
  });

  const others = {
    w: '2',
    h: '2',
    fit: 'inside',
    f: 'png',
    q: '2',
    exp: `${nowSec + 2}`,
    dpr: '2',
    gravity: 'east',
    crop: '0-0-1-2',
    rotate: '180',
    background: '000001',
    trim: '2',
    blur: '2',
    sharpen: '2',
  };
  it.each(Object.entries(others))('C20.3, C20.16: `%s` is under the signature of an image address', (name, other) => {
    const query = {
      w: 1,
      h: 1,
      fit: 'cover',
      f: 'webp',
      q: 1,
      exp: nowSec,
      dpr: 1,
      gravity: 'west',
      ...(name === 'trim' ? { trim: 1 } : { crop: '0-0-1-1' }),
      rotate: 90,
      background: '000000',
      blur: 1,
      sharpen: 1,
    };
    const path = signThumbPath(key, query, secret);
    const forged = path.replace(new RegExp(String.raw`\b${name}=[\w-]+`), `${name}=${other}`);
    expect(read(path)).toEqual({ kind: 'valid', key, query });
    expect(forged).not.toBe(path);
    expect(read(forged)).toEqual({ kind: 'forbidden' });
  });

  it('the address of a signed image does not hold with a parameter twice, though its signature does', () => {
    const encodedKey = Buffer.from(key).toString('base64url');
    const signed = createHmac('sha256', secret).update(`/${encodedKey}?w=100&w=200`).digest('base64url');
    expect(read(`/thumb/${signed}/${encodedKey}?w=100&w=200`)).toEqual({ kind: 'forbidden' });
  });

  it('C20.2: the signature of an address without a query is made over its key alone', () => {
    const encodedKey = Buffer.from(key).toString('base64url');
    const signed = createHmac('sha256', secret).update(`/${encodedKey}`).digest('base64url');
    expect(signThumbPath(key, {}, secret)).toBe(`/thumb/${signed}/${encodedKey}`);
    expect(read(`/thumb/${signed}/${encodedKey}`)).toMatchObject({ kind: 'valid', key });
  });

  it('the derived secret of image addresses stays the same, so that addresses in use hold after an upgrade', () => {
    expect(thumbSecretsOf([], 'key token secret')).toEqual([
      '6d11a7d473ed5c872f2d5b049857ed9f2003fafa1c1ddd7af60a3e71b5406ae8',
    ]);
  });

  it('the address of a signed image holds with any secret of a rotation, and with no other', () => {
    const path = signThumbPath(key, {}, secret);
    expect(read(path, ['a newer secret of sixteen bytes', secret])).toMatchObject({ kind: 'valid' });
    expect(read(path, ['a newer secret of sixteen bytes'])).toEqual({ kind: 'forbidden' });
    expect(thumbSecretsOf([], 'key token secret')).not.toEqual(thumbSecretsOf([], 'another token secret'));
    expect(thumbSecretsOf([secret], 'key token secret')).toEqual([secret]);
  });

  it('C20.4: the address of a signed image is forbidden from the second after its expiry', () => {
    expect(read(signThumbPath(key, { exp: nowSec }, secret))).toMatchObject({ kind: 'valid' });
    expect(read(signThumbPath(key, { exp: nowSec - 1 }, secret))).toEqual({ kind: 'expired', exp: nowSec - 1 });
  });

  it('a signature over the query in the order of its writing is another refusal than a wrong one', () => {
    const encodedKey = Buffer.from(key).toString('base64url');
    const signed = createHmac('sha256', secret).update(`/${encodedKey}?w=200&f=webp`).digest('base64url');
    expect(read(`/thumb/${signed}/${encodedKey}?w=200&f=webp`)).toEqual({ kind: 'unsorted' });
    expect(read(`/thumb/${signed}/${encodedKey}?w=200&f=jpg`)).toEqual({ kind: 'forbidden' });
  });

  it.each([
    'work/a/result.json',
    'cache/thumb/ab/x.webp',
    'videos/ab/h/master.m3u8',
    'images/ab/../../secret.png',
    'images/ab//x.png',
    'images/ab/./x.png',
    'images/AB/x.png',
    'images/ab/x.png.exe',
    'images/ab/x\0.png',
    'private/images/ab/x.png',
    `images/ab/${'x'.repeat(1011)}.png`,
  ])('the address of a signed image leads to no image for the key %s, though it is signed', (other) => {
    expect(read(signThumbPath(other, {}, secret))).toEqual({ kind: 'not_an_image' });
  });

  it('the address of a signed image leads to an image whose key is as long as a key may be', () => {
    const longest = `images/ab/${'x'.repeat(1010)}.png`;
    expect(read(signThumbPath(longest, {}, secret))).toMatchObject({ kind: 'valid', key: longest });
  });

  it.each<[taken: Query, refused: Query]>([
    [{ w: 1 }, { w: 0 }],
    [{ w: 4096 }, { w: 4097 }],
    [{ h: 1 }, { h: 0 }],
    [{ h: 4096 }, { h: 4097 }],
    [{ h: 1000 }, { h: '1e3' }],
    [{ fit: 'contain' }, { fit: 'fill' }],
    [{ f: 'avif' }, { f: 'gif' }],
    [{ q: 1 }, { q: 0 }],
    [{ q: 100 }, { q: 101 }],
    [{ exp: nowSec }, { exp: 'soon' }],
    [{}, { saturation: 3 }],
  ])('C20.3: the address of an image may have the options %j and not %j, though it is signed', (taken, refused) => {
    expect(read(signThumbPath(key, taken, secret))).toEqual({ kind: 'valid', key, query: taken });
    expect(read(signThumbPath(key, refused, secret))).toMatchObject({ kind: 'invalid' });
  });
});

describe('an address without a signature', () => {
  const settings = { secrets: [secret], presets: new Map(), isUnsigned: true, sourcePrefix: null };
  const readUnsigned = (path: string) => readThumb(`/thumb/unsigned/${path}`, settings, nowSec);

  it('C20.20: is refused unless the server takes such addresses', () => {
    expect(read(`/thumb/unsigned/${key}`)).toEqual({ kind: 'unsigned' });
    expect(readUnsigned(key)).toEqual({ kind: 'valid', key, query: {} });
  });

  it('C20.20: has its key as it is, escaped or encoded, and its query in any order', () => {
    for (const written of [key, key.replace('/thumb.', '%2Fthumb%2E'), Buffer.from(key).toString('base64url')])
      expect(readUnsigned(`${written}?w=200&f=png`)).toEqual({ kind: 'valid', key, query: { w: 200, f: 'png' } });
  });

  it.each([
    [`${key}?w=0`, 'invalid'],
    [`${key}?w=1&w=2`, 'invalid'],
    [`${key}?exp=${nowSec - 1}`, 'expired'],
    ['images/ab/../secret.png', 'not_an_image'],
    ['images/ab/%2e%2e/secret.png', 'not_an_image'],
    ['images/ab/%ff.png', 'not_an_image'],
    ['images/ab/%', 'not_an_image'],
    ['', 'not_an_image'],
  ])('C20.20: leads to no more than a signed one: %s is %s', (path, kind) => {
    expect(readUnsigned(path)).toMatchObject({ kind });
  });

  it('C20.20: signed addresses hold on such a server too, and forged ones do not', () => {
    const path = signThumbPath(key, { w: 9 }, secret);
    expect(readThumb(path, settings, nowSec)).toMatchObject({ kind: 'valid' });
    expect(readThumb(path.replace('w=9', 'w=8'), settings, nowSec)).toEqual({ kind: 'forbidden' });
  });
});

const readSource = (source: string, sourcePrefix: string | null = 'uploads/') => {
  const settings = { secrets: [secret], presets: new Map(), isUnsigned: false, sourcePrefix };
  return readThumb(signThumbPath(source, { from: 'source', w: 9 }, secret), settings, nowSec);
};

describe('an image of a source', () => {
  it('C20.21: is shown below the prefix alone, and where sources are shown at all', () => {
    const source = 'uploads/Été/photo 1.JPEG';
    expect(readSource(source)).toEqual({ kind: 'valid', key: source, query: { from: 'source', w: 9 } });
    expect(readSource('photo.heic', '')).toMatchObject({ kind: 'valid' });
    expect(readSource('photo.heic')).toEqual({ kind: 'not_a_source', prefix: 'uploads/' });
    expect(readSource(source, null)).toEqual({ kind: 'not_a_source', prefix: null });
  });

  it.each([
    'uploads/film.mp4',
    'uploads/film.mov',
    'uploads/photo.svg',
    'uploads/photo.jpg.exe',
    'uploads/photo',
    'uploads/../private/photo.jpg',
    'uploads/./photo.jpg',
    '/uploads/photo.jpg',
    'uploads/a\0.jpg',
    'uploadsx/photo.jpg',
    `uploads/${'x'.repeat(1100)}.jpg`,
  ])('C20.21: is not read for the key %s', (source) => {
    expect(readSource(source)).toEqual({ kind: 'not_a_source', prefix: 'uploads/' });
  });

  it('C20.21: an image of the media bucket is not one of a source', () => {
    expect(read(signThumbPath('uploads/photo.jpg', {}, secret))).toEqual({ kind: 'not_an_image' });
  });
});

const faultsOf = (request: object) =>
  thumbRequestSchema.safeParse(request).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);

describe('an image that is asked for by numbers', () => {
  it.each([
    [{ w: 0 }, 'w'],
    [{ w: 4097 }, 'w'],
    [{ w: 1.5 }, 'w'],
    [{ h: 0 }, 'h'],
    [{ h: 4097 }, 'h'],
    [{ q: 0 }, 'q'],
    [{ q: 101 }, 'q'],
    [{ fit: 'fill' }, 'fit'],
    [{ f: 'gif' }, 'f'],
    [{ width: 3 }, ''],
  ])('may not have %j', (options, field) => {
    expect(faultsOf({ key, ...options })).toEqual([expect.stringMatching(`^${field}: `)]);
  });

  it('is an image of the media bucket', () => {
    expect(faultsOf({ key: 'secret.webp' })).toEqual([
      'key: must be the key of an image below images/ or videos/ of the media bucket',
    ]);
    expect(faultsOf({ key: `images/ab/${'x'.repeat(1100)}/t.webp` })?.[0]).toMatch(/^key: Too big/);
  });
});
