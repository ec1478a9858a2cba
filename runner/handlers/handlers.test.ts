import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { loadHandler } from './index.ts';

it.each(jobTypeNames)('the handler of %s has a process and a publish step', async (type) => {
  expect(await loadHandler(type)).toEqual({ process: expect.any(Function), publish: expect.any(Function) });
});

it('each folder of handlers belongs to a job type', () => {
  const folders = readdirSync(import.meta.dirname, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).toSorted()).toEqual(
    jobTypeNames.map((type) => type.replace(':', '-')).toSorted(),
  );
});
