import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// Section 9 of docs/contract.md.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

it('C9.1: every JSON answer, errors too, carries API-Version: 1', async () => {
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
  // C9.4
  for (const { headers } of answers) expect([headers.get('deprecation'), headers.get('sunset')]).toEqual([null, null]);
});
