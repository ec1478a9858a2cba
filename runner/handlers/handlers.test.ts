import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { jobTypeNames, jobTypeRow } from '#domain/job-types/index.ts';
import type { Task } from '#domain/work/task.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import { loadHandler } from './index.ts';

it.each(
  jobTypeNames.flatMap((type) => {
    const { firstUnit } = jobTypeRow(type);
    return [firstUnit, ...unitKindRow(firstUnit).follows].map((kind) => ({ type, kind }));
  }),
)('the handler of $type has the unit $kind', async ({ type, kind }) => {
  const task = { type, unit: { kind } } as Task;
  expect(await loadHandler(task)).toEqual({ process: expect.any(Function), publish: expect.any(Function) });
});

it('a unit that the job type does not have is refused by name', async () => {
  const task = { type: 'video:cover', unit: { kind: 'finish' } } as Task;
  await expect(loadHandler(task)).rejects.toThrow('a job of type video:cover has no unit finish');
});

it('each folder of handlers belongs to a job type', () => {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).toSorted()).toEqual(
    jobTypeNames.map((type) => type.replace(':', '-')).toSorted(),
  );
});
