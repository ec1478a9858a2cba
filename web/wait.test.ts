import { expect, it } from 'vitest';
import { waitOf } from './wait.js';

// What the player page says while playback stands still.

const quiet = { speed: 0, needed: 0, quality: 'lowest', fault: '', tries: 0 } as const;
const slow = 320_000;
const of = 'Waiting for the network: 320 kb/s of 800 kb/s needed.';

it.each([
  ['the stream is not loaded', { speed: Number.NaN, needed: Number.NaN }, 'Waiting for the network.'],
  ['nothing is measured', { needed: 800_000 }, 'Waiting for the network.'],
  ['more arrives than is needed', { needed: 300_000, speed: slow }, 'Waiting for the network.'],
  ['no quality is chosen yet', { speed: slow }, 'Waiting for the network.'],
  ['less arrives than the lowest needs', { needed: 8e5, speed: slow }, `${of} There is no lower quality.`],
  ['a lower one follows', { needed: 8e5, speed: slow, quality: 'automatic' }, `${of} A lower quality follows.`],
  ['the viewer chose it', { needed: 8e5, speed: slow, quality: 'chosen' }, `${of} A lower quality needs less.`],
  [
    'the quality needs megabits',
    { needed: 2_449_000, speed: slow },
    'Waiting for the network: 320 kb/s of 2.4 Mb/s needed. There is no lower quality.',
  ],
] as const)('while %s the wait is for the network', (_, line, message) => {
  expect(waitOf({ ...quiet, ...line })).toEqual({ reason: 'network', message });
});

it('while a part is requested again the wait says which try that is', () => {
  const fault = 'A part of the stream could not be loaded';
  const message = `${fault}. Try 3 is on its way.`;
  expect(waitOf({ ...quiet, speed: slow, fault, tries: 3 })).toEqual({ reason: 'server', message });
});
