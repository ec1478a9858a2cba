import { z } from 'zod';
import type { Fault } from '../errors.ts';
import { explain, faultsOf } from '../jobs/faults.ts';

// The options of an image address: how the image of a key is shown. An address writes them as text, the console's
// request and presets as what they mean; each is declared once, with its range in the words of its refusal.

const sidePixelsMax = 4096;

/** Where `fit=cover` cuts: a side, a corner, or what draws the eye or has the most detail. */
const gravities = [
  'center',
  'north',
  'northeast',
  'east',
  'southeast',
  'south',
  'southwest',
  'west',
  'northwest',
  'attention',
  'entropy',
] as const;
/** Where `fit=cover` cuts. */
export type ThumbGravity = (typeof gravities)[number];

const quarterTurns = [0, 90, 180, 270] as const;
/** Degrees clockwise. */
export type ThumbTurn = (typeof quarterTurns)[number];

/** A number within bounds, as JSON and as an address have it. */
function numberFrom(min: number, max: number, kind: 'whole' | 'decimal') {
  const noun = kind === 'whole' ? 'a whole number' : 'a number';
  const error = `must be ${noun} from ${min} to ${max}`;
  const number = (kind === 'whole' ? z.int({ error }) : z.number({ error })).min(min, { error }).max(max, { error });
  const pattern = kind === 'whole' ? /^\d{1,15}$/ : /^\d{1,15}(?:\.\d{1,3})?$/;
  return { number, written: z.string().regex(pattern, { error, abort: true }).transform(Number).pipe(number) };
}

const side = numberFrom(1, sidePixelsMax, 'whole');
const quality = numberFrom(1, 100, 'whole');
const density = numberFrom(1, 4, 'decimal');
const trimThreshold = numberFrom(1, 254, 'whole');
const blur = numberFrom(0.3, 100, 'decimal');
const sharpen = numberFrom(0.3, 10, 'decimal');

const turnError = `must be one of ${quarterTurns.join(', ')}`;
const turn = z.literal(quarterTurns, { error: turnError });

/** `left-top-width-height`, which needs no escape in an address. */
const cropText = z
  .string()
  .regex(
    /^\d{1,5}-\d{1,5}-0*[1-9]\d{0,4}-0*[1-9]\d{0,4}$/,
    'must be left-top-width-height in pixels, such as 100-0-640-480, with a width and height of at least 1',
  );
const backgroundText = z.string().regex(/^[0-9a-f]{6}$/i, 'must be six hexadecimal digits, such as ffffff');
const presetName = /^[a-z0-9][a-z0-9_-]{0,31}$/;
const presetText = z
  .string()
  .regex(presetName, 'must be 1–32 of a–z, 0–9, "_" and "-", and begin with a letter or digit');

/** The options that an address writes as they are. */
const words = {
  fit: z.enum(['cover', 'contain', 'inside']).optional().describe('How it fits into width and height.'),
  f: z.enum(['webp', 'jpg', 'png', 'avif', 'auto']).optional().describe('The format.'),
  gravity: z.enum(gravities).optional().describe('What `fit=cover` keeps.'),
  crop: cropText
    .optional()
    .describe('The part of the upright image that is shown, as left-top-width-height in pixels.')
    .meta({ examples: ['100-0-640-480'] }),
  background: backgroundText
    .optional()
    .describe('The colour of margins and of what is transparent, as six hexadecimal digits.')
    .meta({ examples: ['ffffff'] }),
};

/** The options of an image as numbers and words, for a caller that has JSON. */
export const thumbOptionsShape = {
  w: side.number.optional().describe('The width in pixels.'),
  h: side.number.optional().describe('The height in pixels.'),
  ...words,
  q: quality.number.optional().describe('The quality, 1–100.'),
  dpr: density.number.optional().describe('Pixels of the screen for each pixel of width and height, 1–4.'),
  rotate: turn.optional().describe('Degrees by which it is turned clockwise.'),
  trim: trimThreshold.number
    .optional()
    .describe('Cuts off margins whose values differ by at most this from the first pixel, 1–254.'),
  blur: blur.number.optional().describe('Sigma of a blur in pixels of the result, 0.3–100.'),
  sharpen: sharpen.number.optional().describe('Sigma of a sharpening in pixels of the result, 0.3–10.'),
  preset: presetText
    .optional()
    .describe('The name of a preset of the server, for options that are not given.')
    .meta({ examples: ['card'] }),
};

const writtenOptions = z.strictObject({
  w: side.written.optional(),
  h: side.written.optional(),
  ...words,
  q: quality.written.optional(),
  dpr: density.written.optional(),
  rotate: z
    .string()
    .regex(/^\d{1,3}$/, { error: turnError, abort: true })
    .transform(Number)
    .pipe(turn)
    .optional(),
  trim: trimThreshold.written.optional(),
  blur: blur.written.optional(),
  sharpen: sharpen.written.optional(),
});

/** The query of an address: options, and a preset of the server that stands for some of them. */
const thumbQuerySchema = writtenOptions
  .extend({
    preset: presetText.optional(),
    /** Where the key is; without it in the media bucket. */
    from: z.enum(['source']).optional(),
    /** Unix seconds; once it is past the address answers 403. */
    exp: numberFrom(0, 999_999_999_999_999, 'whole').written.optional(),
  })
  .superRefine(({ w, h, fit, gravity, crop, trim, dpr = 1 }, context) => {
    const refuse = (name: string, message: string) => context.addIssue({ code: 'custom', path: [name], message });
    if (gravity !== undefined && (fit !== 'cover' || w === undefined || h === undefined))
      refuse('gravity', 'must come with fit=cover, w and h: it chooses what is cut');
    if (trim !== undefined && crop !== undefined)
      refuse('trim', 'must come without crop, whose pixels are those of the whole image');
    if (dpr === 1) return;
    if (w === undefined && h === undefined) refuse('dpr', 'must come with w or h, which it multiplies');
    for (const [name, pixels] of Object.entries({ w, h }))
      if (pixels !== undefined && pixels * dpr > sidePixelsMax)
        refuse('dpr', `must leave ${name} × dpr at most ${sidePixelsMax}, not ${pixels} × ${dpr}`);
  });
/** The options of a thumb address: sizes in pixels, quality 1–100. */
export type ThumbQuery = z.output<typeof thumbQuerySchema>;

/** The names of the options that an address may have. */
export const thumbOptionNames = Object.keys(thumbQuerySchema.shape);

/** The presets of a server by name: options as an address writes them. */
export type ThumbPresets = ReadonlyMap<string, Readonly<Record<string, string>>>;

/**
 * The query of an address, with the options of its preset where it has none of its own; or its faults.
 *
 * @param given its pairs, each name once
 */
export function readThumbQuery(
  given: Readonly<Record<string, string>>,
  presets: ThumbPresets,
): { readonly query: ThumbQuery } | { readonly faults: readonly Fault[] } {
  const preset = given['preset'] === undefined ? {} : presets.get(given['preset']);
  if (preset === undefined) {
    const known = presets.size === 0 ? 'it has none' : `it has ${[...presets.keys()].join(', ')}`;
    return {
      faults: [{ pointer: '/preset', code: 'invalid_value', detail: `must be a preset of this server: ${known}` }],
    };
  }
  const parsed = thumbQuerySchema.safeParse({ ...preset, ...given }, { error: explain });
  if (parsed.success) return { query: parsed.data };
  return { faults: faultsOf(parsed.error, { schema: thumbQuerySchema }) };
}

/**
 * The presets that a text declares, `name=option:value,option:value;…`, or what is wrong with it.
 *
 * @returns a fault for each preset that is malformed
 */
export function parseThumbPresets(
  text: string,
): { readonly presets: ThumbPresets } | { readonly faults: readonly string[] } {
  const presets = new Map<string, Readonly<Record<string, string>>>();
  const faults: string[] = [];
  for (const declaration of text.split(';').map((part) => part.trim())) {
    if (declaration === '') continue;
    const [, name = '', list = ''] = /^([^=]*)=(.*)$/s.exec(declaration) ?? [];
    const pairs = list.split(',').map((pair) => /^\s*(\w+):([^:]*?)\s*$/.exec(pair)?.slice(1) ?? []);
    const names = pairs.map(([option = '']) => option);
    const fault = !presetName.test(name)
      ? 'expected name=option:value,… with a name of 1–32 of a–z, 0–9, "_" and "-"'
      : presets.has(name)
        ? `expected the preset ${name} once`
        : names.includes('') || new Set(names).size !== names.length
          ? `expected option:value, each option once, in the preset ${name}`
          : faultOfOptions(name, Object.fromEntries(pairs));
    if (fault === null) presets.set(name, Object.fromEntries(pairs));
    else faults.push(fault);
  }
  return faults.length > 0 ? { faults } : { presets };
}

function faultOfOptions(name: string, options: Record<string, string>): string | null {
  const issue = writtenOptions.safeParse(options, { error: explain }).error?.issues[0];
  if (issue === undefined) return null;
  if (issue.code === 'unrecognized_keys')
    return `expected known options in the preset ${name}, which has ${issue.keys.join(', ')}`;
  return `expected another ${issue.path.join('.')} in the preset ${name}: it ${issue.message}`;
}
