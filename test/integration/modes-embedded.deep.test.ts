import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { isAlive } from '#platform/commands/is-alive.ts';
import { until } from '../../testing/controller-rig.ts';
import { endPrograms, secrets, startProgram } from '../../testing/programs.ts';

afterEach(endPrograms);

it('mode all on the embedded parts starts on an empty folder, is ready, and leaves no process behind', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-modes-'));
  const [source, media] = [await mkdtemp(join(dir, 's-')), await mkdtemp(join(dir, 'm-'))];
  const stores = { SOURCE_BUCKET: `file:${source}`, MEDIA_BUCKET: `file:${media}` };
  const parts = { DATABASE_URL: `embedded:${join(dir, 'database')}`, REDIS_URL: 'embedded:' };
  const program = await startProgram({ env: { ...secrets, ...stores, ...parts } });
  const below = await program.descendants();
  expect(below.length).toBeGreaterThan(0);
  program.signal('SIGTERM');
  expect(await program.ended).toBe(0);
  await until(
    () => below.filter(isAlive),
    (alive) => alive.length === 0,
  );
  await rm(dir, { recursive: true, force: true });
});
