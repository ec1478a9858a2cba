import { parseArgs } from 'node:util';
import { loadEdited } from '../text-edits.ts';
import { plantedCrossings, type PlantedCrossing } from './planted-crossings.ts';

// One run, in a process of its own, since a planted bug changes the text of modules as they are loaded. Exits with 1
// when something was violated; the last line that it prints is the result.

const { values } = parseArgs({
  options: {
    database: { type: 'string', default: '' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '10' },
    planted: { type: 'string' },
  },
});
const planted = values.planted === undefined ? null : plantedCrossings[values.planted as PlantedCrossing];
if (planted?.edits !== undefined) loadEdited(planted.edits);
const { runCrossings } = await import('./run.ts');
const result = await runCrossings({
  databaseUrl: values.database,
  seed: Number(values.seed),
  seconds: Number(values.seconds),
  sql: planted?.sql ?? null,
  print: (line) => void process.stdout.write(`${line}\n`),
});
for (const line of [...result.violations, ...result.history]) process.stdout.write(`  ${line}\n`);
process.stdout.write(`${JSON.stringify({ ...result, history: undefined })}\n`);
process.exitCode = result.violations.length === 0 ? 0 : 1;
