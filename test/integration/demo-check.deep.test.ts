import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { checkEncryptedStream } from '../../demo/check.ts';
import { tokenFor } from '../../testing/player-page.ts';
import { onStage } from '../../testing/stage/stage.ts';
import type { StageStreams } from '../../testing/stage/streams.ts';

// The check of the demo, which decrypts and decodes an encrypted stream: it holds for the stream of the service, and
// fails for one that is changed on its way.

const tools = { ffmpeg: findProgram('ffmpeg', process.env), packager: findProgram('packager', process.env) };
type Change = (path: string, bytes: Buffer) => Buffer;
let streams: StageStreams;

/** A server that forwards to `baseUrl` and changes the bytes of the answers, until the test ends. */
async function startForger(baseUrl: string, change: Change): Promise<string> {
  const server = createServer((request, response) => {
    const answer = async () => {
      const { url = '/', headers } = request;
      const { authorization } = headers;
      const found = await fetch(`${baseUrl}${url}`, authorization === undefined ? {} : { headers: { authorization } });
      response.writeHead(found.status).end(change(url, Buffer.from(await found.arrayBuffer())));
    };
    answer().catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Fetches, decrypts and decodes the stream through a server that changes its answers. */
async function check(change: Change) {
  const { encrypted: hash, results } = streams;
  const baseUrl = await startForger(streams.service.url, change);
  const workDir = await mkdtemp(join(tmpdir(), 'reelwright-check-'));
  onTestFinished(() => rm(workDir, { recursive: true, force: true }));
  return await checkEncryptedStream({
    baseUrl,
    hash,
    token: tokenFor(hash),
    results: { ...results, encryption: { ...results.encryption!, key_endpoint: `${baseUrl}/api/key/${hash}` } },
    tools,
    workDir,
    signal: new AbortController().signal,
  });
}

const inText = (bytes: Buffer, pattern: RegExp | string, text: string) =>
  Buffer.from(bytes.toString('latin1').replaceAll(pattern, text), 'latin1');

describe.skipIf(!inject('postgres'))('the check of an encrypted stream', () => {
  beforeAll(async () => {
    streams = await onStage('streams of bars');
  });

  it('the encrypted stream decrypts with the key of the key endpoint, and its top rung has an SSIM over 0.9', async () => {
    const renditions = await check((_path, bytes) => bytes);
    expect(renditions.map(({ kind }) => kind).toSorted()).toEqual(['audio', 'audio', 'video', 'video']);
    const top = renditions.find(({ url }) => url.includes('/r540_h264/'));
    const inputs = ['-i', top?.file ?? '', '-i', join(streams.service.source, streams.source)];
    const args = ['-nostdin', '-v', 'info', ...inputs, '-filter_complex', '[0:v][1:v]ssim', '-an', '-f', 'null', '-'];
    const { stderrTail } = await runCommand({ program: tools.ffmpeg, args }, { timeoutMs: 60_000 });
    expect(Number(/SSIM .*All:([0-9.]+)/.exec(stderrTail)?.[1])).toBeGreaterThan(0.9);
  });

  const undecodable = /does not decrypt|does not decode|decodes with errors/;
  it.each<[string, string, (bytes: Buffer) => Buffer, RegExp]>([
    ['another key', `/api/key/bars-encrypted`, () => Buffer.alloc(16, 7), undecodable],
    [
      'a damaged segment',
      '/video/r360_h264/seg_2.m4s',
      (bytes) => Buffer.from(bytes).fill(0, bytes.length >> 1),
      undecodable,
    ],
    [
      'a missing segment',
      '/playlist.m3u8',
      (bytes) => inText(bytes, /#EXTINF:.*\n.*seg_2.*\n/g, ''),
      /decodes to .* instead of/,
    ],
    ['a clear init segment', '/init.mp4', (bytes) => inText(bytes, 'cbcs', 'cenc'), /is not protected by cbcs/],
  ])('the stream check fails with %s', async (_, end, change, message) => {
    await expect(check((path, bytes) => (path.endsWith(end) ? change(bytes) : bytes))).rejects.toThrow(message);
  });
});
