import { progressOf } from '#domain/jobs/progress.ts';
import type { Film } from '#domain/runner/film.ts';
import type { ProgressOfReport } from './step-output.ts';

/** The progress of a film: its chunks, weighted by their frames. */
export class FilmProgress {
  readonly #frames: readonly number[];
  readonly #fractions = new Map<number, number>();

  constructor({ chunk_frames: frames }: Pick<Film, 'chunk_frames'>, finished: ReadonlySet<number>) {
    this.#frames = frames;
    for (const chunk of finished) this.#fractions.set(chunk, 1);
  }

  /** Reads the reports of a chunk. */
  of(chunk: number): ProgressOfReport {
    return (report) => {
      if (report.phase !== 'encoding') return null;
      this.#fractions.set(chunk, report.type === 'progress' ? report.fraction : 0);
      let done = 0;
      for (const [each, fraction] of this.#fractions) done += fraction * (this.#frames[each] ?? 0);
      const all = this.#frames.reduce((sum, frames) => sum + frames, 0);
      return { phase: 'encoding', progress: progressOf('encoding', done / all) };
    };
  }
}
