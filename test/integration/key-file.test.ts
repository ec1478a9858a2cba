import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOfKey, keyIdOf, namedKeyOf } from '#domain/keys/api-key.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { keyFileTask } from '../../api/key-file.ts';
import { makeKey } from '../../testing/named-keys.ts';
import { type ApiUnderTest, startApi } from '../contract/api-under-test.ts';

// API_KEYS_FILE, laid out as kubelet does: a link to a link to the folder of a version, which is replaced as a whole.

let api: ApiUnderTest;
let folder: string;
let version = 0;
let lines: Record<string, unknown>[] = [];
const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
const log = createLogger({ level: 'info', name: 'test', destination });
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-keys-'));
  lines = [];
  await api.d.database.pool.query('delete from api_keys');
  return () => rm(folder, { recursive: true });
});

const path = () => join(folder, 'keys.yaml');

async function publish(entries: readonly object[] | string): Promise<void> {
  version += 1;
  const dir = join(folder, `..${version}`);
  await mkdir(dir);
  await writeFile(join(dir, 'keys.yaml'), typeof entries === 'string' ? entries : JSON.stringify(entries));
  await symlink(`..${version}`, join(folder, '..next'));
  await rename(join(folder, '..next'), join(folder, '..data'));
  await symlink('..data/keys.yaml', path()).catch(() => undefined);
}

function newServer(at = path()) {
  const metrics = new Metrics();
  const task = keyFileTask({ path: at, database: api.d.database, metrics, log });
  const faults = async () => (await metrics.keyFileFaults.get()).values[0]?.value;
  return { read: () => task.work(new AbortController().signal), faults };
}

const entry = (name: string, more: object = {}) => {
  const key = namedKeyOf(randomBytes);
  return { name, rights: ['read'], key, ...more };
};
const listed = async () =>
  (await api.call('/api/keys')).json.keys.map(({ name, origin, rights }: Record<string, unknown>) => [
    name,
    origin,
    rights,
  ]) as unknown[];
const statusWith = async (key: string) => (await api.call('/api/jobs', { headers: { 'x-api-key': key } })).status;

describe('API_KEYS_FILE', () => {
  it('C35.25: its entries are keys, by text or by digest; they change with it, and go when they leave it', async () => {
    const [a, b] = [entry('a'), entry('b')];
    const byDigest = { name: 'b', rights: ['read'], sha256: digestOfKey(b.key).toString('hex') };
    const other = await makeKey(api.d.database, { name: 'of the API', rights: ['read'] });
    const server = newServer();
    await publish([a, byDigest]);
    await server.read();
    expect([await statusWith(a.key), await statusWith(b.key)]).toEqual([200, 200]);
    await publish([{ ...a, rights: ['read', 'submit'] }]);
    await server.read();
    expect(await listed()).toEqual([
      ['a', 'file', ['read', 'submit']],
      ['of the API', 'api', ['read']],
    ]);
    await publish([]);
    await server.read();
    expect(await listed()).toEqual([['of the API', 'api', ['read']]]);
    expect(await statusWith(other.text)).toBe(200);
    expect(lines.map(({ msg, revoked }) => [msg, revoked])).toEqual([
      ['API keys of the file applied', []],
      ['API keys of the file applied', ['b']],
      ['API keys of the file applied', ['a']],
    ]);
    expect(JSON.stringify(lines)).not.toContain(a.key);
  });

  it('C35.25: an entry with another secret ends the earlier one, and its sessions', async () => {
    const [first, second] = [entry('a'), entry('a')];
    const server = newServer();
    await publish([first]);
    await server.read();
    await api.call('/api/sessions', { method: 'POST', headers: { 'x-api-key': first.key } });
    await publish([second]);
    await server.read();
    const { rows } = await api.d.database.pool.query('select id from api_keys');
    expect(rows).toEqual([{ id: keyIdOf(digestOfKey(second.key)) }]);
    expect((await api.d.database.pool.query('select from key_sessions')).rows).toEqual([]);
  });

  it('C35.25: two servers that read it at once, or one after another, agree', async () => {
    const servers = [newServer(), newServer()];
    const [a, b, c] = [entry('a'), entry('b'), entry('c')];
    await publish([a, b]);
    await Promise.all(servers.map(({ read }) => read()));
    await publish([{ ...b, rights: ['submit'] }, c]);
    await Promise.all(servers.map(({ read }) => read()));
    const after = [
      ['b', 'file', ['submit']],
      ['c', 'file', ['read']],
    ];
    expect(await listed()).toEqual(after);
    const [first, late] = servers;
    await publish([c]);
    await first?.read();
    await late?.read();
    await late?.read();
    expect(await listed()).toEqual([['c', 'file', ['read']]]);
  });

  it('C35.25: a server that still has the older file does not bring back what another one took away', async () => {
    const [a, b] = [entry('a'), entry('b')];
    await writeFile(join(folder, 'older.yaml'), JSON.stringify([a, b]));
    const [late, first] = [newServer(join(folder, 'older.yaml')), newServer()];
    await late.read();
    await publish([a]);
    await first.read();
    await late.read();
    expect(await listed()).toEqual([['a', 'file', ['read']]]);
  });

  it('C35.25: a file with a fault, and one that is not there, change nothing', async () => {
    const server = newServer();
    const a = entry('a');
    await publish([a]);
    await server.read();
    await publish([{ ...a, rights: ['everything'] }]);
    await server.read();
    await server.read();
    expect([await listed(), await server.faults()]).toEqual([[['a', 'file', ['read']]], 1]);
    expect(lines.filter(({ msg }) => msg === 'API keys of the file not applied')).toHaveLength(1);
    await publish('');
    await server.read();
    await rm(path());
    await expect(server.read()).rejects.toThrow('ENOENT');
    expect(await listed()).toEqual([['a', 'file', ['read']]]);
  });

  it('C35.26: a name that a key of the API has is said and left alone, and taken once that key is revoked', async () => {
    const server = newServer();
    const { id } = await makeKey(api.d.database, { name: 'a', rights: ['submit'] });
    await publish([entry('a'), entry('b')]);
    await server.read();
    await server.read();
    expect(await listed()).toEqual([
      ['a', 'api', ['submit']],
      ['b', 'file', ['read']],
    ]);
    expect(await server.faults()).toBe(1);
    expect(lines.filter(({ msg }) => msg === 'API keys of the file not applied')).toHaveLength(1);
    await api.call(`/api/keys/${id}`, { method: 'DELETE' });
    await server.read();
    expect([(await listed())[0], await server.faults()]).toEqual([['a', 'file', ['read']], 0]);
  });

  it('C35.26: a key of the file is revoked by leaving it, and DELETE says so', async () => {
    const server = newServer();
    const a = entry('a');
    await publish([a]);
    await server.read();
    const refused = await api.call(`/api/keys/${keyIdOf(digestOfKey(a.key))}`, { method: 'DELETE' });
    expect([refused.status, refused.json.detail]).toEqual([409, expect.stringContaining('take it out of the file')]);
    expect(await statusWith(a.key)).toBe(200);
  });
});
