import { expect, it } from 'vitest';
import { changeText, momentsOf, tookText, waitsForWebhook } from './job-state.js';

// What the page of a job asks for again, and what it says of a job.

it.each([
  ['queued', 'pending', false],
  ['processing', 'pending', false],
  ['completed', 'pending', true],
  ['failed', 'pending', true],
  ['cancelled', null, false],
  ['completed', 'sent', false],
  ['failed', 'callback_failed', false],
] as const)('a job that is %s, its webhook %s, waits for its webhook alone: %s', (status, callback, waits) => {
  expect(waitsForWebhook({ status, callback_status: callback })).toBe(waits);
});

const running = { status: 'processing', phase: 'encoding', attempt: 1, callback_status: null } as const;
const done = { ...running, status: 'completed', phase: null, callback_status: 'pending' } as const;

it.each([
  [running, { ...running, phase: 'packaging' }, 'processing, packaging'],
  [running, { ...running, attempt: 2 }, 'processing, encoding, attempt 2'],
  [running, done, 'completed'],
  [done, { ...done, callback_status: 'sent' }, 'webhook delivered'],
  [done, { ...done, callback_status: null }, 'webhook changed'],
] as const)('the change from %o to %o is %s', (before, after, text) => {
  expect(changeText(before, after)).toBe(text);
});

const at = (second: number) => `2026-11-27T08:00:0${second}.000Z`;
const times = { created_at: at(0), started_at: at(2), finished_at: at(7), updated_at: at(9), pool: 'default' };

it('the end of a job is one of its moments, once, also when the page has seen it', () => {
  const expected = ['submitted', 'started in the pool default', 'completed'];
  expect(momentsOf({ ...done, ...times }, []).map(({ text }) => text)).toEqual(expected);
  const seen = [{ at: at(8), text: 'completed' }];
  expect(momentsOf({ ...done, ...times }, seen)).toEqual([
    { at: at(0), text: 'submitted' },
    { at: at(2), text: 'started in the pool default' },
    { at: at(8), text: 'completed' },
  ]);
  const unstarted = { ...running, ...times, started_at: null };
  expect(momentsOf(unstarted, []).map(({ text }) => text)).toEqual(['submitted']);
});

it('a job that was never started says when it ended, another how long it waited and ran', () => {
  expect(tookText(times)).toBe('Waited 2 s, then ran for 5 s.');
  expect(tookText({ ...times, finished_at: null })).toBe('Waited 2 s, then ran for 7 s.');
  expect(tookText({ ...times, started_at: null })).toBe('Ended 7 s after it was submitted.');
});
