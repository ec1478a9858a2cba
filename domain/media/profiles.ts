import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { poolNameSchema } from '../pool-name.ts';
import { playbackModes } from './playback.ts';
import { watermarkSchema } from './watermark.ts';

// Encoding profiles: how streams are made (docs/reference/media.md, "Profiles").

/** x264's presets, the fastest first. */
export const x264Presets = [
  'ultrafast',
  'superfast',
  'veryfast',
  'faster',
  'fast',
  'medium',
  'slow',
  'slower',
  'veryslow',
] as const;

/** Video codecs, those that most players have first. */
export const videoCodecs = ['h264', 'hevc', 'av1'] as const;
export type VideoCodec = (typeof videoCodecs)[number];

/** Where profiles are from; the later replaces the earlier of the same name. */
export const profileOrigins = ['built_in', 'configuration', 'cluster'] as const;
export type ProfileOrigin = (typeof profileOrigins)[number];

/** The streams that get something that is never encrypted: none, those that are not encrypted either, or all. */
const madeIn = ['never', 'clear', 'always'] as const;

const rungSchema = z.strictObject({
  codec: z.enum(videoCodecs).optional().describe('`h264` where it is left out.'),
  short_side: z.int().min(64).max(2160).multipleOf(2).describe('Pixels of the shorter side.'),
  bitrate: z.int().min(100_000).max(100_000_000).describe('Bits a second, at most.'),
});

function areRising(ladder: readonly z.infer<typeof rungSchema>[]): boolean {
  return ladder.every(({ codec = 'h264', short_side, bitrate }, index) => {
    const below = ladder.slice(0, index).findLast((rung) => (rung.codec ?? 'h264') === codec);
    return below === undefined || (short_side > below.short_side && bitrate > below.bitrate);
  });
}

/**
 * A profile in `MEDIA_PROFILES`; fields that are left out have the values of `default`. A new field is optional and has
 * no default, so that the digests of existing profiles stay the same.
 */
export const documentSchema = z.strictObject({
  ladder: z
    .array(rungSchema)
    .min(1)
    .max(16)
    .refine(areRising, 'must go from small to large in each codec, by `short_side` and by `bitrate`')
    .default([
      { short_side: 360, bitrate: 730_000 },
      { short_side: 540, bitrate: 2_000_000 },
      { short_side: 720, bitrate: 4_500_000 },
      { short_side: 1080, bitrate: 7_800_000 },
    ])
    .describe('The renditions of a stream, from small to large in each codec.'),
  first_bitrate: z
    .int()
    .min(100_000)
    .max(100_000_000)
    .default(2_000_000)
    .describe('Playback starts with the largest rung whose bitrate is at most this.'),
  crf: z.number().min(10).max(40).default(23).describe("x264's constant rate factor: lower is better and larger."),
  preset: z.enum(x264Presets).default('medium').describe("x264's preset: slower is smaller."),
  hevc: z
    .strictObject({
      crf: z.number().min(10).max(45).default(25).describe("x265's constant rate factor."),
      preset: z.enum(x264Presets).default('medium').describe("x265's preset."),
    })
    .optional()
    .describe('Quality and speed of rungs of HEVC, by x265.'),
  av1: z
    .strictObject({
      crf: z.int().min(10).max(60).default(32).describe("SVT-AV1's constant rate factor."),
      preset: z.int().min(0).max(13).default(8).describe("SVT-AV1's preset, from 0, the slowest, to 13."),
    })
    .optional()
    .describe('Quality and speed of rungs of AV1, by SVT-AV1.'),
  hdr: z
    .enum(['map', 'keep'])
    .optional()
    .describe('What HEVC and AV1 rungs do with HDR: `map`, the default, makes SDR. H.264 is always SDR.'),
  quality: z
    .strictObject({
      vmaf: z.number().min(60).max(99).optional().describe('The VMAF that a rung must reach.'),
      ssim: z.number().min(0.9).max(0.999).optional().describe('The SSIM that a rung must reach.'),
      report: z.boolean().optional().describe('States the score in the results and aims at none.'),
    })
    .refine(
      ({ vmaf, ssim, report }) => (vmaf === undefined ? ssim !== undefined || report === true : ssim === undefined),
      'has one of `vmaf`, `ssim` and `report: true`',
    )
    .optional()
    .describe('What each SDR rung must come to, by one measure.'),
  frame_rate_max: z.int().min(1).max(120).default(60).describe('Frames a second, at most.'),
  storyboard: z
    .enum(madeIn)
    .default('clear')
    .describe('Which streams get a storyboard, which is never encrypted: `clear` leaves it out of encrypted ones.'),
  captions: z
    .enum(madeIn)
    .optional()
    .describe('Which streams get captions and subtitles, never encrypted; `always` where it is left out.'),
  audio_only: z
    .enum(['refuse', 'stream'])
    .optional()
    .describe('A source without video is refused, the default, or gets a stream of its audio.'),
  watermark: watermarkSchema.optional().describe('An image that is laid over every frame of every rung.'),
  expires_after: z
    .string()
    .regex(/^[1-9]\d{0,4}[hd]$/, 'must be a number of days or hours, such as 30d or 12h')
    .optional()
    .describe('When a media expires whose expiry no caller has set, from its first stream on; left out: never.'),
  pool: poolNameSchema.optional().describe('The RunnerPool of streams that name none; no part of the digest.'),
  playback: z
    .enum(playbackModes)
    .optional()
    .describe(
      'How a media plays whose first job is by this profile, until a caller decides it: `open` where it is left out.',
    ),
  audio: z
    .strictObject({
      bitrate: z
        .int()
        .min(32_000)
        .max(320_000)
        .default(128_000)
        .describe('Bits a second of a stereo track; one of 5.1 has three times as many.'),
      tracks_max: z.int().min(1).max(8).default(8).describe('How many tracks of the source a stream has, at most.'),
      loudness: z
        .number()
        .min(-31)
        .max(-5)
        .optional()
        .describe("Integrated loudness in LUFS of every track, reached by one gain; left out: the source's."),
      surround: z.boolean().optional().describe('Whether audio with 5.1 channels or more is also there as 5.1.'),
    })
    .prefault({})
    .describe('How audio is encoded.'),
});
export type ProfileDocument = z.output<typeof documentSchema>;

/** A profile in which everything is left out. */
export const defaultDocument: ProfileDocument = documentSchema.parse({});

const nameSchema = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);

/** A profile with its name, as in rows and task documents. */
export const namedProfileSchema = documentSchema.extend({ name: nameSchema });
export type NamedProfile = z.output<typeof namedProfileSchema>;

const builtIn: Readonly<Record<string, z.input<typeof documentSchema>>> = {
  default: {},
  /** For small screens and metered networks. */
  mobile: {
    ladder: [
      { short_side: 240, bitrate: 300_000 },
      { short_side: 360, bitrate: 600_000 },
      { short_side: 480, bitrate: 1_200_000 },
      { short_side: 720, bitrate: 2_400_000 },
    ],
    first_bitrate: 600_000,
    crf: 26,
    frame_rate_max: 30,
    audio: { bitrate: 96_000 },
  },
  /** Up to 2160, for archives. */
  'archive-4k': {
    ladder: [
      { short_side: 360, bitrate: 730_000 },
      { short_side: 540, bitrate: 2_000_000 },
      { short_side: 720, bitrate: 4_500_000 },
      { short_side: 1080, bitrate: 7_800_000 },
      { short_side: 1440, bitrate: 14_000_000 },
      { short_side: 2160, bitrate: 25_000_000 },
    ],
    crf: 20,
    preset: 'slow',
    audio: { bitrate: 192_000 },
  },
  /** SDR for every player, and beside it HEVC that keeps HDR. */
  hdr: {
    ladder: [
      { short_side: 360, bitrate: 730_000 },
      { short_side: 540, bitrate: 2_000_000 },
      { short_side: 720, bitrate: 4_500_000 },
      { short_side: 1080, bitrate: 7_800_000 },
      { codec: 'hevc', short_side: 540, bitrate: 1_900_000 },
      { codec: 'hevc', short_side: 720, bitrate: 3_400_000 },
      { codec: 'hevc', short_side: 1080, bitrate: 5_800_000 },
      { codec: 'hevc', short_side: 2160, bitrate: 16_800_000 },
    ],
    hdr: 'keep',
    audio: { surround: true },
  },
  /** Audio alone is streamed too. Apple's HLS Authoring Specification has stereo AAC at 160 kb/s at most. */
  audio: { audio_only: 'stream', audio: { bitrate: 160_000 } },
};

/** Which sources get a profile; one that says nothing fits them all. */
export const sourceMatchSchema = z.strictObject({
  source_prefix: z.string().min(1).max(1024).optional().describe("The beginning of the source's object key."),
  source_bytes_min: z.int().nonnegative().optional().describe('The smallest measured size, in bytes.'),
  source_bytes_max: z.int().positive().optional().describe('The largest measured size, in bytes.'),
});

// Rules about several fields are tried where others are at fault too, so that every fault is reported at once.
const isObject = ({ value }: z.core.ParsePayload) => typeof value === 'object' && value !== null;

/** For `refine`: a rule that no source fits is a mistake. */
export const sizesInOrder: [(rule: z.output<typeof sourceMatchSchema>) => boolean, z.core.$ZodCustomParams] = [
  // It is tried on values of any kind, and comparing some objects throws.
  ({ source_bytes_min: min, source_bytes_max: max }) =>
    typeof min !== 'number' || typeof max !== 'number' || min <= max,
  { path: ['source_bytes_max'], error: 'must be at least `source_bytes_min`', when: isObject },
];

const ruleSchema = sourceMatchSchema.extend({ profile: nameSchema }).refine(...sizesInOrder);

/** A profile as it is written, with the rules about several of its fields. */
export const writtenSchema = documentSchema.refine(({ hdr, watermark }) => hdr !== 'keep' || watermark === undefined, {
  path: ['watermark'],
  error: 'cannot be laid over HDR: leave out `hdr: keep`',
  when: isObject,
});

/** The least that must be right in a document before its rules are looked at. */
const rulesShape = z.object({ profiles: z.record(z.string(), z.unknown()), rules: z.array(z.looseObject({})) });

/** `MEDIA_PROFILES`: profiles by name, beside or instead of the built-in ones, and which source gets which. */
export const mediaProfilesSchema = z
  .strictObject({ profiles: z.record(nameSchema, writtenSchema).default({}), rules: z.array(ruleSchema).default([]) })
  .superRefine(
    ({ profiles, rules }, context) => {
      const known = [...new Set([...Object.keys(builtIn), ...Object.keys(profiles)])];
      for (const [index, { profile }] of rules.entries())
        if (nameSchema.safeParse(profile).success && !known.includes(profile))
          context.addIssue({
            code: 'custom',
            path: ['rules', index, 'profile'],
            message: `is no profile; known are ${known.join(', ')}`,
          });
    },
    { when: ({ value }) => rulesShape.safeParse(value).success },
  )
  .transform(({ profiles, rules }) => {
    const all = { ...builtInProfiles(), ...profiles };
    const named = Object.entries(all).map(([name, profile]) => [name, { ...profile, name }] as const);
    return { byName: new Map<string, NamedProfile>(named), rules };
  });
/** The profiles of a process, and the rules by which a source gets one: the first that fits, else `default`. */
export type MediaProfiles = z.output<typeof mediaProfilesSchema>;

function builtInProfiles(): Record<string, ProfileDocument> {
  return Object.fromEntries(Object.entries(builtIn).map(([name, profile]) => [name, documentSchema.parse(profile)]));
}

/** The built-in profiles, without rules: every source gets `default`. */
export const builtInMediaProfiles: MediaProfiles = mediaProfilesSchema.parse({});

/**
 * The profile of a source.
 *
 * @param source its object key, and its measured size in bytes; a rule about sizes does not fit an unmeasured one
 */
export function chooseProfile(
  { byName, rules }: MediaProfiles,
  source: { readonly key: string; readonly sizeBytes: number | null },
): NamedProfile {
  const size = source.sizeBytes ?? Number.NaN;
  const rule = rules.find(
    ({ source_prefix: prefix = '', source_bytes_min: min, source_bytes_max: max }) =>
      source.key.startsWith(prefix) && (min === undefined || size >= min) && (max === undefined || size <= max),
  );
  return byName.get(rule?.profile ?? 'default') as NamedProfile;
}

/** `expires_after` in milliseconds; null: it never expires. */
export function expiresAfterMs({ expires_after: after }: Pick<ProfileDocument, 'expires_after'>): number | null {
  if (after === undefined) return null;
  return Number.parseInt(after, 10) * (after.endsWith('h') ? 3_600_000 : 86_400_000);
}

/** The digest of a profile; null for the built-in `default`, by whatever name. */
export function profileDigest(profile: NamedProfile): string | null {
  const own = digestOf(profile);
  return own === defaultDigest ? null : own;
}

/** SHA-256, in hex, of all that a profile decides of a stream; its name and its pool decide nothing. */
export function digestOf({ pool: _pool, ...profile }: ProfileDocument): string {
  return createHash('sha256')
    .update(canonicalize({ ...profile, name: null }) ?? '')
    .digest('hex');
}

const defaultDigest = digestOf(defaultDocument);
