import { elementsOf, parseXml, replaceElements, writeXml, type XmlElement } from '../media/xml.ts';

// What a ticket opens of a media. One rule by path decides what is listed and what is served, so that a server at the
// edge can decide it too, without a look at the media.

/** The limit of a ticket. */
export interface TicketScope {
  /** Without video, storyboard and preview. */
  readonly isAudioOnly: boolean;
  /** The largest height of video tracks, as their ids say it; null: every one. */
  readonly heightMax: number | null;
  /** Named in the log; decides nothing. */
  readonly session: string | null;
}

const written = /^(?!~)(?:(audio)|([1-9]\d{1,4})p)?(?:(?:^|~)sid-([A-Za-z0-9_-]{1,64}))?$/;

/**
 * Reads a scope as a ticket has it: `audio` or a height such as `720p`, then `sid-` and the id of a session, joined by
 * `~`. Null for what is none.
 */
export function readScope(text: string): TicketScope | null {
  const [whole, audio, height, session] = written.exec(text) ?? [];
  if (whole === undefined || whole === '') return null;
  return {
    isAudioOnly: audio !== undefined,
    heightMax: height === undefined ? null : Number(height),
    session: session ?? null,
  };
}

/** Whether a scope leaves something out. */
export function isLimiting({ isAudioOnly, heightMax }: TicketScope): boolean {
  return isAudioOnly || heightMax !== null;
}

/** Whether a scope opens `path`, which is relative to the media, with or without a revision. */
export function isInScope({ isAudioOnly, heightMax }: TicketScope, path: string): boolean {
  const below = path.replace(/^[0-9a-f]{16}\//, '');
  if (isAudioOnly && /^(?:video\/|storyboard\/|preview\.)/.test(below)) return false;
  const height = /^video\/r(\d+)_/.exec(below)?.[1];
  return heightMax === null || !below.startsWith('video/') || (height !== undefined && Number(height) <= heightMax);
}

/** A master playlist without what is outside of the scope; null where no variant is left. */
export function masterInScope(master: string, scope: TicketScope): string | null {
  const lines = master.split('\n');
  const isOutside = (uri: string | undefined) => uri !== undefined && !isInScope(scope, uri);
  const kept = lines.filter((line, at) => {
    if (line.startsWith('#EXT-X-STREAM-INF:')) return !isOutside(lines[at + 1]);
    return !isOutside(line.startsWith('#') ? /[,:]URI="([^"]*)"/.exec(line)?.[1] : line);
  });
  return kept.some((line) => line.startsWith('#EXT-X-STREAM-INF:')) ? kept.join('\n') : null;
}

/** A DASH manifest without what is outside of the scope; null where no track is left. */
export function manifestInScope(manifest: string, scope: TicketScope): string | null {
  let tracks = 0;
  const root = replaceElements(parseXml(manifest), 'AdaptationSet', (set) => {
    const ofSet = set.children.find(({ name }) => name === 'SegmentTemplate')?.attributes['media'];
    const kept = replaceElements(set, 'Representation', (track) =>
      isInScope(scope, trackPath(track) ?? ofSet ?? '') ? [track] : [],
    );
    const left = elementsOf(kept, 'Representation');
    if (left.length === 0) return [];
    if (ofSet === undefined) tracks += left.length;
    return [{ ...kept, attributes: { ...kept.attributes, ...largestOf(kept, left) } }];
  });
  return tracks === 0 ? null : writeXml(root);
}

/** Where the segments or the one file of a track are. */
function trackPath(track: XmlElement): string | undefined {
  return elementsOf(track, 'SegmentTemplate')[0]?.attributes['media'] ?? elementsOf(track, 'BaseURL')[0]?.text;
}

/** `maxWidth` and `maxHeight` of the tracks that are left, where the set states them. */
function largestOf(set: XmlElement, tracks: readonly XmlElement[]): Record<string, string> {
  const largest = (name: string) => String(Math.max(...tracks.map(({ attributes }) => Number(attributes[name]))));
  return {
    ...(set.attributes['maxWidth'] === undefined ? {} : { maxWidth: largest('width') }),
    ...(set.attributes['maxHeight'] === undefined ? {} : { maxHeight: largest('height') }),
  };
}
