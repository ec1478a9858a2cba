import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ImportErrorCode } from '#domain/imports/import.ts';
import { until } from '../../testing/controller-rig.ts';
import type { Answer } from '../../testing/file-server.ts';
import {
  begin,
  canary,
  fileOf,
  type ImportApi,
  isNothingLeft,
  mebibyte,
  newFolder,
  reached,
  serve,
  startImportApi,
} from './imports-rig.ts';

// docs/reference/contract.md, "Bring in": from where imports come, and what ends them.

const redirect =
  (...to: string[]): Answer =>
  (request, response) => {
    const target = to[Number(request.url?.slice(1))];
    if (target === undefined) return false;
    response.writeHead(302, { location: target }).end();
    return true;
  };

/** The addresses that names resolve to, one answer after another. */
const names: Record<string, string[]> = {};
const resolve = (name: string) => Promise.resolve([{ address: names[name]?.shift() ?? '127.0.0.2', family: 4 }]);

describe('the source of an import', () => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newFolder());
    await api.startWorker({ resolve });
  });
  afterAll(() => api.close());
  beforeEach(() => {
    api.settings.hosts.length = 0;
  });

  /** The error of an import that fails and leaves nothing. */
  async function failure(url: string): Promise<{ code: ImportErrorCode; http_status: number | null }> {
    const begun = await begin(api, { url });
    expect([begun.status, begun.json.errors]).toEqual([202, undefined]);
    const { error } = await reached(api, begun.json.import_id, 'failed');
    await until(
      () => isNothingLeft(api, begun.json.import_id),
      (isLeft) => isLeft,
    );
    return error;
  }

  it('C30.19: a redirect to a host outside the list is refused, and nothing is sent there', async () => {
    const outside = await canary();
    const server = await serve(api, fileOf(1000), redirect(`${outside.url}/a.mp4`));
    expect(await failure(`${server.url}/0`)).toMatchObject({ code: 'host_not_allowed' });
    expect(outside.requests).toEqual([]);
  });

  it('C30.19: redirects within the list are followed five times, and no more', async () => {
    const server = await serve(api, fileOf(1000), redirect('/1', '/2', '/3', '/4', '/5', '/6'));
    expect(await failure(`${server.url}/0`)).toMatchObject({ code: 'too_many_redirects' });
    const begun = await begin(api, { url: `${server.url}/1` });
    expect(await reached(api, begun.json.import_id, 'completed')).toMatchObject({ bytes: 1000 });
  });

  it('C30.18: a literal private address that no rule allows is refused at once', async () => {
    const inner = await canary();
    api.settings.hosts.push(inner.host);
    const answer = await begin(api, { url: `${inner.url}/a.mp4` });
    expect([answer.status, answer.json.errors[0].code]).toEqual([400, 'address_refused']);
    expect(inner.requests).toEqual([]);
  });

  it('C30.19: a listed name that leads to a private address is refused, and nothing is sent there', async () => {
    const inner = await canary();
    const port = inner.host.split(':')[1];
    api.settings.hosts.push(`inner.example:${port}`);
    names['inner.example'] = ['127.0.0.2'];
    expect(await failure(`http://inner.example:${port}/a.mp4`)).toMatchObject({ code: 'address_refused' });
    expect(inner.requests).toEqual([]);
  });

  it('C30.19: a name that leads to a private address at its second request is refused then', async () => {
    const inner = await canary();
    const server = await serve(api, fileOf(1000), (request, response) => {
      response.writeHead(302, { location: `http://rebinding.example:${inner.host.split(':')[1]}/a.mp4` }).end();
      return request.url !== undefined;
    });
    const [port, innerPort] = [server, inner].map(({ host }) => host.split(':')[1]);
    api.settings.hosts.push(`rebinding.example:${port}`, `rebinding.example:${innerPort}`);
    names['rebinding.example'] = ['127.0.0.1', '127.0.0.2'];
    expect(await failure(`http://rebinding.example:${port}/a.mp4`)).toMatchObject({ code: 'address_refused' });
    expect([server.requests.length, inner.requests.length]).toEqual([1, 0]);
  });

  it('C30.21: a file over IMPORT_MAX_BYTES fails, whether the server says its size or not', async () => {
    const big = fileOf(33 * mebibyte);
    const announced = await serve(api, big);
    expect(await failure(`${announced.url}/a.mp4`)).toMatchObject({ code: 'too_large' });
    const silent = await serve(api, big, (_request, response) => {
      response.writeHead(200);
      response.end(big);
      return true;
    });
    expect(await failure(`${silent.url}/a.mp4`)).toMatchObject({ code: 'too_large' });
  });

  it('C30.21: what no job can read fails by its first bytes, and so does an empty file', async () => {
    for (const bytes of [Buffer.from('%PDF-1.7 not a video'), Buffer.alloc(0)]) {
      const server = await serve(api, bytes);
      expect(await failure(`${server.url}/a.mp4`)).toMatchObject({ code: 'unsupported' });
    }
  });

  it.each([
    [404, 'not_found'],
    [403, 'access_denied'],
    [400, 'bad_answer'],
  ] as const)('C30.21: an answer of %i fails an import with %s at once', async (status, code) => {
    const server = await serve(api, fileOf(10), (_request, response) => {
      response.writeHead(status).end();
      return true;
    });
    expect(await failure(`${server.url}/a.mp4`)).toEqual(expect.objectContaining({ code, http_status: status }));
    expect(server.requests).toHaveLength(1);
  });

  it('C30.23: a server that fails for some time is asked again, and one that goes on failing ends the import', async () => {
    let failing = 2;
    const passing = await serve(api, fileOf(1000), (_request, response) => {
      if (failing-- > 0) return response.writeHead(503).end() === response;
      return false;
    });
    const begun = await begin(api, { url: `${passing.url}/a.mp4` });
    expect(await reached(api, begun.json.import_id, 'completed')).toMatchObject({ bytes: 1000 });
    const broken = await serve(api, fileOf(1000), (_request, response) => response.writeHead(503).end() === response);
    expect(await failure(`${broken.url}/a.mp4`)).toMatchObject({ code: 'unavailable', http_status: 503 });
    expect(broken.requests).toHaveLength(4);
  });

  it('C30.23: an import that takes longer than its size allows fails', async () => {
    const server = await serve(api, fileOf(1000), () => true);
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4` });
    await until(
      () => server.requests.length,
      (requests) => requests === 1,
    );
    await api.d.database.pool.query('update imports set deadline_at = now() where id = $1', [begun.import_id]);
    expect((await reached(api, begun.import_id, 'failed')).error).toMatchObject({ code: 'deadline_exceeded' });
  });
});
