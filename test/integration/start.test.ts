import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, inject, it } from 'vitest';
import { openDatabase } from '#platform/postgres/database.ts';
import { until } from '../../testing/controller-rig.ts';
import { emptyDatabase } from '../../testing/databases.ts';
import { endPrograms, type Program, secrets, startProgram } from '../../testing/programs.ts';
import { startProxy } from '../../testing/proxy.ts';
import { startRedis } from '../../testing/servers.ts';

// The start of the program while a server that it needs is away, or refuses it.

const nowhere = { S3_ENDPOINT: 'http://127.0.0.1:1', S3_ACCESS_KEY_ID: 'id', S3_SECRET_ACCESS_KEY: 'secret' };
const bucketsOf = (which: string) =>
  Object.fromEntries(Object.entries(nowhere).map(([name, value]) => [`${which}_${name}`, value]));
const env = {
  ...secrets,
  SOURCE_BUCKET: 'source',
  MEDIA_BUCKET: 'media',
  ...bucketsOf('SOURCE'),
  ...bucketsOf('MEDIA'),
  REDIS_URL: 'redis://127.0.0.1:1',
};
const logs = (program: Program, phrase: string) =>
  until(
    () => program.output(),
    (output) => output.includes(phrase),
    20_000,
  );
const readiness = async (program: Program) => (await fetch(`${program.url}/readyz`)).text();

afterEach(endPrograms);

describe.skipIf(!inject('postgres') || !inject('redis'))('the start of the program', () => {
  it.each(['server', 'worker', 'all'])('MODE=%s waits for PostgreSQL and Redis, alive and not ready', async (mode) => {
    const [database, redis] = [await emptyDatabase(), await startRedis()];
    const [toDatabase, toRedis] = [await startProxy(database.url), await startProxy(redis.url)];
    await Promise.all([toDatabase.set('cut'), toRedis.set('cut')]);
    const urls = { DATABASE_URL: toDatabase.url, REDIS_URL: toRedis.url };
    const program = await startProgram({ args: [`--mode=${mode}`], env: { ...env, ...urls }, waits: 'alive' });
    await logs(program, '"msg":"database does not answer, waiting to start"');
    expect(program.output()).toContain('"msg":"Redis does not answer yet; its maxmemory-policy was not looked at"');
    if (mode !== 'worker') expect(await readiness(program)).toContain('database: ECONNREFUSED; key_value_store: ');
    await Promise.all([toDatabase.set('open'), toRedis.set('open')]);
    await logs(program, '"msg":"database answers, continuing the start"');
    if (mode !== 'worker')
      await until(
        () => readiness(program),
        (text) => !/database|key_value_store/.test(text),
      );
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    await Promise.all([toDatabase.close(), toRedis.close(), redis.stop()]);
    await database.drop();
  });

  it('the first start on an empty database warns of no table, and is ready once the queue has its tables', async () => {
    const database = await emptyDatabase();
    const program = await startProgram({
      args: ['--mode=server'],
      env: { ...env, DATABASE_URL: database.url, REDIS_URL: 'embedded:' },
      waits: 'alive',
    });
    await logs(program, '"msg":"database is not migrated yet, asking again"');
    await until(
      () => readiness(program),
      (text) => !text.includes('database'),
    );
    expect(program.output()).not.toContain('does not exist');
    const opened = openDatabase(database.url);
    const { rows } = await opened.pool.query('select to_regclass(\'bullmq.job\') is not null as "isThere"');
    expect(rows).toEqual([{ isThere: true }]);
    await opened.close();
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    await database.drop();
  });

  it('a process that waits for PostgreSQL stops with exit code 0 on SIGTERM', async () => {
    const program = await startProgram({
      env: { ...env, DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x' },
      waits: 'alive',
    });
    await logs(program, 'waiting to start');
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
  });

  it('a password, database or Redis password that is refused ends the program with a message', async () => {
    const database = await emptyDatabase();
    const admin = openDatabase(database.url);
    const role = `limited_${randomBytes(4).toString('hex')}`;
    await admin.pool.query(`create role ${role} login password 'right'`);
    const wrong = Object.assign(new URL(database.url), { username: role, password: 'wrong-password' }).href;
    const unknown = Object.assign(new URL(database.url), { pathname: '/unknown' }).href;
    const redis = await startRedis();
    for (const [variables, message] of [
      [{ DATABASE_URL: wrong }, `DATABASE_URL is refused by the server (password authentication failed`],
      [{ DATABASE_URL: unknown }, 'DATABASE_URL is refused by the server (database \\"unknown\\" does not exist)'],
      [{ DATABASE_URL: database.url, REDIS_URL: redis.url.replace('//', '//unknown:bad@') }, 'REDIS_URL is refused'],
    ] as const) {
      const program = await startProgram({ env: { ...env, ...variables }, waits: 'not' });
      expect([message, await program.ended]).toEqual([message, 1]);
      expect(program.output()).toContain(message);
      expect(program.output()).not.toContain('wrong-password');
    }
    await Promise.all([admin.pool.query(`drop role ${role}`).then(() => admin.close()), redis.stop()]);
    await database.drop();
  });
});
