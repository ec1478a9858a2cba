import { execFileSync, execFile } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { ImageProcessor } from '#platform/images/image-processor.ts';
import { postOutbound } from '#platform/outbound-http/outbound-http.ts';
import { describeCommand } from '../../runner/tools/ffprobe.ts';
import { removeRigs } from '../../testing/runner.ts';
import { refusal } from '../../testing/transcode.ts';
import { sourceOf } from '../../testing/image-source.ts';

// Sources and addresses that would make the service read something else: a server and a file stand there as canaries,
// and neither may be touched. Each attack that a program of ours would carry out is first shown to work without its
// guard.

let folder: string;
let server: Server;
let requests = 0;
let port: number;
/** A pipe: what is written into it stays there until it is read. */
let canary: number;
const secret = 'this stays in the pipe';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-hostile-'));
  server = createServer((_, response) => {
    requests += 1;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  port = (server.address() as AddressInfo).port;
  execFileSync('mkfifo', [join(folder, 'canary.ts')]);
  canary = openSync(join(folder, 'canary.ts'), constants.O_RDWR | constants.O_NONBLOCK);
  writeSync(canary, secret);
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  closeSync(canary);
  await rm(folder, { recursive: true });
  await removeRigs();
});

/** How often the canaries were touched since the last call; what was read of the pipe is written again. */
function touched(): { readonly requests: number; readonly reads: number } {
  const found = Buffer.alloc(4096);
  let left = 0;
  try {
    left = readSync(canary, found);
  } catch {
    // Nothing is left in it.
  }
  writeSync(canary, secret);
  const counts = { requests, reads: left === secret.length ? 0 : 1 };
  requests = 0;
  return counts;
}

const isTouched = ({ requests: asked, reads }: ReturnType<typeof touched>) => asked + reads > 0;

const hls = (uri: string) => `#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:3,\n${uri}\n#EXT-X-ENDLIST\n`;

const mpd = (uri: string) =>
  `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011" type="static" mediaPresentationDuration="PT3S"><Period><AdaptationSet mimeType="video/mp4"><Representation id="a" bandwidth="1000"><BaseURL>${uri}</BaseURL><SegmentBase indexRange="0-99"/></Representation></AdaptationSet></Period></MPD>`;

const uris = () => [
  `http://127.0.0.1:${port}/canary.ts`,
  join(folder, 'canary.ts'),
  `file:${join(folder, 'canary.ts')}`,
  `concat:${join(folder, 'canary.ts')}|a.ts`,
  `subfile,,start,0,end,9,,:${join(folder, 'canary.ts')}`,
  `crypto+http://127.0.0.1:${port}/canary.ts`,
  `tcp://127.0.0.1:${port}`,
  `cache:http://127.0.0.1:${port}/a.ts`,
];

/** ffprobe on a file; its end does not matter. */
const probe = (args: readonly string[], signal = AbortSignal.timeout(60_000)) =>
  new Promise<void>((resolve) => {
    const program = findProgram('ffprobe', process.env);
    execFile(program, args, { signal, killSignal: 'SIGKILL', cwd: folder }, () => resolve());
  });

const svg = (uri: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9"><image width="9" height="9" xlink:href="${uri}"/></svg>`;

const changed = (bytes: Buffer, at: number, value: readonly number[]) => {
  const copy = Buffer.from(bytes);
  copy.set(value, at);
  return copy;
};

/** Headers that state the largest size their format can. */
function bombs(png: Buffer, webp: Buffer, bmp: Buffer): Buffer[] {
  const ones = [0xff, 0xff, 0xff, 0xff];
  return [
    changed(png, 16, [0x7f, ...ones.slice(1), 0x7f, ...ones.slice(1)]),
    changed(webp, 26, ones),
    changed(bmp, 18, [0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f]),
  ];
}

const post = async (host: string, allowedCidrs: readonly string[]) =>
  await postOutbound({ url: `http://${host}:${port}/`, headers: {}, body: '{}', timeoutMs: 2000, allowedCidrs }).then(
    () => 'sent',
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );

describe('video sources that name other files and addresses', () => {
  const sdp =
    'v=0\no=- 0 0 IN IP4 127.0.0.1\ns=a\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 9 RTP/AVP 96\na=rtpmap:96 H264/90000\n';
  const forms: readonly (readonly [string, (uri: string) => string])[] = [
    ['HLS', hls],
    ['HLS master', (uri) => `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${uri}\n`],
    ['HLS key', (uri) => hls('a.ts').replace('#EXTINF', `#EXT-X-KEY:METHOD=AES-128,URI="${uri}"\n#EXTINF`)],
    ['HLS map', (uri) => hls('a.m4s').replace('#EXTINF', `#EXT-X-MAP:URI="${uri}"\n#EXTINF`)],
    ['concat', (uri) => `ffconcat version 1.0\nfile '${uri}'\n`],
    ['concat of an option', (uri) => `ffconcat version 1.0\nfile ${uri}\noption safe 0\n`],
    ['DASH', mpd],
    ['DASH entity', (uri) => mpd('&a;').replace('<MPD', `<!DOCTYPE a [<!ENTITY a SYSTEM "${uri}">]><MPD`)],
    ['SDP', () => sdp],
    ['ASX', (uri) => `<asx version="3.0"><entry><ref href="${uri}"/></entry></asx>`],
    ['ASF reference', (uri) => `[Reference]\nRef1=${uri}\n`],
    ['SMIL', (uri) => `<smil><body><video src="${uri}"/></body></smil>`],
    ['PLS', (uri) => `[playlist]\nFile1=${uri}\nNumberOfEntries=1\n`],
    [
      'XSPF',
      (uri) =>
        `<playlist xmlns="http://xspf.org/ns/0/"><trackList><track><location>${uri}</location></track></trackList></playlist>`,
    ],
    [
      'IMF',
      (uri) =>
        `<CompositionPlaylist xmlns="http://www.smpte-ra.org/schemas/2067-3/2016"><Id>${uri}</Id></CompositionPlaylist>`,
    ],
    ['VobSub', (uri) => `# VobSub index file, v7\nid: en, index: 0\n${uri}\n`],
  ];
  const names = ['source', 'source.m3u8', 'source.mp4', 'source.mpd', 'source.sdp'];

  const unguarded = ['-protocol_whitelist', 'file,http,tcp,crypto,concat,subfile,cache,data,udp,rtp'];

  it.each([
    ['hls', 'HLS', ['-allowed_extensions', 'ALL']],
    ['concat', 'concat', ['-safe', '0']],
  ])('without the guards ffprobe opens what a playlist of the kind %s names', async (demuxer, name, options) => {
    const form = forms.find(([each]) => each === name)?.[1] ?? hls;
    for (const uri of uris().slice(0, 2)) {
      await writeFile(join(folder, 'source'), form(uri));
      touched();
      // It would read the pipe for ever.
      const stop = new AbortController();
      const ended = probe([...unguarded, '-f', demuxer, ...options, '-i', 'source'], stop.signal);
      await expect.poll(() => isTouched(touched()), { message: uri }).toBe(true);
      stop.abort();
      await ended;
    }
  });

  it('with the guards ffprobe opens nothing, whatever the source holds and is called', async () => {
    let tried = 0;
    touched();
    for (const name of names) {
      for (const [kind, form] of forms) {
        // One of all addresses under each name, all of them under the name that sources have.
        const addresses = name === 'source' ? uris() : uris().slice(tried % 8, (tried % 8) + 1);
        await Promise.all(
          addresses.map(async (uri, index) => {
            const path = join(folder, `${index}-${kind.replaceAll(' ', '-')}-${name}`);
            await writeFile(path, form(uri));
            const { args } = describeCommand('ffprobe', path);
            await probe(args);
            await rm(path);
            tried += 1;
          }),
        );
      }
    }
    expect(touched()).toEqual({ requests: 0, reads: 0 });
    process.stdout.write(`${tried} video sources tried\n`);
  });

  it('a job of such a source fails with unsupported_media', async () => {
    touched();
    for (const kind of ['HLS', 'concat', 'DASH', 'SDP']) {
      const form = forms.find(([each]) => each === kind)?.[1] ?? hls;
      const content = form(join(folder, 'canary.ts'));
      expect([kind, await refusal({ content })]).toEqual([kind, [10, 'unsupported_media', false]]);
    }
    expect(touched()).toEqual({ requests: 0, reads: 0 });
  });
});

describe('image sources that name other files and addresses, or are larger than they look', () => {
  const work = { width: 16, height: 16, fit: 'cover', format: 'webp', quality: 50 } as const;
  const look = { create: { width: 64, height: 64, channels: 3, background: '#aa5500' } } as const;

  it('none of them is made, none opens anything, and the process lives on', async () => {
    const images = new ImageProcessor();
    const [png, gif, webp, jpg, avif] = await Promise.all(
      (['png', 'gif', 'webp', 'jpeg', 'avif'] as const).map((format) => sharp(look).toFormat(format).toBuffer()),
    );
    if (!png || !gif || !webp || !jpg || !avif) throw new Error('expected five images');
    const bmp = Buffer.concat([Buffer.from('BM'), Buffer.alloc(12), Buffer.from([40, 0, 0, 0]), Buffer.alloc(100)]);
    bmp.set([1, 0, 24], 26);
    const named = [`http://127.0.0.1:${port}/a.png`, join(folder, 'canary.ts'), `file://${join(folder, 'canary.ts')}`];
    // The control: libvips by itself renders SVG, in a process of its own, since other files block its loader here.
    const control = "import sharp from 'sharp'; console.log((await sharp(process.argv[1]).metadata()).format)";
    await writeFile(join(folder, 'control.svg'), svg('data:,'));
    const asked = ['--input-type=module', '--eval', control, join(folder, 'control.svg')];
    expect(execFileSync(process.execPath, asked, { encoding: 'utf8' })).toBe('svg\n');
    const texts = named.flatMap((uri) => [
      svg(uri),
      `\uFEFF <?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a SYSTEM "${uri}">]>${svg('&a;')}`,
      `<?xml-stylesheet href="${uri}"?>${svg(uri)}`,
      `push graphic-context\nviewbox 0 0 9 9\nimage over 0,0 9,9 '${uri}'\npop graphic-context\n`,
      `<?xml version="1.0"?><image><read filename="${uri}"/></image>`,
      `%!PS\n(${uri}) (r) file closefile showpage\n`,
      `%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/URI/URI(${uri})>>>>endobj\n`,
      `text:@${uri}`,
      `#EXTM3U\n${uri}\n`,
    ]);
    const gzip = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
    const cut = [png, gif, webp, jpg, avif].flatMap((bytes) => [4, 16, 40].map((length) => bytes.subarray(0, length)));
    const nested = [png, gif, webp].map((bytes) => Buffer.concat([Buffer.from('GIF89a'), bytes]));
    const hostile = [
      ...texts.map((text) => Buffer.from(text)),
      ...bombs(png, webp, bmp),
      ...cut,
      ...nested,
      Buffer.concat([gzip, Buffer.from(svg(named[0] ?? ''))]),
      Buffer.alloc(0),
    ];
    touched();
    const ends = await Promise.all(
      hostile.map((bytes, index) =>
        images.make(sourceOf(bytes), work, { client: String(index) }).then(
          () => 'made',
          (error: Error) => error.name,
        ),
      ),
    );
    expect(ends.flatMap((end, index) => (end === 'ImageRefused' ? [] : [[index, end]]))).toEqual([]);
    // An image with something behind or within it is made, and only the image of it.
    const polyglots = [jpg, png, gif].flatMap((bytes) =>
      texts.slice(0, 3).map((text) => Buffer.concat([bytes, Buffer.from(text)])),
    );
    for (const bytes of polyglots)
      expect((await images.make(sourceOf(bytes), work)).toString('latin1')).not.toContain('svg');
    // Of a GIF, libvips takes no absurd size of the screen, but the one of its frame.
    const screen = Buffer.from(gif);
    screen.fill(0xff, 6, 10);
    expect(
      await sharp(await images.make(sourceOf(screen), { ...work, width: null, height: null })).metadata(),
    ).toMatchObject({
      width: 64,
    });
    expect(touched()).toEqual({ requests: 0, reads: 0 });
    await images.close();
    process.stdout.write(`${hostile.length + polyglots.length} image sources tried\n`);
  });
});

describe('addresses of webhooks', () => {
  const forms = [
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '017700000001',
    '0',
    '0.0.0.0',
    '127.0.0.2',
    '127.255.255.254',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    'localhost',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '127.0.0.1.',
    '１２７.0.0.1',
    '①②⑦.0.0.1',
    '127。0。0。1',
    'localhost.',
    'LOCALHOST',
    '%31%32%37.0.0.1',
    '[::1%25lo]',
  ];

  it('no form of an address of this machine is requested; allowed, most of them would be', async () => {
    touched();
    const reached: string[] = [];
    for (const host of forms) {
      await post(host, ['0.0.0.0/0', '::/0']);
      if (isTouched(touched())) reached.push(host);
    }
    expect(reached.length).toBeGreaterThan(15);
    const ends = await Promise.all(forms.map(async (host) => [host, await post(host, [])]));
    expect(ends.filter(([, end]) => end === 'sent')).toEqual([]);
    for (const host of reached) expect(ends).toContainEqual([host, 'refused_address']);
    expect(touched()).toEqual({ requests: 0, reads: 0 });
    process.stdout.write(`${forms.length} addresses tried, ${reached.length} would be reached\n`);
  });
});
