import type { TestProject } from 'vitest/node';
import { migratedTemplate } from '../migrated-template.ts';
import { startPostgres } from '../servers.ts';

/** A PostgreSQL beside the API server, for the tests of the whole controller. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  try {
    project.provide('postgres', { url: server.url, migratedTemplate: await migratedTemplate(server.url) });
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server.stop;
}
