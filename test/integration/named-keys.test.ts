import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { digestOfKey, keyIdOf, namedKeyOf } from '#domain/keys/api-key.ts';
import type { Right } from '#domain/keys/rights.ts';
import { sessionSecretOf } from '#domain/keys/session.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { KeyStore } from '#platform/postgres/key-store.ts';
import { SessionStore } from '#platform/postgres/session-store.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { KnownKeys } from '../../api/hooks/known-keys.ts';
import { migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { makeKey } from '../../testing/named-keys.ts';
import { startProxy } from '../../testing/proxy.ts';
import { type ApiUnderTest, apiKey, startApi } from '../contract/api-under-test.ts';

// Look-ups of named keys: what they cost, and how long they hold.

const log = createLogger({ level: 'silent', name: 'test' });
let testDatabase: TestDatabase;
let database: Database;
let lookups = 0;
beforeAll(async () => {
  testDatabase = await migratedDatabase();
  database = openDatabase(testDatabase.url, { maxConnections: 4 });
  const query = database.pool.query.bind(database.pool) as (...given: unknown[]) => Promise<unknown>;
  const counted = (...given: unknown[]) => {
    if (/where (s\.)?sha256 = any/.test(String(given[0]))) lookups += 1;
    return query(...given);
  };
  database.pool.query = counted as typeof database.pool.query;
});
afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

let nowMs = 0;
const newKnownKeys = () =>
  new KnownKeys({
    apiKeys: [apiKey],
    store: new KeyStore(database),
    sessions: new SessionStore(database),
    log,
    now: () => nowMs,
  });
beforeEach(() => {
  nowMs = 1;
  lookups = 0;
});

describe('known keys', () => {
  it('C35.3: a key that was revoked by another server is refused within five seconds, and here at once', async () => {
    const { id, text } = await makeKey(database, { name: 'revoked', rights: ['read'] });
    const [here, other] = [newKnownKeys(), newKnownKeys()];
    for (const known of [here, other]) expect(await known.find(text)).toMatchObject({ id, name: 'revoked' });
    await new KeyStore(database).remove(id);
    here.forget();
    expect(await here.find(text)).toBeNull();
    nowMs = 4_001;
    expect(await other.find(text)).toMatchObject({ id });
    nowMs = 4_002;
    expect(await other.find(text)).toBeNull();
  });

  it('C35.3: a look-up that was under way when the key was revoked is not remembered', async () => {
    const { id, text } = await makeKey(database, { name: 'meanwhile', rights: ['read'] });
    const store = new KeyStore(database);
    const find = async (digests: readonly Buffer[]) => {
      const found = await store.find(digests);
      known.forget();
      return found;
    };
    const known: KnownKeys = new KnownKeys({
      apiKeys: [],
      store: { find, markUsed: (used) => store.markUsed(used) },
      sessions: new SessionStore(database),
      log,
      now: () => nowMs,
    });
    expect(await known.find(text)).toMatchObject({ id });
    await store.remove(id);
    expect(await known.find(text)).toBeNull();
  });

  it('C35.3: a key that is made is known within five seconds to a server that was asked for it before', async () => {
    const known = newKnownKeys();
    const text = namedKeyOf(randomBytes);
    expect(await known.find(text)).toBeNull();
    expect(await known.find(text)).toBeNull();
    expect(lookups).toBe(1);
    nowMs = 4_002;
    await known.find(text);
    expect(lookups).toBe(2);
  });

  it('C35.4: a thousand wrong keys at once cost a few statements, and repeating them none', async () => {
    const known = newKnownKeys();
    const wrong = Array.from({ length: 1_000 }, () => namedKeyOf(randomBytes));
    expect((await Promise.all(wrong.map((text) => known.find(text)))).every((key) => key === null)).toBe(true);
    expect(lookups).toBeLessThanOrEqual(3);
    const before = lookups;
    await Promise.all(wrong.map((text) => known.find(text)));
    expect(lookups).toBe(before);
  });

  it('C35.4: what has not the form of a named key is not looked up, nor are those of API_KEY', async () => {
    const known = newKnownKeys();
    for (const text of ['', 'wrong', 'rw_', `${namedKeyOf(randomBytes)}x`]) expect(await known.find(text)).toBeNull();
    expect(await known.find(apiKey)).toMatchObject({ name: 'API_KEY', rights: ['admin'] });
    expect(lookups).toBe(0);
  });

  it('C35.4: a flood of wrong keys displaces no key that is there', async () => {
    const { id, text } = await makeKey(database, { name: 'kept', rights: ['read'] });
    const known = newKnownKeys();
    await known.find(text);
    await Promise.all(Array.from({ length: 10_500 }, () => known.find(namedKeyOf(randomBytes))));
    lookups = 0;
    expect(await known.find(text)).toMatchObject({ id });
    expect(lookups).toBe(0);
  });
});

/** The secret of a new session. */
const begin = async (keyId: string, rights: readonly Right[] | null = null) => {
  const secret = sessionSecretOf(randomBytes);
  await new SessionStore(database).insert({ sha256: digestOfKey(secret), keyId, rights });
  return secret;
};

describe('sessions', () => {
  it('C35.20: a session ends within five seconds on a server that has used it, and at once where its key is revoked', async () => {
    const { id } = await makeKey(database, { name: 'of sessions', rights: ['read', 'submit'] });
    const secret = await begin(id, ['read']);
    const [here, other] = [newKnownKeys(), newKnownKeys()];
    for (const known of [here, other])
      expect((await known.findSession(secret))?.key).toMatchObject({ id, rights: ['read'] });
    await new KeyStore(database).remove(id);
    here.forget();
    expect(await here.findSession(secret)).toBeNull();
    nowMs = 4_001;
    expect(await other.findSession(secret)).not.toBeNull();
    nowMs = 4_002;
    expect(await other.findSession(secret)).toBeNull();
  });

  it('C35.20: a session that begins while its key is revoked is found by nobody, whichever is first', async () => {
    for (const isRevokedFirst of [true, false]) {
      const { id } = await makeKey(database, { name: `meanwhile ${isRevokedFirst}`, rights: ['read'] });
      const remove = () => new KeyStore(database).remove(id);
      const steps = isRevokedFirst ? [remove(), begin(id)] : [begin(id), remove()];
      const results = await Promise.all(steps);
      const secret = results.find((result): result is string => typeof result === 'string') ?? '';
      expect(await newKnownKeys().findSession(secret)).toBeNull();
    }
  });

  it('C35.17: a session of API_KEY ends when the configuration has the key no more', async () => {
    const secret = await begin(keyIdOf(digestOfKey(apiKey)));
    expect((await newKnownKeys().findSession(secret))?.key).toMatchObject({ name: 'API_KEY', rights: ['admin'] });
    const parts = { store: new KeyStore(database), sessions: new SessionStore(database), log };
    expect(await new KnownKeys({ apiKeys: ['another'], ...parts }).findSession(secret)).toBeNull();
  });

  it('C35.4: a wrong cookie costs what an unknown key does: what has not its form nothing, a flood a few statements', async () => {
    const known = newKnownKeys();
    for (const text of ['', 'wrong', namedKeyOf(randomBytes), `${sessionSecretOf(randomBytes)}x`])
      expect(await known.findSession(text)).toBeNull();
    expect(lookups).toBe(0);
    const wrong = Array.from({ length: 1_000 }, () => sessionSecretOf(randomBytes));
    for (let round = 1; round <= 2; round += 1) await Promise.all(wrong.map((text) => known.findSession(text)));
    expect(lookups).toBeLessThanOrEqual(3);
  });

  it('C35.17: sessions that have expired are deleted as others begin', async () => {
    const { id } = await makeKey(database, { name: 'expiring', rights: ['read'] });
    await begin(id);
    await database.pool.query(`update key_sessions set expires_at = now() - interval '1 second'`);
    await begin(id);
    const { rows } = await database.pool.query('select from key_sessions');
    expect(rows).toHaveLength(1);
  });
});

describe('while the database is away', () => {
  let api: ApiUnderTest;
  let proxy: Awaited<ReturnType<typeof startProxy>>;
  beforeAll(async () => {
    api = await startApi({}, {}, { postgres: async (url) => (proxy = await startProxy(url)).url });
  });
  afterAll(async () => {
    await proxy.set('open');
    await api.close();
    await proxy.close();
  });

  it('C35.5: named keys are answered 503 and those of API_KEY are let in; both work once it is back', async () => {
    const { text } = await makeKey(api.d.database, { name: 'away', rights: ['read'] });
    const statusOf = async (key: string) =>
      (await api.call('/api/profiles/check', { method: 'POST', headers: { 'x-api-key': key } })).status;
    expect(await statusOf(text)).toBe(400);
    const other = namedKeyOf(randomBytes);
    await proxy.set('cut');
    expect([await statusOf(other), await statusOf(apiKey), await statusOf('wrong')]).toEqual([503, 400, 401]);
    await proxy.set('open');
    await expect.poll(() => statusOf(other)).toBe(401);
    expect(await statusOf(text)).toBe(400);
  });
});
