import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { type Answer, type ApiUnderTest, keyTokenSecret, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Images": addresses without a signature, of sources, and in imgproxy's form.

const [secret = ''] = thumbSecretsOf([], keyTokenSecret);
const photo = 'images/ab/photo/0123456789abcdef/thumb.png';

/** As most servers are: signatures are wanted, and no sources shown. */
let plain: ApiUnderTest;
let open: ApiUnderTest;

const picture = (background: string) =>
  sharp({ create: { width: 60, height: 40, channels: 3, background } })
    .png()
    .toBuffer();
const ofSource = (key: string, query: Record<string, string | number> = {}) =>
  signThumbPath(key, { from: 'source', w: 30, ...query }, secret);

const codes = async (answers: readonly Promise<Answer>[]) =>
  (await Promise.all(answers)).map(({ status, json }) => `${status} ${json.code}`);

beforeAll(async () => {
  plain = await startApi();
  const { media, source } = plain.d;
  open = await startApi({ thumbUnsigned: 'on', thumbSources: 'uploads/' }, { media, source, imageSource: source });
  await plain.putMedia(photo, await picture('#336699'));
  for (const key of ['uploads/photo.png', 'private/photo.png']) await plain.putSource(key, await picture('#ff0000'));
});
afterAll(() => Promise.all([plain.close(), open.close()]));

describe('an address without a signature', () => {
  it('C20.20: is answered where the server is for development', async () => {
    for (const written of [photo, Buffer.from(photo).toString('base64url')]) {
      const { status, bytes } = await open.raw(`/thumb/unsigned/${written}?w=30`);
      expect([status, (await sharp(bytes).metadata()).width]).toEqual([200, 30]);
    }
    const head = await open.call(`/thumb/unsigned/${photo}?w=30`, { method: 'HEAD' });
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    expect((await open.raw('/thumb/unsigned/uploads/photo.png?from=source&w=9')).status).toBe(200);
  });

  it('C20.20: is refused elsewhere, and says what to do', async () => {
    const answer = await plain.raw(`/thumb/unsigned/${photo}?w=30`);
    expect([answer.status, answer.json.detail]).toEqual([
      403,
      'The address is not signed; sign it. In development THUMB_UNSIGNED=on lets a server answer it.',
    ]);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('C20.20: reads nothing that a signed one does not', async () => {
    await plain.putMedia('work/secret.png', await picture('#000000'));
    for (const path of [
      'work/secret.png',
      'images/ab/../../work/secret.png',
      'images/ab/%2e%2e/%2e%2e/work/secret.png',
    ])
      expect([path, (await open.raw(`/thumb/unsigned/${path}`)).status]).toEqual([path, 404]);
  });
});

describe('an image of a source', () => {
  it('C20.21: is shown below the prefix, in memory alone', async () => {
    const answer = await open.call(ofSource('uploads/photo.png'));
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
    expect(await sharp(answer.bytes).metadata()).toMatchObject({ width: 30, height: 20 });
    const again = await open.call(ofSource('uploads/photo.png'), {
      headers: { 'if-none-match': answer.headers.get('etag') ?? '' },
    });
    expect(again.status).toBe(304);
    const cached = (await Array.fromAsync(plain.d.media.list('cache/'))).map(({ key }) => key);
    expect(cached.filter((key) => !key.includes('/photo/'))).toEqual([]);
  });

  it('C20.21: is read neither elsewhere, nor unsigned, nor on a server that shows no sources', async () => {
    expect(
      await codes([
        open.call(ofSource('private/photo.png')),
        open.call(ofSource('uploads/../private/photo.png')),
        open.call(ofSource('uploads/none.png')),
        open.call(ofSource('uploads/photo.png').replace('w=30', 'w=31')),
        plain.call(ofSource('uploads/photo.png')),
      ]),
    ).toEqual(['404 not_found', '404 not_found', '404 not_found', '403 forbidden', '403 not_configured']);
  });

  it('C20.21: is never of a video, whatever its name', async () => {
    await plain.putSource('uploads/film.mp4', Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom'));
    await plain.putSource('uploads/film.png', Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom'));
    expect((await open.call(ofSource('uploads/film.mp4'))).status).toBe(404);
    expect((await open.call(ofSource('uploads/film.png'))).status).toBe(422);
  });

  it('C20.21: is the new one within a second where its source was written again, and 404 where it was deleted', async () => {
    const key = 'uploads/changing.png';
    const red = async () => {
      const { status, bytes } = await open.raw(ofSource(key, { w: 12 }));
      return status === 200 ? (await sharp(bytes).raw().toBuffer())[0] : status;
    };
    await plain.putSource(key, await picture('#ff0000'));
    for (let n = 0; n < 2; n++) expect(await red()).toBe(255);
    await plain.putSource(key, await picture('#0000ff'));
    await expect.poll(red, { timeout: 5_000, interval: 200 }).toBe(0);
    await plain.d.source.delete([key]);
    await expect.poll(red, { timeout: 5_000, interval: 200 }).toBe(404);
  });

  it('C20.21: is looked at once a second, however many ask', async () => {
    let looks = 0;
    const { media, source } = plain.d;
    const counted = new Proxy(source, {
      get: (target, name) => {
        if (name === 'head') looks += 1;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const api = await startApi({ thumbSources: 'uploads/' }, { media, source, imageSource: counted });
    try {
      const began = performance.now();
      for (let n = 0; n < 50; n++) expect((await api.call(ofSource('uploads/photo.png'))).status).toBe(200);
      expect(looks).toBeLessThanOrEqual(1 + (performance.now() - began) / 1000);
    } finally {
      await api.close();
    }
  });
});

describe('an address in the form of imgproxy', () => {
  const theirs = `/thumb/insecure/rs:fill:30:20:0/g:sm/padding:10/plain/s3://media/${photo}@webp`;
  const query = 'f=webp&fit=cover&gravity=attention&h=20&w=30';
  const encoded = Buffer.from(photo).toString('base64url');

  it('C20.22: is answered with the address here, which is not signed', async () => {
    const { status, json, headers } = await plain.raw(theirs);
    expect([status, json.code, headers.get('location')]).toEqual([400, 'invalid_request', null]);
    expect(json.detail).toBe(
      `Addresses of imgproxy are not answered; this service has /thumb/{signature}/${encoded}?${query}. It has nothing for padding.`,
    );
  });

  it('C20.22: on a server for development it is one that works', async () => {
    const ours = /this service has (\S+?)\. /.exec((await open.raw(theirs)).json.detail)?.[1] ?? '';
    expect(ours).toBe(`/thumb/unsigned/${encoded}?${query}`);
    expect((await open.raw(ours)).status).toBe(200);
  });

  it('C20.22: any other address below /thumb is 404 and says the form', async () => {
    const { status, json } = await plain.raw('/thumb/a/b/c');
    expect([status, json.detail]).toEqual([
      404,
      'There is no image at this address; it must be /thumb/{signature}/{encoded_key}.',
    ]);
  });
});
