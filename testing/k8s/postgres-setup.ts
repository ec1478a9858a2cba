import type { TestProject } from 'vitest/node';
import { openDatabase } from '#platform/postgres/database.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { createDatabase } from '../databases.ts';
import { startPostgres } from '../servers.ts';

/** A PostgreSQL beside the API server, for the tests of the whole controller. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  try {
    const { url } = await createDatabase(server.url, 'template0');
    const database = openDatabase(url);
    await migrate(database);
    await database.close();
    project.provide('postgres', { url: server.url, migratedTemplate: new URL(url).pathname.slice(1) });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server.stop;
}
