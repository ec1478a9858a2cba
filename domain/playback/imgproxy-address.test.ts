import { expect, it } from 'vitest';
import { translateImgproxy } from './imgproxy-address.ts';

const key = 'images/ab/photo/0123456789abcdef/thumb.jpg';
const encoded = (text: string) => Buffer.from(text).toString('base64url');

it.each([
  [
    `insecure/rs:fill:300:400:0/g:sm/plain/s3://media/${key}@webp`,
    { fit: 'cover', w: '300', h: '400', gravity: 'attention', f: 'webp' },
  ],
  [`sig/resize:fit:300:0/q:70/plain/local:///${key}`, { fit: 'inside', w: '300', q: '70' }],
  [`sig/w:300/dpr:2/${encoded(`https://media.example.com/${key}`)}.png`, { w: '300', dpr: '2', f: 'png' }],
  [`sig/s:300:200/${encoded(key).slice(0, 16)}/${encoded(key).slice(16)}`, { w: '300', h: '200' }],
  [
    `sig/rot:90/bl:3/sh:0.5/bg:255:0:128/plain/${key}`,
    { rotate: '90', blur: '3', sharpen: '0.5', background: 'ff0080' },
  ],
  [`sig/bg:ffee00/c:100:50:nowe:10:20/plain/${key}`, { background: 'ffee00', crop: '10-20-100-50' }],
  [`sig/t:10/plain/${key}`, { trim: '10' }],
  [`sig/pr:card/exp:1893456000/plain/${key}`, { preset: 'card', exp: '1893456000' }],
  [`sig/rt:fill/g:no/w:10/plain/${key}`, { fit: 'cover', w: '10' }],
  [`sig/plain/${encodeURIComponent(key)}`, {}],
])('C20.22: the address %s of imgproxy is known by its options', (path, query) => {
  expect(translateImgproxy(`/thumb/${path}`)).toEqual({ key, query, left: [] });
});

it.each([
  [`sig/rs:force:10:10/trim:10:ffffff/wm:0.5:soea/plain/${key}`, ['rs', 'trim', 'wm']],
  [`sig/rot:45/bl:900/g:fp:0.5:0.5/c:10:10:sm/f:gif/plain/${key}`, ['rot', 'bl', 'g', 'c', 'f']],
  [`sig/constructor:1/plain/${key}`, ['constructor']],
])('C20.22: what %s has and ours does not is named', (path, left) => {
  expect(translateImgproxy(`/thumb/${path}`)).toMatchObject({ key, left });
});

it.each([
  '',
  'sig',
  'sig/key',
  'sig/a/b',
  'sig/w:300',
  'sig/plain/',
  'sig/plain/%',
  'sig/w:1/a/!',
  'unsigned/images/ab/x.png',
])('an address %s is not of imgproxy', (path) => {
  expect(translateImgproxy(`/thumb/${path}`)).toBeNull();
});
