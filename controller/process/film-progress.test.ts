import { expect, it } from 'vitest';
import { progressOf } from '#domain/jobs/progress.ts';
import { FilmProgress } from './film-progress.ts';

const encoded = (share: number) => ({ phase: 'encoding', progress: progressOf('encoding', share) });

it('the progress of a film weighs its chunks by their frames, those of earlier attempts included', () => {
  const progress = new FilmProgress({ chunk_frames: [60, 60, 60, 20] }, new Set([0, 3]));
  const [one, other] = [progress.of(1), progress.of(2)];
  expect(one({ type: 'phase', phase: 'encoding' })).toEqual(encoded(0.4));
  expect(one({ type: 'progress', phase: 'encoding', fraction: 0.5 })).toEqual(encoded(0.55));
  expect(other({ type: 'progress', phase: 'encoding', fraction: 1 })).toEqual(encoded(0.85));
  expect(other({ type: 'phase', phase: 'publishing' })).toBeNull();
});
