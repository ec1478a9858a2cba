import { execFileSync, execFile } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { describeCommand } from '../../runner/tools/ffprobe.ts';
import { removeRigs } from '../../testing/runner.ts';

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

describe('video sources that name other files and addresses', () => {
  const sdp =
    'v=0\no=- 0 0 IN IP4 127.0.0.1\ns=a\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 9 RTP/AVP 96\na=rtpmap:96 H264/90000\n';
  const forms: readonly (readonly [string, (uri: string) => string])[] = [
    ['HLS', hls],
    ['HLS key', (uri) => hls('a.ts').replace('#EXTINF', `#EXT-X-KEY:METHOD=AES-128,URI="${uri}"\n#EXTINF`)],
    ['concat', (uri) => `ffconcat version 1.0\nfile '${uri}'\n`],
    ['DASH', mpd],
    ['DASH entity', (uri) => mpd('&a;').replace('<MPD', `<!DOCTYPE a [<!ENTITY a SYSTEM "${uri}">]><MPD`)],
    ['SDP', () => sdp],
  ];
  const names = ['source', 'source.m3u8', 'source.mp4', 'source.mpd', 'source.sdp'];

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
});
