import type { ThumbQuery } from '../../clients/typescript/src/server.ts';
import { readThumbQuery } from '#domain/playback/thumb-options.ts';
import type { Context, OptionRow } from '../command.ts';
import { UsageError } from '../exit-codes.ts';

/** The options of `thumb-url` that say how the image is shown. */
export const imageOptions: Readonly<Record<string, OptionRow>> = {
  width: { value: 'PIXELS', doc: 'from 1 to 4096' },
  height: { value: 'PIXELS', doc: 'from 1 to 4096' },
  fit: { value: 'FIT', doc: 'cover, contain or inside' },
  format: { value: 'FORMAT', short: 'f', doc: 'webp, jpg, png, avif or auto' },
  quality: { value: 'N', doc: 'from 1 to 100' },
  dpr: { value: 'N', doc: 'from 1 to 4: multiplies width and height' },
  gravity: { value: 'GRAVITY', doc: 'what --fit cover keeps: center, north, northeast …, attention or entropy' },
  rotate: { value: 'DEGREES', doc: 'clockwise: 0, 90, 180 or 270' },
  crop: { value: 'PART', doc: 'left-top-width-height in pixels of the turned image' },
  trim: { value: 'N', doc: 'cuts off margins that differ from the first pixel by at most this, from 1 to 254' },
  blur: { value: 'SIGMA', doc: 'from 0.3 to 100' },
  sharpen: { value: 'SIGMA', doc: 'from 0.3 to 10' },
  background: { value: 'COLOUR', doc: 'rrggbb, of margins and of what is transparent' },
  preset: { value: 'NAME', doc: 'a preset of the server' },
  'from-source': { doc: 'KEY is of the source bucket' },
};

/** The query of an image by the options of `thumb-url`. @throws UsageError for one that the service would refuse */
export function imageQuery(options: Context['options'], expiresInSec: number | undefined): ThumbQuery {
  const written = {
    w: options.text('width'),
    h: options.text('height'),
    f: options.text('format'),
    q: options.text('quality'),
    from: options.flag('from-source') ? 'source' : undefined,
    exp: expiresInSec === undefined ? undefined : String(Math.floor(Date.now() / 1000) + expiresInSec),
    ...Object.fromEntries(sameOptions.map((name) => [name, options.text(name)])),
  };
  const given = Object.fromEntries(
    Object.entries(written).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  // Which presets there are, only the server knows.
  const { preset, ...rest } = given;
  const read = readThumbQuery(rest, new Map());
  if ('faults' in read && preset === undefined)
    throw new UsageError(
      read.faults
        .map(({ pointer, detail }) => `--${longNames[pointer.slice(1)] ?? pointer.slice(1)} ${detail}`)
        .join('; '),
    );
  // As numbers, which the service wants where it signs.
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, numbers.includes(name) ? Number(value) : value]),
  );
}

const numbers = ['w', 'h', 'q', 'dpr', 'rotate', 'trim', 'blur', 'sharpen', 'exp'];

/** Options that the query has by the same name. */
const sameOptions = ['fit', 'dpr', 'gravity', 'rotate', 'trim', 'crop', 'blur', 'sharpen', 'background', 'preset'];
const longNames: Readonly<Record<string, string>> = { w: 'width', h: 'height', f: 'format', q: 'quality' };
