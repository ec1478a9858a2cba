import { afterEach, beforeEach, expect, it, vi } from 'vitest';

// The addresses of signed streams, as the player page makes and reads them.

beforeEach(() => vi.stubGlobal('document', { baseURI: 'https://media.example/below/player/' }));
afterEach(() => vi.unstubAllGlobals());

const open = () => import('./addresses.js');
const ticket = '1893456000.egnnhT6q.0.720p~sid-a1.sig_-';

it('a stream with a ticket begins below `/s/`, and without one below `/stream/`', async () => {
  const { streamAddress } = await open();
  const signed = streamAddress({ hash: 'm', ticket }, 'master.m3u8');
  expect(new URL(signed).pathname.endsWith(`/s/${ticket}/m/master.m3u8`)).toBe(true);
  expect(streamAddress({ hash: 'm', ticket: '' }, 'waveform.webp')).toMatch(/\/stream\/m\/waveform\.webp$/);
  // What is no ticket stays one part of the path.
  expect(streamAddress({ hash: 'm', ticket: '../x' }, 'master.m3u8')).toMatch(/\/s\/\.\.%2Fx\/m\/master\.m3u8$/);
});

it('the newest ticket takes the place of the one in an address of its stream, and of nothing else', async () => {
  const { withTicket } = await open();
  const renewed = (uri: string, newest = ticket) => withTicket(uri, { hash: 'm', ticket: newest });
  expect(renewed('https://cdn.example/s/old/m/r/video/seg_1.m4s')).toBe(
    `https://cdn.example/s/${ticket}/m/r/video/seg_1.m4s`,
  );
  const others = [
    'https://a.example/stream/m/master.m3u8',
    'https://a.example/s/old/other/seg_1.m4s',
    'data:text/vtt,x',
  ];
  expect(others.map((uri) => renewed(uri))).toEqual(others);
  expect(renewed('https://a.example/s/old/m/seg_1.m4s', '')).toBe('https://a.example/s/old/m/seg_1.m4s');
});

it('the field takes the address of a signed stream, with its ticket', async () => {
  const { readPick } = await open();
  expect(readPick(` https://media.example/s/${ticket}/my-video/master.m3u8 `)).toEqual({
    hash: 'my-video',
    ticket,
    fault: null,
  });
  expect(readPick('my-video')).toEqual({ hash: 'my-video', ticket: '', fault: null });
});

it.each([
  ['', 0],
  ['30', 30],
  ['1.5', 1.5],
  ['90s', 90],
  ['1m30s', 90],
  ['1h', 3600],
  ['1:30', 90],
  ['1:00:30.5', 3630.5],
  ['soon', 0],
  ['-3', 0],
  ['1e9', 0],
])('C38.15: a link with t=%s begins at second %s', async (text, seconds) => {
  vi.stubGlobal('location', { hash: `#${new URLSearchParams({ hash: 'm', t: text })}` });
  const { readFragment } = await open();
  expect(readFragment().startSec).toBe(seconds);
});
