import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, openLastingPage, openPage } from '../../testing/browser.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// The player page without a stream: its addresses, its rules, and what it shows before one plays.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const tokenOf = (claims: object) => `${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`;
const failures: [what: string, status: number, token: string, kind: string, actions: string[], text: RegExp][] = [
  ['stream', 410, '', 'deleted', [], /^This stream was deleted/],
  ['part', 404, '', 'part-404', ['retry'], /does not have it\. Playback goes on here/],
  ['part', 0, '', 'part-unreachable', ['retry'], /did not send it\. Playback goes on here/],
  ['key', 0, '', 'key-unreachable', ['retry'], /^The server cannot be reached/],
  ['key', 429, '', 'key-429', ['retry'], /^Too many requests .* in a minute/],
  ['stream', 503, '', 'stream-503', ['retry'], /answered 503 for the stream/],
  ['key', 401, '', 'key-401', ['enter-token'], /needs a token/],
  ['key', 403, 'text', 'key-403', ['enter-token'], /It is not a playback token/],
  ['key', 403, tokenOf({ hash: 'ü', exp: 1 }), 'key-403', ['enter-token'], /made for another media \(“ü”\)/],
  ['key', 403, tokenOf({ hash: 'a', exp: 1 }), 'key-403', ['enter-token'], /It expired on .*(?:1970|1969)/],
  ['key', 404, '', 'key-404', [], /No content key is stored for “a”/],
  ['key', 400, '', 'key-400', [], /^The key was refused .* 400/],
  ['stream', 404, '', 'stream-404', ['retry'], /No stream is published for “a”/],
];

describe('the addresses of the player page', () => {
  it('the page has two addresses, and its files are kept only as long as they are the same', async () => {
    const bare = await api.raw('/player');
    expect([bare.status, bare.headers.get('location')]).toEqual([308, 'player/']);
    const page = await api.raw('/player/');
    expect((await api.raw('/player/index.html')).text).toBe(page.text);
    const files = [...page.text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, file = '']) => file);
    expect(files).toEqual(expect.arrayContaining(['vendor/shaka-player.js', 'page.js', 'style.css']));
    for (const file of [...files, 'element.js', 'index.html']) {
      const { status, headers } = await api.raw(`/player/${file}`);
      expect([status, headers.get('cache-control')], file).toEqual([200, 'no-cache']);
      const known = { 'if-none-match': headers.get('etag') ?? '' };
      expect((await api.raw(`/player/${file}`, { headers: known })).status, file).toBe(304);
    }
  });

  it('pages of other origins may load the element, and no other file; types and the console are not there', async () => {
    const element = await api.raw('/player/element.js');
    const sharing = ['access-control-allow-origin', 'cross-origin-resource-policy'];
    expect(sharing.map((name) => element.headers.get(name))).toEqual(['*', 'cross-origin']);
    const page = await api.raw('/player/page.js');
    expect(page.headers.get('access-control-allow-origin')).toBeNull();
    expect(page.headers.get('cross-origin-resource-policy')).not.toBe('cross-origin');
    for (const path of [
      'element.d.ts',
      'tsconfig.json',
      'timeline.test.ts',
      'console/main.js',
      'console/index.html',
      'vendor/hls.js',
    ])
      expect((await api.raw(`/player/${path}`)).status, path).toBe(404);
  });
});

async function visit(): Promise<Page> {
  const { page } = await openPage();
  await page.goto(`${api.url}/player/`);
  return page;
}

describe.skipIf(chromiumPath === null)('the player page without a stream in a real Chromium', () => {
  /** Whose modules are called by themselves. */
  let rules: Page;
  beforeAll(async () => {
    rules = (await openLastingPage()).page;
    await rules.goto(`${api.url}/player/`);
  });
  afterAll(() => rules?.context().close());

  /** The answer of a module of the page: the result of `expression`, which calls its export `name`. */
  const answerOf = (module: string, name: string, expression: string) =>
    rules.evaluate(`import('/player/${module}').then(({ ${name} }) => ${expression})`);

  /** The input that the page reads from the fragment of its address. */
  const inputOf = (fragment: Record<string, string>) => {
    const address = JSON.stringify(`#${new URLSearchParams(fragment).toString()}`);
    return answerOf('addresses.js', 'readFragment', `(history.replaceState(null, '', ${address}), readFragment())`);
  };

  it('each failure has a kind, says what happened, and offers what helps', async () => {
    const asked = JSON.stringify(failures.map(([what, status, token]) => [what, status, token]));
    const found = await answerOf(
      'problems.js',
      'problemOfStatus',
      `${asked}.map(([what, status, token]) => problemOfStatus(what, status, { hash: 'a', token, ticket: '' }))
        .map(({ kind, actions, isPart, title, message }) => [kind, actions, isPart, title + ' ' + message])`,
    );
    expect(found).toEqual(
      failures.map(([, , , kind, actions, text]) => [
        kind,
        actions,
        kind.startsWith('part-'),
        expect.stringMatching(text),
      ]),
    );
  });

  it('the page separates keys, lists and parts of a stream by their addresses, on any host', async () => {
    const kinds = {
      '/api/key/a': 'key',
      'https://cdn.example/api/key/a': 'key',
      '/api/key/b': 'part',
      '/stream/a/master.m3u8': 'stream',
      '/stream/a/master.m3u8?x=1': 'stream',
      '/stream/a/0/video/playlist.m3u8': 'part',
      '/stream/a/0/video/seg_1.m4s': 'part',
    };
    const asked = JSON.stringify(Object.keys(kinds));
    const found = await answerOf('addresses.js', 'kindOfAddress', `${asked}.map((uri) => kindOfAddress(uri, 'a'))`);
    expect(found).toEqual(Object.values(kinds));
  });

  it('the field takes a hash, or a job with a stream, and says what is wrong with anything else', async () => {
    const noHash = 'Enter a media hash or the JSON of a job.';
    const picks = [
      [' my-video.1~_ ', 'my-video.1~_'],
      ['x'.repeat(128), 'x'.repeat(128)],
      ['x'.repeat(129), noHash],
      ['-x', noHash],
      ['', noHash],
      ['https://media.example/s/1.k.0.sig/my-video/master.m3u8', 'my-video'],
      ['{"hash":', 'This JSON is incomplete: paste the whole job.'],
      ['{"hash":"a/b"}', 'This job has no valid `hash`.'],
      ['{"hash":"a","status":"completed","results":{"streaming":{}}}', 'a'],
      ['{"hash":"a","status":"queued","results":null}', 'This job is still queued: wait until it is completed.'],
      ['{"hash":"a","status":"processing"}', 'This job is still processing: wait until it is completed.'],
      ['{"hash":"a","type":"video:cover","status":"completed"}', 'This job (video:cover, completed) has no stream.'],
    ];
    const asked = JSON.stringify(picks.map(([given]) => given));
    const read = `${asked}.map(readPick).map(({ hash, fault }) => hash ?? fault)`;
    expect(await answerOf('addresses.js', 'readPick', read)).toEqual(picks.map(([, expected]) => expected));
  });

  it('the page takes posters of this service alone', async () => {
    const unsaid = { title: '', startSec: 0, isClean: false };
    const poster = 'thumb/c2ln-_/aW1n?f=webp&w=200';
    expect(await inputOf({ hash: 'a', token: 't', ticket: 'k', embedded: '1', poster })).toEqual({
      hash: 'a',
      token: 't',
      ticket: 'k',
      poster: `${api.url}/${poster}`,
      isEmbedded: true,
      ...unsaid,
    });
    for (const other of ['https://cdn.example/thumb/a/b', '/thumb/a/b', 'thumb/a', 'thumb/../a/b', 'thumb/a/b#c'])
      expect(await inputOf({ hash: 'a', embedded: 'yes', poster: other }), other).toEqual({
        hash: 'a',
        token: '',
        ticket: '',
        poster: '',
        isEmbedded: false,
        ...unsaid,
      });
  });

  it('C38.17: the poster is the first tile that shows something, and stays where the first frame shows nothing', async () => {
    // Four tiles: two are black, two have stripes.
    const posters = `(async () => {
      const sheet = Object.assign(document.createElement('canvas'), { width: 640, height: 90 });
      const context = sheet.getContext('2d');
      context.fillRect(0, 0, 640, 90);
      context.fillStyle = '#fff';
      for (let x = 320; x < 640; x += 8) context.fillRect(x, 0, 4, 90);
      const size = { width: 160, height: 90, imageWidth: 640, imageHeight: 90, positionY: 0, uri: sheet.toDataURL() };
      const tileAt = async (time) => {
        const index = Math.min(3, Math.floor(time / 2));
        return { ...size, from: 2 * index, to: 2 * index + 2, positionX: 160 * index };
      };
      const posterAt = async (fromSec, to = 4) => {
        const video = document.createElement('video');
        const black = { ...(await tileAt(0)), to: 2 };
        await showPoster(video, { tileAt: to === 0 ? async () => black : tileAt }, { fromSec, isCurrent: () => to >= 0 });
        const before = video.hasAttribute('poster');
        video.dispatchEvent(new Event('loadeddata'));
        return [before, video.hasAttribute('poster')];
      };
      return Promise.all([posterAt(0), posterAt(5), posterAt(0, 0), posterAt(0, -1)]);
    })()`;
    expect(await answerOf('poster.js', 'showPoster', posters)).toEqual([
      [true, true],
      [true, false],
      [false, false],
      [false, false],
    ]);
  });

  it('the field suggests the twelve hashes that played last, each once', async () => {
    const page = await visit();
    await page.evaluate(`localStorage.setItem('reelwright.recent', JSON.stringify([7, 'a']))`);
    await page.evaluate(`import('/player/recent.js').then(({ remember }) => {
      for (let index = 0; index < 13; index += 1) remember('v' + index);
      remember('v5');
    })`);
    await page.reload();
    const suggested = () =>
      page.locator('#recent option').evaluateAll((all) => all.map(({ textContent }) => textContent));
    const expected = ['v5', ...[12, 11, 10, 9, 8, 7, 6, 4, 3, 2, 1].map((index) => `v${index}`)];
    expect(await suggested()).toEqual(expected);
    for (const broken of ['"text"', '{', '[3]']) {
      await page.evaluate(`localStorage.setItem('reelwright.recent', ${JSON.stringify(broken)})`);
      await page.reload();
      expect(await suggested()).toEqual([]);
    }
  });
});
