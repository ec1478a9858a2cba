import type { JobResults } from '../job-types/index.ts';
import type { QualityMeasure } from '../media/quality.ts';

/** The quality of a stream: the mean score of its rungs that have one. */
export interface StreamScore {
  readonly measure: QualityMeasure;
  readonly score: number;
}

/** Null for results without a measured stream. */
export function scoreOf(results: JobResults | null): StreamScore | null {
  const { video_tracks: tracks = [] } = (results ?? {}) as {
    readonly video_tracks?: readonly { readonly quality?: StreamScore }[];
  };
  const measured = tracks.flatMap(({ quality }) => quality ?? []);
  const [first] = measured;
  if (first === undefined) return null;
  const ofOneMeasure = measured.filter(({ measure }) => measure === first.measure);
  return {
    measure: first.measure,
    score: ofOneMeasure.reduce((sum, { score }) => sum + score, 0) / ofOneMeasure.length,
  };
}
