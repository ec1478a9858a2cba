import { encodingProfileOf } from './encoding-profile.ts';
import { inListingOrder, planLadder, type Rung, type VideoRange } from './ladder.ts';
import { type ProfileDocument, videoCodecs } from './profiles.ts';

/** The stream that a profile would make of a source, if runners can encode each of its codecs. */
export interface StreamOutline {
  /** From small to large in each codec, H.264 first; `bytesMax` by the cap of its bitrate. */
  readonly rungs: readonly (Rung & { readonly bytesMax: number; readonly isFirst: boolean })[];
  /** One stereo track. */
  readonly audio: { readonly bitrate: number; readonly bytesMax: number };
  /** The size of all rungs and one stereo track. */
  readonly bytesMax: number;
}

/** A source as it is shown: after rotation and with square pixels. */
export interface OutlinedSource {
  readonly width: number;
  readonly height: number;
  readonly durationSec: number;
  readonly hdr: VideoRange;
}

/**
 * The ladder of a profile for a source, and the most that each rung may come to. Constant quality mostly needs less,
 * and a rung that comes close to the next one above it is not published.
 */
export function outlineStream(document: ProfileDocument, { durationSec, ...source }: OutlinedSource): StreamOutline {
  const profile = encodingProfileOf(document);
  const planned = planLadder(source, profile, videoCodecs);
  const first = inListingOrder(planned, profile)[0];
  const bytesOf = (bitrate: number) => Math.ceil((bitrate * durationSec) / 8);
  const rungs = planned.map((rung) => ({ ...rung, bytesMax: bytesOf(rung.bitrateMax), isFirst: rung === first }));
  const audio = { bitrate: profile.audio.bitrate, bytesMax: bytesOf(profile.audio.bitrate) };
  return { rungs, audio, bytesMax: rungs.reduce((sum, { bytesMax }) => sum + bytesMax, audio.bytesMax) };
}
