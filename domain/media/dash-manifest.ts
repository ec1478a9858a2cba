import { type Rational } from './rational.ts';

/*
 * DASH manifests as Shaka Packager writes them: one Period, an AdaptationSet for the rungs and one for each audio track, a
 * SegmentTimeline in each Representation. Those of a film's chunks are joined as text, so that what the packager states
 * of codecs and protection stays as it is.
 */

/** When the segments of a track begin and how long they last, in units of `timescale` a second. */
export interface SegmentTimes {
  readonly timescale: number;
  readonly start: number;
  readonly duration: number;
}

const representations = /[ \t]*<Representation [\s\S]*?<\/Representation>\n/g;
const timelines = /(<SegmentTimeline>\n)([\s\S]*?)([ \t]*<\/SegmentTimeline>)/;

/** The times of the track whose segments are below `folder`; null without such a track. */
export function segmentTimes(manifest: string, folder: string): SegmentTimes | null {
  const track = manifest.match(representations)?.find((each) => isBelow(each, folder));
  if (track === undefined) return null;
  const entries = [...track.matchAll(/<S (?:t="(\d+)" )?d="(\d+)"(?: r="(\d+)")?/g)];
  return {
    timescale: Number(/ timescale="(\d+)"/.exec(track)?.[1]),
    start: Number(entries[0]?.[1]),
    duration: entries.reduce((sum, [, , d, r]) => sum + Number(d) * (1 + Number(r ?? 0)), 0),
  };
}

/** Whether a track lies where it belongs on the grid: `frames` frames from frame `firstFrame` on. */
export function isAt(
  { timescale, start, duration }: SegmentTimes,
  { firstFrame, frames }: { readonly firstFrame: number; readonly frames: number },
  { num, den }: Rational,
): boolean {
  const ticksPerFrame = (timescale * den) / num;
  return start === firstFrame * ticksPerFrame && duration === frames * ticksPerFrame;
}

interface Parts {
  /** The manifests of the chunks, in order. */
  readonly chunks: readonly string[];
  /** The manifest of the sound; null without one. */
  readonly audio: string | null;
  /** The folders of the tracks that are listed. */
  readonly folders: readonly string[];
  readonly durationSec: number;
}

/** The manifest of a whole film. */
export function joinManifests({ chunks, audio, folders, durationSec }: Parts): string {
  const [first = ''] = chunks;
  const joined = first.replaceAll(representations, (track) => {
    const folder = folders.find((each) => isBelow(track, each));
    return folder === undefined ? '' : joinTracks(track, chunks, folder);
  });
  const sets = audio === null ? '' : (/[ \t]*<AdaptationSet [\s\S]*<\/AdaptationSet>\n/.exec(audio)?.[0] ?? '');
  return renumbered(
    joined
      .replace(/[ \t]*<\/Period>/, (end) => sets + end)
      .replace(/mediaPresentationDuration="[^"]*"/, `mediaPresentationDuration="PT${Number(durationSec.toFixed(6))}S"`),
  );
}

function isBelow(track: string, folder: string): boolean {
  return track.includes(` media="${folder}/`);
}

/** The first chunk's track with the segments of all, and the largest of their bandwidths. */
function joinTracks(track: string, chunks: readonly string[], folder: string): string {
  const all = chunks.map((chunk) => chunk.match(representations)?.find((each) => isBelow(each, folder)) ?? '');
  const bandwidth = Math.max(...all.map((each) => Number(/ bandwidth="(\d+)"/.exec(each)?.[1] ?? 0)));
  const segments = all.map((each) => timelines.exec(each)?.[2] ?? '').join('');
  return track
    .replace(/ bandwidth="\d+"/, ` bandwidth="${bandwidth}"`)
    .replace(timelines, (_all, start: string, _segments: string, end: string) => start + segments + end);
}

/** Ids are unique in a manifest; each part numbers its own from 0. */
function renumbered(manifest: string): string {
  const next = { AdaptationSet: 0, Representation: 0 };
  return manifest.replaceAll(
    /<(AdaptationSet|Representation) id="\d+"/g,
    (_all, element: keyof typeof next) => `<${element} id="${next[element]++}"`,
  );
}
