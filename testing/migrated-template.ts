import { openDatabase } from '#platform/postgres/database.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { migrateTicketQueue } from '#platform/queue/postgres-ticket-queue.ts';
import { createDatabase } from './databases.ts';

/** The name of a new database with the tables of the service and of its queue, of which those of test files are copies. */
export async function migratedTemplate(serverUrl: string): Promise<string> {
  const { url } = await createDatabase(serverUrl, 'template0');
  const database = openDatabase(url);
  await migrate(database);
  await database.close();
  await migrateTicketQueue(url);
  return new URL(url).pathname.slice(1);
}
