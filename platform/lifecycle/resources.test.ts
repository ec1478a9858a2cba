import { expect, test } from 'vitest';
import { createLogger } from '../telemetry/logger.ts';
import { Resources } from './resources.ts';

test('resources are closed in reverse, also after one that fails to close', async () => {
  const resources = new Resources();
  const closed: string[] = [];
  for (const name of ['first', 'second', 'third']) {
    const opened = resources.add(name, { name }, (resource) => {
      closed.push(resource.name);
      return name === 'second' ? Promise.reject(new Error('broken')) : Promise.resolve();
    });
    expect(opened).toEqual({ name });
  }
  const log = createLogger({ level: 'silent', name: 'test' });
  await resources.closeAll(log);
  await resources.closeAll(log);
  expect(closed).toEqual(['third', 'second', 'first']);
});
