import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { openFleet } from '../../testing/fleet.ts';
import { memoryOf } from '../../testing/process-memory.ts';
import { secrets } from '../../testing/programs.ts';

// An upload through the routes of the service (a folder as bucket), in a process of its own whose memory is looked at.

const mebibyte = 1024 * 1024;
const sizeBytes = 384 * mebibyte;
const growthMax = 100 * mebibyte;

interface Upload {
  readonly upload_id: string;
  readonly source: string;
  readonly part_size: number;
  readonly parts: readonly { readonly number: number; readonly size: number; readonly url: string }[];
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer);
  return digest.digest('hex');
}

/** The file's bytes: one random block, each with its number, so that no block may stand in another's place. */
function fileBytes() {
  const block = randomBytes(mebibyte);
  block.write('\0\0\0\x18ftypmp42', 'latin1');
  return (from: number, length: number): Buffer => {
    const blocks = Array.from({ length: length / mebibyte }, (_, n) => {
      const numbered = Buffer.from(block);
      numbered.writeUInt32BE(from / mebibyte + n, 1024);
      return numbered;
    });
    return Buffer.concat(blocks);
  };
}

describe.skipIf(!inject('postgres') || !inject('redis'))('the memory of a server that takes an upload', () => {
  it('384 MiB in parts, four at a time and some twice, take a server under 100 MiB and arrive with their digest', async () => {
    const fleet = await openFleet({ onTestFinished });
    const server = await fleet.start('server', { UPLOAD_BUCKET: `file:${fleet.source}` });
    const bytes = fileBytes();
    const whole = createHash('sha256');
    for (let at = 0; at < sizeBytes; at += 8 * mebibyte) whole.update(bytes(at, 8 * mebibyte));
    const sha256 = whole.digest('hex');
    const headers = { 'x-api-key': secrets.API_KEY, 'content-type': 'application/json' };
    const send = async (path: string, body: object = {}) => {
      const answer = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: answer.status, upload: (await answer.json()) as Upload };
    };
    // What a first request loads is no growth of an upload.
    await send('/api/uploads', { name: 'first.mp4', size: 1 });
    const before = await memoryOf(server.pid, 'VmRSS');
    const { upload } = await send('/api/uploads', { name: 'large.mp4', size: sizeBytes, sha256 });
    const parts = upload.parts.values();
    const putRest = async () => {
      for (const { number, size, url } of parts)
        // Every tenth one comes twice, as after an interruption.
        for (let times = number % 10 === 0 ? 2 : 1; times > 0; times -= 1) {
          const body = new Uint8Array(bytes((number - 1) * upload.part_size, size));
          expect((await fetch(url, { method: 'PUT', body })).status).toBe(200);
        }
    };
    await Promise.all(Array.from({ length: 4 }, putRest));
    let completed = await send(`/api/uploads/${upload.upload_id}/complete`);
    while (completed.status === 202) completed = await send(`/api/uploads/${upload.upload_id}/complete`);
    expect(completed.status).toBe(200);
    expect((await memoryOf(server.pid, 'VmHWM')) - before).toBeLessThan(growthMax);
    expect(await digestOf(join(fleet.source, upload.source))).toBe(sha256);
  }, 180_000);
});
