import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readSources, withoutComments } from '../../testing/imports.ts';

// Every write to the outside passes platform/external-writes, so that the tests of faults reach it. What can write is
// named here, with the files that may use it.

const files = readSources(join(import.meta.dirname, '../..'))
  .filter(({ path }) => /^(api|controller|delivery|jobs|platform|runner)\/|^[^/]+$/.test(path))
  .filter(({ path }) => !path.endsWith('.test.ts') && !path.includes('.config.'));

/** Schema changes are one writer's, under a lock, before the service is ready. */
const schema = ['platform/embedded-postgres/embedded.ts', 'platform/postgres/migrate.ts'];

it.each([
  [
    'a pool or a client of Postgres',
    /^import \{[^}]*\b(Pool|Client)\b[^}]*\} from 'pg'/gm,
    ['platform/postgres/pool.ts', 'platform/embedded-postgres/embedded.ts'],
  ],
  [
    'a pool of Postgres',
    /\bopenPool\(/g,
    [
      'platform/postgres/pool.ts',
      'platform/postgres/database.ts',
      ...schema,
      'platform/queue/postgres-ticket-queue.ts',
    ],
  ],
  ['the end of a transaction', /query\('commit'\)/g, ['platform/postgres/database.ts', ...schema]],
  [
    'a connection of its own',
    /pool\.connect\(/g,
    ['platform/postgres/database.ts', ...schema, 'platform/queue/postgres-ticket-queue.ts'],
  ],
  ['a list of tickets', /\.(addBulk|moveToCompleted)\(/g, ['platform/queue/bull-ticket-']],
  [
    'a command of S3 that writes',
    /new ((Put|Delete|Copy|Create|Complete|Upload|Abort)\w*Command|Upload)\(/g,
    ['platform/storage/s3/'],
  ],
  ['a file of a bucket', /\b(writeObject|writeNewObject|writeOwnFile|removeObject)\(/g, ['platform/storage/folder/']],
  ['a request to Kubernetes', /#connection\.(exchange|open)\(/g, ['platform/kubernetes/client.ts']],
  ['a request to a receiver', /\b(httpRequest|httpsRequest)\b/g, ['platform/outbound-http/']],
])('%s is used only where its writes can be intercepted', (_what, pattern, allowed) => {
  const users = files.filter(({ text }) => withoutComments(text).match(pattern) !== null).map(({ path }) => path);
  expect(users.length).toBeGreaterThan(0);
  expect(users.filter((path) => !allowed.some((start) => path.startsWith(start)))).toEqual([]);
});
