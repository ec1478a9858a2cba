import { beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../testing/k8s/cluster.ts';
import { crashOnce, kindOf } from '../../testing/k8s/crashes.ts';
import { crashes, expectOneEnd, openJobWay, suspendOnce, writes } from '../../testing/k8s/job-way.ts';
import { endPrograms } from '../../testing/programs.ts';

// The controller is killed before each write: every job ends exactly once with the right outcome (C12.1). The
// controller is `main.ts` in a process of its own; a proxy before the API server sees its writes on the wire, and kills
// it with SIGKILL at one of them. In crashes-after.test.ts the API server has done the write.

beforeAll(() => endPrograms);

test.concurrent('the table has every write of a job’s way', async ({ onTestFinished: cleanup }) => {
  const way = await openJobWay(cleanup);
  await way.startProxied();
  await suspendOnce(way);
  await expectOneEnd(way);
  const seen = () => new Set(way.proxy.requests.filter((line) => !line.startsWith('GET')).map(kindOf));
  // Events are written on the side, and the lease is renewed after it was made.
  await until('every write was seen', () => writes.every((write) => seen().has(write)));
  expect([...seen()].toSorted()).toEqual(writes.toSorted());
});

describe.concurrent('a controller that is killed before a write', () => {
  test.for(crashes)('$write ($nth) leaves a job that ends once', async (crash, { onTestFinished: cleanup }) => {
    const way = await openJobWay(cleanup);
    const ended = suspendOnce(way).then(() => expectOneEnd(way));
    ended.catch(() => undefined);
    await crashOnce(way, { ...crash, when: 'before' }, ended);
    await ended;
  });
});
