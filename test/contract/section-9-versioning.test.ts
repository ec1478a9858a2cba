import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// Section 9, "Versioning": "API version scheme, version headers and deprecation policy: not shown." decisions.md: "`/api` is v1;
// changes are additive; every JSON answer carries `API-Version: 1`; removal is announced with `Deprecation` and `Sunset`
// headers six months ahead."

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

it('every JSON answer carries `API-Version: 1`, errors too', async () => {
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
  // Nothing is on its way out.
  for (const { headers } of answers) expect([headers.get('deprecation'), headers.get('sunset')]).toEqual([null, null]);
});
