import { afterEach, beforeEach, expect, it, vi } from 'vitest';

// The storyboard and the chapters of a stream, as the player page reads them.

const base = 'http://reelwright.test/stream/m/';
const texts: Record<string, string> = {
  'master.m3u8':
    '#EXTM3U\n#EXT-X-SESSION-DATA:DATA-ID="io.reelwright.chapters",URI="r/chapters.vtt"\n' +
    '#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1,URI="r/storyboard/playlist.m3u8"\n',
  'r/chapters.vtt': 'WEBVTT\n\n00:00:00.000 --> 00:01:00.500\nHard &amp; &lt;fast&gt;\n',
  'r/storyboard/cues.vtt':
    'WEBVTT\n\n00:00:00.000 --> 00:00:10.000\nsheet_1.jpg#xywh=0,0,160,90\n\n' +
    '00:00:10.000 --> 00:00:20.000\nsheet_1.jpg#xywh=160,0,160,90\n',
};
let failing = new Set<string>();
let asked: string[] = [];

beforeEach(() => {
  [failing, asked] = [new Set(), []];
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.stubGlobal('document', { baseURI: 'http://reelwright.test/player/' });
  vi.stubGlobal('fetch', async (address: string) => {
    const path = address.slice(base.length);
    asked.push(path);
    return failing.has(path) ? new Response(null, { status: 503 }) : new Response(texts[path]);
  });
  vi.stubGlobal(
    'Image',
    class {
      naturalWidth = 1600;
      naturalHeight = 900;
      decode = async () => undefined;
    },
  );
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function open() {
  const { openSideFiles } = await import('./side-files.js');
  return openSideFiles(() => ({ hash: 'm', ticket: '' }));
}

it('tiles and chapters are read once, by the addresses that the master names', async () => {
  const sideFiles = await open();
  await sideFiles.refresh();
  expect(await sideFiles.chapters()).toEqual([{ from: 0, to: 60.5, title: 'Hard & <fast>' }]);
  const size = { width: 160, height: 90, imageWidth: 1600, imageHeight: 900, positionY: 0 };
  const uri = `${base}r/storyboard/sheet_1.jpg`;
  expect(await sideFiles.tileAt(9.9)).toEqual({ from: 0, to: 10, uri, positionX: 0, ...size });
  expect(await sideFiles.tileAt(10)).toMatchObject({ from: 10, positionX: 160 });
  expect(await sideFiles.tileAt(99)).toMatchObject({ from: 10 });
  expect(asked).toEqual(['master.m3u8', 'r/chapters.vtt', 'r/storyboard/cues.vtt']);
});

it.each(['master.m3u8', 'r/storyboard/cues.vtt'])(
  '%s that could not be read is read again after a while',
  async (path) => {
    const sideFiles = await open();
    failing.add(path);
    for (let n = 0; n < 3; n++) await expect(sideFiles.tileAt(0)).rejects.toThrow('503');
    expect(asked.filter((each) => each === path)).toHaveLength(1);
    failing.clear();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await sideFiles.tileAt(0)).toMatchObject({ from: 0 });
  },
);
