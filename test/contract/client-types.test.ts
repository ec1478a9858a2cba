import { expect, expectTypeOf, it } from 'vitest';
import { jobTypeNames } from '#domain/job-types/index.ts';
import type { Reelwright } from '../../clients/typescript/src/index.ts';

// The compiler reads these: the results of each type of job have its fields, and no other's.

const at = { hash: 'a', source: 'a.mp4' } as const;
const flows: Readonly<Record<string, (client: Reelwright) => Promise<void>>> = {
  'image:thumbnail': async (client) => {
    const { results } = await client.waitFor(await client.submit({ type: 'image:thumbnail', ...at }));
    expectTypeOf(results.outputs[0]?.width).toEqualTypeOf<number | undefined>();
    // @ts-expect-error: an image has no stream
    expectTypeOf(results.streaming);
  },
  'video:cover': async (client) => {
    const { results } = await client.waitFor(await client.submit({ type: 'video:cover', ...at }));
    expectTypeOf(results.timestamp_sec).toEqualTypeOf<number>();
    // @ts-expect-error: a cover has no frames
    expectTypeOf(results.frames);
  },
  'video:preview': async (client) => {
    const { results } = await client.waitFor(await client.submit({ type: 'video:preview', ...at }));
    expectTypeOf(results.frames).toEqualTypeOf<number>();
    // @ts-expect-error: a preview has no time
    expectTypeOf(results.timestamp_sec);
  },
  'video:transcode': async (client) => {
    const submission = { type: 'video:transcode', ...at, options: { encrypt: true } } as const;
    const { results } = await client.waitFor(await client.submit(submission, { profile: 'small', priority: 3 }));
    expectTypeOf(results.streaming.encrypted).toEqualTypeOf<boolean>();
    // @ts-expect-error: a transcode has no stages
    expectTypeOf(results.stages);
  },
  'video:full': async (client) => {
    const { results } = await client.waitFor(await client.submit({ type: 'video:full', ...at }));
    expectTypeOf(results.stages.cover.status).toBeString();
    // @ts-expect-error: a cover is one of its artifacts
    expectTypeOf(results.outputs);
  },
};

it('the types of the results of every type of job are held by the compiler', () => {
  expect(Object.keys(flows).toSorted()).toEqual(jobTypeNames.toSorted());
});
