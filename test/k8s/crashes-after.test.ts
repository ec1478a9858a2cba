import { beforeAll, describe, test } from 'vitest';
import { crashOnce } from '../../testing/k8s/crashes.ts';
import { crashes, expectOneEnd, openJobWay, suspendOnce } from '../../testing/k8s/job-way.ts';
import { endPrograms } from '../../testing/programs.ts';

// As crashes.test.ts, but the API server has done the write, and its answer is on its way (C12.1).

beforeAll(() => endPrograms);

describe.concurrent('a controller that is killed after a write', () => {
  test.for(crashes)('$write ($nth) leaves a job that ends once', async (crash, { onTestFinished: cleanup }) => {
    const way = await openJobWay(cleanup);
    const ended = suspendOnce(way).then(() => expectOneEnd(way));
    ended.catch(() => undefined);
    await crashOnce(way, { ...crash, when: 'after' }, ended);
    await ended;
  });
});
