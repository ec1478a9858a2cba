import { refusedPartOf } from '#platform/postgres/prepare-database.ts';
import { migrationState } from '#platform/postgres/migrate.ts';
import { inspectRedis } from '#platform/queue/check-redis.ts';
import { clockFindings } from './clocks.ts';
import { type Check, fault, type Finding, type Ground } from './check.ts';
import { connectionFault, plainAddress } from './connection-faults.ts';

// Postgres and Redis.

const embedded = 'the database is embedded: it runs only while the service does';

const database: Check = {
  name: 'database',
  needs: ['configuration'],
  unless: ({ config }) => (config.databaseUrl.kind === 'postgres' ? null : embedded),
  run: async (ground) => {
    const { databaseUrl } = ground.config;
    const address = databaseUrl.kind === 'postgres' ? plainAddress(databaseUrl.url) : '';
    try {
      await ground.database.ping(ground.signal);
      return [];
    } catch (error) {
      return [databaseFault(error, address)];
    }
  },
};

function databaseFault(error: unknown, address: string): Finding {
  const { message } = error as Error;
  const refused = refusedPartOf(error);
  if (refused === 'credentials')
    return fault(`DATABASE_URL: the server refuses user or password: ${message}`, 'correct the user and the password');
  if (refused === 'database')
    return fault(`DATABASE_URL: there is no such database: ${message}`, 'create the database, or correct its name');
  const known = connectionFault(error, `DATABASE_URL, ${address}`);
  return known ?? fault(`DATABASE_URL, ${address}: ${message}`, 'look at the log of the database');
}

/** Delivery alone migrates nothing and reads what the others have made. */
const migrations: Check = {
  name: 'migrations',
  needs: ['database'],
  run: async ({ database: server, config }) => {
    const { missing, unknown } = await migrationState(server);
    const isReader = config.source === null;
    const [first, newest] = [missing[0], unknown.at(-1)];
    const findings: Finding[] = [];
    if (newest !== undefined)
      findings.push(
        fault(
          `the database was migrated by a newer version, to ${newest}`,
          'run that version: an older one may not know what it wrote',
        ),
      );
    if (first !== undefined)
      findings.push(
        fault(
          `the database lacks ${missing.length} migrations, the first is ${first}`,
          'start an API or a worker of this version, which migrates it',
        ),
      );
    if (!isReader && first !== undefined && !(await mayCreateTables(server)))
      findings.push(
        fault('the role may not create tables', 'grant create on schema public to the role of DATABASE_URL'),
      );
    return findings;
  },
};

async function mayCreateTables(server: Ground['database']): Promise<boolean> {
  const { rows } = await server.pool.query<{ may: boolean }>(
    `select coalesce(has_schema_privilege(current_schema(), 'create'), false) as may`,
  );
  return rows[0]?.may === true;
}

const databaseRights: Check = {
  name: 'database rights',
  needs: ['migrations'],
  run: async ({ database: server, config }) => {
    const wanted =
      config.source === null
        ? [['content_keys', 'select'] as const, ['media_deletions', 'select'] as const]
        : (['select', 'insert', 'update', 'delete'] as const).map((right) => ['jobs', right] as const);
    const findings: Finding[] = [];
    for (const [name, right] of wanted) {
      const ask = 'select has_table_privilege($1, $2) as may';
      const { rows } = await server.pool.query<{ may: boolean }>(ask, [name, right]);
      if (rows[0]?.may !== true)
        findings.push(
          fault(`the role may not ${right} in ${name}`, `grant ${right} on ${name} to the role of DATABASE_URL`),
        );
    }
    return findings;
  },
};

const databaseClock: Check = {
  name: 'database clock',
  needs: ['database'],
  run: async ({ database: server }) => {
    const before = Date.now();
    const { rows } = await server.pool.query<{ ms: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
    );
    return clockFindings('the database', rows[0]?.ms ?? before, { before, after: Date.now() });
  },
};

const redis: Check = {
  name: 'redis',
  needs: ['configuration'],
  unless: ({ config }) => (config.redis?.kind === 'redis' ? null : 'queue and counters are in the database'),
  run: async ({ config }) => {
    const url = config.redis?.kind === 'redis' ? config.redis.url : '';
    const state = await inspectRedis(url);
    if (state.kind === 'refused')
      return [
        fault(
          `REDIS_URL: the server refuses user, password or database: ${state.error.message.slice(0, 80)}`,
          'correct the user, the password and the number of the database',
        ),
      ];
    if (state.kind === 'answers') return [];
    const what = `REDIS_URL, ${plainAddress(url)}`;
    return [connectionFault(state.error, what) ?? fault(`${what}: ${String(state.error)}`, 'look at the log of Redis')];
  },
};

const redisPolicy: Check = {
  name: 'redis eviction policy',
  needs: ['redis'],
  run: async ({ config }) => {
    const state = await inspectRedis(config.redis?.kind === 'redis' ? config.redis.url : '');
    const policy = state.kind === 'answers' ? state.policy : null;
    if (policy === null || policy === 'noeviction') return [];
    const remedy = 'set maxmemory-policy to noeviction: config set maxmemory-policy noeviction, and in redis.conf';
    return [fault(`the maxmemory-policy of Redis is ${policy}, which may evict tickets`, remedy)];
  },
};

export const databaseChecks: readonly Check[] = [
  database,
  migrations,
  databaseRights,
  databaseClock,
  redis,
  redisPolicy,
];
