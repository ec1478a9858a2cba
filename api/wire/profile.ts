import { z } from 'zod';
import { videoRanges } from '#domain/media/ladder.ts';
import { digestOf, type NamedProfile, profileOrigins, videoCodecs } from '#domain/media/profiles.ts';
import { type OutlinedSource, outlineStream } from '#domain/media/stream-outline.ts';
import type { KnownProfile } from '#jobs/submission/known-profiles.ts';
import type { WrittenProfiles } from '#platform/config/written-profiles.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import { count, profileField } from './fields.ts';

const digest = z
  .string()
  .describe('SHA-256 of all that the profile decides: another digest, other streams.')
  .meta({ examples: ['6ea3bb33a5eeb0c7a2bcbf0e0a7c0fd65bd1b9cc8c1bcf9b2b6bb5a0f1f4f2aa'] });

const listedProfileSchema = z.object({
  name: profileField.describe('The name of the profile.'),
  origin: z
    .enum(profileOrigins)
    .describe('Where it is from: a MediaProfile of the cluster, `MEDIA_PROFILES`, or the service itself.'),
  digest,
  rungs: count.describe('How many rungs its ladder has.').meta({ examples: [5] }),
  codecs: z.array(z.enum(videoCodecs)).describe('The codecs of its ladder.'),
});

const sourceBytes = count.nullable().meta({ examples: [null] });
const ruleSchema = z.object({
  profile: profileField.describe('The profile that it chooses.'),
  source_prefix: z
    .string()
    .nullable()
    .describe('The first characters of the key of the source; null: any.')
    .meta({ examples: ['phones/'] }),
  source_bytes_min: sourceBytes.describe('The smallest source in bytes; null: any.'),
  source_bytes_max: sourceBytes.describe('The largest source in bytes; null: any.'),
});
export const profileListSchema = z
  .object({
    profiles: z.array(listedProfileSchema).describe('The profiles.'),
    rules: z
      .array(ruleSchema)
      .describe('Which source gets which profile; the first that fits decides, else `default`.'),
  })
  .register(answers, { id: 'ProfileList' });

export const profileSchema = listedProfileSchema
  .extend({
    yaml: z
      .string()
      .describe('The profile as a value of `MEDIA_PROFILES`.')
      .meta({ examples: ['profiles:\n  default: …\n'] }),
  })
  .register(answers, { id: 'Profile' });

const faultSchema = z.object({
  profile: z
    .string()
    .nullable()
    .describe('The MediaProfile; null in a value of `MEDIA_PROFILES`.')
    .meta({ examples: [null] }),
  field: z
    .string()
    .describe('The field at fault; empty for a fault of the whole text.')
    .meta({ examples: ['profiles.small.crf'] }),
  detail: z
    .string()
    .describe('What is expected of it.')
    .meta({ examples: ['must be at most 51'] }),
  line: z
    .int()
    .min(1)
    .nullable()
    .describe('The line, from 1; null where it is not known.')
    .meta({ examples: [3] }),
});
const rungSchema = z.object({
  track: z
    .string()
    .describe('The id of the track.')
    .meta({ examples: ['r720_h264'] }),
  codec: z.enum(videoCodecs).describe('The codec.'),
  range: z.enum(videoRanges).describe('The dynamic range.'),
  width: count.describe('The width in pixels.').meta({ examples: [1280] }),
  height: count.describe('The height in pixels.').meta({ examples: [720] }),
  bitrate_max: count.describe('The cap of the bitrate, in bits a second.').meta({ examples: [3_000_000] }),
  bytes_max: count.describe('How many bytes it has at most, by that cap.').meta({ examples: [225_000_000] }),
  is_first: z.boolean().describe('Whether playback starts with it.'),
});
const outlineSchema = z.object({
  name: profileField.describe('The name of the profile.'),
  digest,
  ladder: z.array(rungSchema).describe('The rungs that the source gets.'),
  audio: z
    .object({
      bitrate: count.describe('The bitrate in bits a second.').meta({ examples: [128_000] }),
      bytes_max: count.describe('How many bytes it has at most.').meta({ examples: [9_600_000] }),
    })
    .describe('One stereo track.'),
  bytes_max: count
    .describe(
      'Bytes of all rungs and one stereo track, by the caps of their bitrates: constant quality mostly needs less.',
    )
    .meta({ examples: [525_000_000] }),
});
export const profileCheckSchema = z
  .object({
    valid: z.boolean().describe('Whether the text has no fault.'),
    faults: z.array(faultSchema).describe('Every fault of the text.'),
    profiles: z
      .array(outlineSchema)
      .describe('What each profile of the text would make of the source; empty where there are faults.'),
  })
  .register(answers, { id: 'ProfileCheck' });

const side = z.int().min(2).max(16_384);
/** The body of `POST /api/profiles/check`. */
export const profileCheckBodySchema = z
  .strictObject({
    text: z
      .string()
      .max(98_304)
      .describe('YAML: the value of `MEDIA_PROFILES`, or MediaProfiles as kubectl applies them.')
      .meta({ examples: ['profiles:\n  small:\n    crf: 28\n'] }),
    source: z
      .strictObject({
        width: side.describe('The width in pixels.').meta({ examples: [1920] }),
        height: side.describe('The height in pixels.').meta({ examples: [1080] }),
        duration_sec: z
          .number()
          .positive()
          .max(604_800)
          .describe('The duration in seconds.')
          .meta({ examples: [3600] }),
        hdr: z.enum(videoRanges).default('sdr').describe('The dynamic range.'),
      })
      .prefault({ width: 1920, height: 1080, duration_sec: 3600 })
      .describe('The source that ladders and sizes are stated for.'),
  })
  .register(bodies, { id: 'ProfileCheckRequest' });

/** A profile of the list. */
export function listedProfileToWire({ profile, origin }: KnownProfile): z.output<typeof listedProfileSchema> {
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
): z.output<typeof profileCheckSchema> {
  return {
    valid: faults.length === 0,
    faults: [...faults],
    profiles: profiles.map((profile) => outlineToWire(profile, source)),
  };
}

function outlineToWire(profile: NamedProfile, source: OutlinedSource): z.output<typeof outlineSchema> {
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
