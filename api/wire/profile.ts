import { digestOf, type NamedProfile, videoCodecs } from '#domain/media/profiles.ts';
import { type OutlinedSource, outlineStream } from '#domain/media/stream-outline.ts';
import type { KnownProfile } from '#jobs/submission/known-profiles.ts';
import type { WrittenProfiles } from '#platform/config/written-profiles.ts';
import type { Wire } from './schemas.ts';

/** A profile of the list. */
export function listedProfileToWire({ profile, origin }: KnownProfile): Wire<'ProfileList'>['profiles'][number] {
  const used = new Set(profile.ladder.map(({ codec = 'h264' }) => codec));
  return {
    name: profile.name,
    origin,
    digest: digestOf(profile),
    rungs: profile.ladder.length,
    codecs: videoCodecs.filter((codec) => used.has(codec)),
  };
}

/** The answer to a check. */
export function profileCheckToWire(
  { faults, profiles }: WrittenProfiles,
  source: OutlinedSource,
): Wire<'ProfileCheck'> {
  return {
    valid: faults.length === 0,
    faults: [...faults],
    profiles: profiles.map((profile) => outlineToWire(profile, source)),
  };
}

function outlineToWire(profile: NamedProfile, source: OutlinedSource): Wire<'ProfileCheck'>['profiles'][number] {
  const { rungs, audio, bytesMax } = outlineStream(profile, source);
  return {
    name: profile.name,
    digest: digestOf(profile),
    ladder: rungs.map(({ id, codec, range, width, height, bitrateMax, bytesMax: bytes, isFirst }) => ({
      track: id,
      codec,
      range,
      width,
      height,
      bitrate_max: bitrateMax,
      bytes_max: bytes,
      is_first: isFirst,
    })),
    audio: { bitrate: audio.bitrate, bytes_max: audio.bytesMax },
    bytes_max: bytesMax,
  };
}
