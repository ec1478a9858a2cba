import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '#platform/postgres/database.ts';
import { rolloutTask } from '../../controller/upkeep/rollouts.ts';
import { rolloutDependencies } from '../../testing/rollout-rig.ts';

// Works on rollouts until it is killed: node rollout-worker-process.ts DATABASE_URL SOURCE_DIR MEDIA_DIR
const [databaseUrl = '', source = '', media = ''] = process.argv.slice(2);
const task = rolloutTask(rolloutDependencies(openDatabase(databaseUrl), { databaseUrl, source, media }));
for (;;) {
  await task.work(new AbortController().signal);
  process.stdout.write('round\n');
  await sleep(50);
}
