import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, inject, it, type TestContext } from 'vitest';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { until } from '../../testing/controller-rig.ts';
import { sendFile, startFileServer } from '../../testing/file-server.ts';
import { type Fleet, openFleet } from '../../testing/fleet.ts';
import { memoryOf } from '../../testing/process-memory.ts';
import { secrets } from '../../testing/programs.ts';

const mebibyte = 1024 * 1024;
const sizeBytes = 160 * mebibyte;
const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

async function importOf(fleet: Fleet, host: string) {
  const env = {
    UPLOAD_BUCKET: `file:${fleet.source}`,
    IMPORT_HOSTS: host,
    IMPORT_ALLOWED_CIDRS: '127.0.0.1/32',
  };
  const api = await fleet.start('server', env);
  const answer = await fetch(`${api.url}/api/imports`, {
    method: 'POST',
    headers: { 'x-api-key': secrets.API_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `http://${host}/movie.mp4` }),
  });
  expect(answer.status).toBe(202);
  const { import_id: id, source } = (await answer.json()) as { import_id: string; source: string };
  const rows = new ImportStore(fleet.database);
  return { env, source, find: () => rows.find(id) };
}

describe.skipIf(!inject('postgres') || !inject('redis'))('a worker in the middle of an import', () => {
  it('C30.25: the import of a killed worker is completed by another one, from where it was, with the memory of a part', async (context: TestContext) => {
    const fleet = await openFleet(context);
    const file = randomBytes(sizeBytes);
    file.write('\0\0\0\x18ftypmp42', 'latin1');
    const server = await startFileServer(
      () => ({ bytes: file, etag: '"v1"' }),
      (request, response) => {
        if (server.requests.length > 1) return false;
        // The first attempt gets 40 MiB, then nothing more.
        sendFile(request, response, { bytes: file, etag: '"v1"', holdAt: 40 * mebibyte });
        return true;
      },
    );
    context.onTestFinished(() => server.close());
    const { env, source, find } = await importOf(fleet, server.host);
    const killed = await fleet.start('worker', env);
    await until(find, (row) => row?.storedBytes === 40 * mebibyte, 30_000);
    killed.signal('SIGKILL');
    await killed.ended;
    const next = await fleet.start('worker', env);
    const before = await memoryOf(next.pid, 'VmRSS');
    await until(find, (row) => row?.status === 'completed', 60_000);
    expect(server.requests.map(({ range, ifRange }) => [range, ifRange])).toEqual([
      [undefined, undefined],
      [`bytes=${40 * mebibyte}-`, '"v1"'],
    ]);
    const stored = await readFile(join(fleet.source, source));
    expect(digestOf(stored)).toBe(digestOf(file));
    expect((await memoryOf(next.pid, 'VmHWM')) - before).toBeLessThan(100 * mebibyte);
  });
});
