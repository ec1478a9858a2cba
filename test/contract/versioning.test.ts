import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Versions".

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

it('C28.5, C28.8: every JSON answer, errors too, carries API-Version: 1 and announces no end', async () => {
  const submitted = await api.submit({ type: 'image:thumbnail', hash: 'h', source: 's' });
  const answers = [
    submitted,
    await api.call(`/api/jobs/${submitted.json.job_id}`),
    await api.submit('{'),
    await api.call('/api/jobs/none'),
    await api.raw('/api/jobs/none'),
    await api.call('/nowhere'),
  ];
  expect(answers.map(({ status }) => status)).toEqual([202, 200, 400, 404, 401, 404]);
  expect(answers.map(({ headers }) => headers.get('api-version'))).toEqual(answers.map(() => '1'));
  for (const { headers } of answers) expect([headers.get('deprecation'), headers.get('sunset')]).toEqual([null, null]);
});
