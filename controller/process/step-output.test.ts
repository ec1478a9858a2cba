import { expect, it } from 'vitest';
import { createLogger } from '#platform/telemetry/logger.ts';
import { showLogLine } from './step-output.ts';

it('a line of the runner is logged with each key once, and hides none of the worker’s', () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', name: 'worker', destination: { write: (line) => void lines.push(line) } });
  const own = { level: 'warn', time: 'then', name: 'runner', msg: 'rung dropped', job_id: 'j', attempt: 1, step: 'x' };
  showLogLine(JSON.stringify(own), { job: { id: 'job', attempt: 2 }, step: 'process', log });
  const [line = ''] = lines;
  // A key that stands twice would be lost by parsing.
  const [outer = ''] = line.split('"runner":');
  const keys = [...outer.matchAll(/"(\w+)":/g)].map(([, key]) => key);
  expect(keys).toEqual([...new Set(keys)]);
  expect(JSON.parse(line)).toMatchObject({
    name: 'worker',
    job_id: 'job',
    attempt: 2,
    step: 'process',
    msg: 'rung dropped',
    runner: { job_id: 'j', attempt: 1, step: 'x' },
  });
});
