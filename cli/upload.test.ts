import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ReelwrightError, type Upload } from '../clients/typescript/src/index.ts';
import type { UploadOptions } from '../clients/typescript/src/uploads.ts';
import type { Context } from './command.ts';
import { describeFile, uploadFromUrl, uploadLocalFile } from './upload.ts';

// With a real service that is killed: test/contract/cli-upload.deep.test.ts.

let home = '';
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'reelwright-cli-upload-'));
  await writeFile(join(home, 'a.mp4'), 'bytes');
});
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(home, { recursive: true });
});

type Step = (options: UploadOptions) => unknown;

/** Uploads a file to a service where each try comes to one of these steps; what each was asked for. */
async function upload(...steps: readonly Step[]) {
  return await uploadTo('http://service.test', ...steps);
}

async function uploadTo(base_url: string, ...steps: readonly Step[]) {
  const asked: { resume: string | null; sha256: string | undefined }[] = [];
  const client = {
    upload: async (_: Blob, options: UploadOptions) => {
      asked.push({ resume: options.resume ?? null, sha256: options.sha256 });
      return (await steps[asked.length - 1]?.(options)) as Upload;
    },
  };
  const context = {
    env: { HOME: home },
    output: { note: () => undefined, bar: () => undefined },
    signal: new AbortController().signal,
    server: () => Promise.resolve({ base_url }),
    client: () => Promise.resolve(client),
  } as unknown as Context;
  const file = await describeFile(context, join(home, 'a.mp4'), 5);
  const error = await uploadLocalFile(context, file).then(
    () => null,
    (thrown: unknown) => (thrown as ReelwrightError).code,
  );
  return { asked, error };
}

const progressOf = (id: string) => (options: UploadOptions) =>
  options.onProgress?.({ uploadId: id, sentBytes: 1, totalBytes: 5 });
const failing = (code: string, id?: string) => (options: UploadOptions) => {
  if (id !== undefined) progressOf(id)(options);
  throw new ReelwrightError({ code, detail: 'd' });
};
const done = () => ({ status: 'completed' });

it('an upload that the service has no more begins again without it', async () => {
  for (const code of ['not_found', 'upload_conflict']) {
    const { asked, error } = await upload(failing(code, 'u1'), done);
    expect([error, asked.map(({ resume }) => resume)]).toEqual([null, [null, null]]);
  }
});

it('an upload goes on by its id after an outage, with the digest of the file', async () => {
  const { asked, error } = await upload(failing('unreachable', 'u1'), done);
  expect([error, asked.map(({ resume }) => resume)]).toEqual([null, [null, 'u1']]);
  expect(asked[1]?.sha256).toMatch(/^[0-9a-f]{64}$/);
});

it('a call after one that was ended goes on with its upload, and after one that was done begins another', async () => {
  await upload(failing('unauthorized', 'u1'));
  expect((await upload(done)).asked).toMatchObject([{ resume: 'u1' }]);
  expect((await upload(done)).asked).toMatchObject([{ resume: null }]);
});

it('an upload is resumed for the same bytes and the same service alone', async () => {
  await upload(failing('unauthorized', 'u1'));
  expect((await uploadTo('http://other.test', failing('unauthorized'))).asked).toMatchObject([{ resume: null }]);
  await writeFile(join(home, 'a.mp4'), 'other');
  expect((await upload(failing('unauthorized'))).asked).toMatchObject([{ resume: null }]);
});

it('five minutes without progress end an upload, and a refusal does at once', async () => {
  const start = Date.now();
  vi.spyOn(Date, 'now')
    .mockReturnValueOnce(start)
    .mockReturnValueOnce(start)
    .mockReturnValue(start + 300_001);
  expect(await upload(failing('unreachable'))).toMatchObject({ error: 'unreachable', asked: [{ resume: null }] });
  vi.restoreAllMocks();
  expect(await upload(failing('invalid_request'))).toMatchObject({ error: 'invalid_request', asked: [{}] });
});

it.each([
  ['http://a.test/x/Clip%201.mp4?sig=1', 'Clip 1.mp4'],
  ['http://a.test/100%.mp4', '100%.mp4'],
  ['http://a.test/', 'file'],
])('what %s has is uploaded by the name %s, also where that is not encoded well', async (url, name) => {
  vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('bytes', { headers: { 'content-length': '5' } }));
  const names: (string | undefined)[] = [];
  const client = { upload: (_: unknown, options: UploadOptions) => Promise.resolve(names.push(options.name)) };
  await uploadFromUrl({ client: () => Promise.resolve(client) } as unknown as Context, url);
  expect(names).toEqual([name]);
});
