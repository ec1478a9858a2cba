import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { UnitRun } from '#domain/work/unit-run.ts';
import { makeVideo } from '../../testing/media.ts';
import { endPrograms, type Program, startProgram } from '../../testing/programs.ts';
import { finished, headers, prepareService, type ServiceUnderTest, submit } from './service-under-test.ts';

// `GET /api/jobs/{id}/timeline` of jobs that the program ran. How a row is shown: job-timeline.test.ts.

interface Step {
  readonly step: string;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly processor_ms: number | null;
  readonly code: string | null;
}

describe.skipIf(!inject('postgres'))('the timeline of a job that the program ran', { timeout: 120_000 }, () => {
  let service: ServiceUnderTest;
  let program: Program;
  beforeAll(async () => {
    service = await prepareService();
    await makeVideo({ path: service.folder('source/long.mp4'), seconds: 20, width: 128, height: 72 });
    program = await startProgram({ env: { ...service.env, CHUNK_LENGTH: '6s' } });
  });
  afterAll(async () => {
    await endPrograms();
    await service.close();
  });

  async function timelineOf(body: object) {
    const id = await submit(program, body);
    await finished(program, id);
    const answer = await fetch(`${program.url}/api/jobs/${id}/timeline`, { headers });
    // oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects of it
    const timeline = (await answer.json()) as any;
    return { timeline, attempt: timeline.attempts[0], steps: timeline.attempts[0].units[0].steps as Step[] };
  }

  it.each([
    ['video:cover', 'clip.mp4', 'whole'],
    ['video:transcode', 'clip.mp4', 'split'],
    ['image:thumbnail', 'red.png', 'image'],
  ])('the steps of a %s lie within its attempt, one after another, with their processor time', async (...given) => {
    const [type, source, kind] = given;
    const { timeline, attempt, steps } = await timelineOf({ type, hash: `ran-${kind}`, source });
    expect(timeline.attempts).toHaveLength(1);
    expect(attempt).toMatchObject({ attempt: 1, result: 'completed', code: null, units_left_out: 0 });
    expect(attempt.units).toMatchObject([{ unit: kind, chunk: null, pod: null }]);
    expect(steps.map(({ step }) => step)).toEqual(['fetch', 'process', 'publish']);
    const ends = steps.map((step) => Date.parse(step.started_at) + step.duration_ms);
    const starts = steps.map((step) => Date.parse(step.started_at));
    // Times are rounded to milliseconds.
    const order = [attempt.claimed_at, ...starts, attempt.ended_at].map((at) => Number(new Date(at)));
    expect(order.every((at, index) => index === 0 || at >= (order[index - 1] ?? 0) - 2)).toBe(true);
    expect(Math.max(...ends)).toBeLessThanOrEqual(Date.parse(attempt.ended_at) + 2);
    const sum = steps.reduce((ms, step) => ms + step.duration_ms, 0);
    expect(sum).toBeGreaterThan(0);
    expect(sum).toBeLessThanOrEqual(attempt.duration_ms + 2 * steps.length);
    const processor = steps.reduce((ms, step) => ms + (step.processor_ms ?? Number.NaN), 0);
    expect(processor).toBeGreaterThan(0);
    expect(timeline.usage).toMatchObject({ duration_ms: attempt.duration_ms, processor_ms: processor });
    expect(timeline.usage.result_bytes).toBeGreaterThan(0);
  });

  it('the units of a long video are those that cut it, encoded its chunks and put them together', async () => {
    const { attempt, timeline } = await timelineOf({ type: 'video:transcode', hash: 'long', source: 'long.mp4' });
    const units = attempt.units as UnitRun[];
    expect(units.map(({ unit, chunk }) => [unit, chunk])).toEqual([
      ['split', null],
      ['chunk', 0],
      ['chunk', 1],
      ['chunk', 2],
      ['finish', null],
    ]);
    const times = units.flatMap(({ steps }) => steps.map((step) => step.processor_ms ?? Number.NaN));
    expect(timeline.usage.processor_ms).toBe(times.reduce((sum, each) => sum + each, 0));
  });

  it('the step that a job failed by has the code of its error', async () => {
    const { timeline, steps } = await timelineOf({ type: 'video:cover', hash: 'failed', source: 'red.png' });
    expect(timeline.attempts.at(-1)).toMatchObject({ result: 'failed', code: steps.at(-1)?.code });
    expect(steps.map(({ step, code }) => [step, code === null])).toEqual([
      ['fetch', true],
      ['process', false],
    ]);
  });
});
