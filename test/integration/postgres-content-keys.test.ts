import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { count } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

const [oldSecret, newSecret] = ['an encryption key of old', 'an encryption key of now'] as const;

describeStores('the content key store', (c) => {
  test('C18.4: a hash has no key until one is made, and keeps it', async () => {
    const keys = new ContentKeyStore(c.database, { encryptionKeys: [oldSecret] });
    const hash = randomUUID();
    expect(await keys.find(hash)).toBeNull();
    const made = await keys.findOrCreate(hash);
    expect(made.key).toHaveLength(16);
    expect(made.kid).toMatch(/^[0-9a-f]{32}$/);
    expect(await keys.findOrCreate(hash)).toEqual(made);
    expect(await keys.find(hash)).toEqual(made);
    expect((await keys.findOrCreate(randomUUID())).kid).not.toBe(made.kid);
  });

  test('one key stands of 50 calls at once, and all are answered with it', async () => {
    const keys = new ContentKeyStore(c.database, { encryptionKeys: [oldSecret] });
    const hash = randomUUID();
    const made = await Promise.all(Array.from({ length: 50 }, () => keys.findOrCreate(hash)));
    expect(new Set(made.map(({ kid, key }) => `${kid} ${key.toString('hex')}`)).size).toBe(1);
    expect(await count(c.database, 'content_keys')).toBe(1);
  });

  test('what is stored holds no key', async () => {
    const made: Buffer[] = [];
    const keys = new ContentKeyStore(c.database, {
      encryptionKeys: [oldSecret],
      randomBytes: (bytes) => {
        made.push(randomBytes(bytes));
        return made.at(-1) as Buffer;
      },
    });
    const { key, kid } = await keys.findOrCreate(randomUUID());
    const { rows } = await c.database.pool.query<{ row: string }>('select content_keys::text as row from content_keys');
    expect(rows[0]?.row).toContain(kid);
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      expect(rows[0]?.row).not.toContain(key.toString(encoding));
  });

  test('after a rotation old keys still open, and only with the old secret', async () => {
    const hash = randomUUID();
    const made = await new ContentKeyStore(c.database, { encryptionKeys: [oldSecret] }).findOrCreate(hash);
    const rotated = new ContentKeyStore(c.database, { encryptionKeys: [newSecret, oldSecret] });
    expect(await rotated.findOrCreate(hash)).toEqual(made);
    const forgetful = new ContentKeyStore(c.database, { encryptionKeys: [newSecret] });
    await expect(forgetful.find(hash)).rejects.toThrow('ENCRYPTION_KEY');
    await expect(forgetful.findOrCreate(hash)).rejects.toThrow('ENCRYPTION_KEY');
  });
});
