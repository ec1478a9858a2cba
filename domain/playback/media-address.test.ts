import { expect, it } from 'vitest';
import { mediaOfAddress } from './media-address.ts';

const encoded = (key: string) => Buffer.from(key).toString('base64url');

it.each([
  ['/stream/movie-1/master.m3u8', 'movie-1'],
  ['/stream/movie-1/0123456789abcdef/video/r1080_h264/seg_1.m4s', 'movie-1'],
  ['/api/key/a~b._c', 'a~b._c'],
  ['/api/key/movie-1/clearkey', 'movie-1'],
  [`/thumb/sig/${encoded('images/ab/photo/0123456789abcdef/t.webp')}`, 'photo'],
  [`/thumb/sig/${encoded('videos/ab/movie/0123456789abcdef/cover.jpg')}?w=3`, 'movie'],
  [`/thumb/sig/${encoded('x')}`, null],
  [`/thumb//${encoded('images/ab/photo/t.webp')}/more`, 'photo'],
  ['/other/stream/movie-1/master.m3u8', null],
  [`/other/thumb/sig/${encoded('images/ab/photo/t.webp')}`, null],
  [`/thumb/sig/more/${encoded('images/ab/photo/t.webp')}`, null],
  ['/healthz', null],
])('the media of %s is %s', (url, hash) => {
  expect(mediaOfAddress(url)).toBe(hash);
});
