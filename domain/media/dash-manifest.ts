import { type Rational } from './rational.ts';
import { elementsOf, parseXml, replaceElements, writeXml, type XmlElement } from './xml.ts';

/*
 * DASH manifests (ISO/IEC 23009-1) as Shaka Packager writes them: one Period, an AdaptationSet for the rungs and one
 * for each audio track, a SegmentTimeline in each Representation. `test/fixtures/packager.mpd` is one of them, and a
 * test compares it with what the packager of this version writes.
 */

/** When the segments of a track begin and how long they last, in units of `timescale` a second. */
export interface SegmentTimes {
  readonly timescale: number;
  readonly start: number;
  readonly duration: number;
}

/** The folder of a Representation's segments, as `video/r540_h264`; null without segments. */
export function folderOf(representation: XmlElement): string | null {
  const media = elementsOf(representation, 'SegmentTemplate')[0]?.attributes['media'];
  return media === undefined ? null : media.slice(0, media.lastIndexOf('/'));
}

function trackIn(manifest: XmlElement, folder: string): XmlElement | undefined {
  return elementsOf(manifest, 'Representation').find((each) => folderOf(each) === folder);
}

/** The times of the track whose segments are below `folder`; null without such a track. */
export function segmentTimes(manifest: string, folder: string): SegmentTimes | null {
  const track = trackIn(parseXml(manifest), folder);
  if (track === undefined) return null;
  const entries = elementsOf(track, 'S').map(({ attributes }) => attributes);
  return {
    timescale: Number(elementsOf(track, 'SegmentTemplate')[0]?.attributes['timescale']),
    start: Number(entries[0]?.['t']),
    duration: entries.reduce((sum, { d, r = 0 }) => sum + Number(d) * (1 + Number(r)), 0),
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

interface ChunkedStream {
  /** The manifests of the chunks, in order. */
  readonly chunks: readonly string[];
  /** The manifest of audio and text; null without any. */
  readonly audio: string | null;
  /** The folders of the tracks that are listed. */
  readonly folders: readonly string[];
  readonly durationSec: number;
}

/** Joins the manifests of chunks into the manifest of the stream. */
export function joinManifests({ chunks, audio, folders, durationSec }: ChunkedStream): string {
  const [first, ...others] = chunks.map(parseXml);
  if (first === undefined) throw new TypeError('a stream without chunks');
  const joined = replaceElements(first, 'Representation', (track) => {
    const folder = folders.find((each) => each === folderOf(track));
    if (folder === undefined) return [];
    const following = others.map((chunk) => {
      const found = trackIn(chunk, folder);
      if (found === undefined) throw new TypeError(`a chunk has no track ${folder}`);
      return found;
    });
    return [joinTracks(track, following)];
  });
  const sets = audio === null ? [] : elementsOf(parseXml(audio), 'AdaptationSet');
  const whole = replaceElements(joined, 'Period', (period) => [{ ...period, children: [...period.children, ...sets] }]);
  const duration = `PT${Number(durationSec.toFixed(6))}S`;
  const attributes = { ...whole.attributes, mediaPresentationDuration: duration };
  return writeXml(renumbered({ ...whole, attributes }));
}

/** The first chunk's track with the segments of all, and the largest of their bandwidths. */
function joinTracks(track: XmlElement, others: readonly XmlElement[]): XmlElement {
  const bandwidths = [track, ...others].map(({ attributes }) => Number(attributes['bandwidth']));
  const segments = [track, ...others].flatMap((each) => elementsOf(each, 'S'));
  const joined = replaceElements(track, 'SegmentTimeline', (timeline) => [{ ...timeline, children: segments }]);
  return { ...joined, attributes: { ...joined.attributes, bandwidth: String(Math.max(...bandwidths)) } };
}

/** The manifest with ids that are unique in it. */
export function renumbered(manifest: XmlElement): XmlElement {
  const next: Record<string, number> = { AdaptationSet: 0, Representation: 0 };
  const numbered = (element: XmlElement): XmlElement => {
    const id = next[element.name];
    if (id !== undefined) next[element.name] = id + 1;
    const attributes = id === undefined ? element.attributes : { ...element.attributes, id: String(id) };
    return { ...element, attributes, children: element.children.map(numbered) };
  };
  return numbered(manifest);
}
