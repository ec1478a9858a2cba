import { expect, expectTypeOf, it } from 'vitest';
import { jobTypeNames } from '#domain/job-types/index.ts';
import type { Reelwright, WebhookEvent } from '../../clients/typescript/src/index.ts';

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
    // All stages of a completed job are ready, so the stream is there.
    expectTypeOf(results.streaming.master_playlist).toEqualTypeOf<string>();
    // @ts-expect-error: a cover is one of its artifacts
    expectTypeOf(results.outputs);
  },
};

/** The steps that a receiver of webhooks may take without a check that the compiler does not know of. */
function receive(event: WebhookEvent): string {
  if (event.status === 'failed') return event.error.code;
  expectTypeOf(event.error).toEqualTypeOf<undefined>();
  if (event.type === 'video:full') return event.results.streaming.master_playlist;
  // @ts-expect-error: only some types of jobs make one object
  return event.results.key;
}

it('the status of a webhook event tells the compiler whether it has results or an error', () => {
  expectTypeOf(receive).returns.toBeString();
  expectTypeOf<WebhookEvent<'video:cover'>>().toExtend<{ readonly type: 'video:cover' }>();
});

it('the types of the results of every type of job are held by the compiler', () => {
  expect(Object.keys(flows).toSorted()).toEqual(jobTypeNames.toSorted());
});
