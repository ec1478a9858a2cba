import { randomBytes } from 'node:crypto';
import { type ApiKey, digestOfKey, keyIdOf, namedKeyOf } from '#domain/keys/api-key.ts';
import type { Database } from '#platform/postgres/database.ts';
import { KeyStore } from '#platform/postgres/key-store.ts';

/** A named key in the database, and its text. */
export interface MadeKey extends ApiKey {
  readonly text: string;
}

/** Makes a named key, by default without any bound but its rights. */
export async function makeKey(
  database: Database,
  given: Pick<ApiKey, 'name' | 'rights'> & Partial<ApiKey> & { readonly expiresAt?: Date },
): Promise<MadeKey> {
  const text = namedKeyOf(randomBytes);
  const sha256 = digestOfKey(text);
  const unbounded = {
    hashPrefix: null,
    sourcePrefix: null,
    profiles: null,
    priorityMax: 0,
    weight: 1,
    expiresAt: null,
  };
  const made = await new KeyStore(database).insert({ ...unbounded, ...given, id: keyIdOf(sha256), sha256 });
  if (made === null) throw new Error(`there is a key ${given.name} already`);
  return { ...made, text };
}
