import { readThumbQuery } from './thumb-options.ts';

// Addresses as imgproxy has them, `/{signature}/{option}:{arguments}/…/{source}`, put into the words of ours, for
// whoever comes from there. Nothing is signed here: whoever holds the secret signs.

/** An image as ours address it. */
interface TranslatedAddress {
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  /** Options of imgproxy that have no counterpart. */
  readonly left: readonly string[];
}

type Options = Readonly<Record<string, string>>;
/** Null for arguments that have no counterpart. */
type Translation = (args: readonly string[]) => Options | null;

const fits: Options = { fit: 'inside', auto: 'inside', fill: 'cover', 'fill-down': 'cover' };
const formats: Options = { jpg: 'jpg', jpeg: 'jpg', png: 'png', webp: 'webp', avif: 'avif', best: 'auto' };
const gravities: Options = {
  ce: 'center',
  no: 'north',
  noea: 'northeast',
  ea: 'east',
  soea: 'southeast',
  so: 'south',
  sowe: 'southwest',
  we: 'west',
  nowe: 'northwest',
  sm: 'attention',
};

/** One value as it is; 0 and nothing stand for none. */
const same =
  (name: string): Translation =>
  ([value = '']) =>
    /^0*(?:\.0*)?$/.test(value) ? {} : { [name]: value };
const oneOf =
  (name: string, words: Options): Translation =>
  ([word = '']) => {
    const ours = words[word];
    return ours === undefined ? null : { [name]: ours };
  };
const size: Translation = ([width, height]) => ({ ...same('w')([width ?? '']), ...same('h')([height ?? '']) });
const resize: Translation = ([type = '', ...sides]) => {
  const fit = type === '' ? {} : oneOf('fit', fits)([type]);
  return fit === null ? null : { ...fit, ...size(sides) };
};
const background: Translation = (parts) => {
  if (parts.length !== 3) return same('background')(parts);
  return { background: parts.map((part) => Number(part).toString(16).padStart(2, '0')).join('') };
};
/** Only a part that is placed by its corner: the size of the image is not known here. */
const crop: Translation = ([width, height, gravity, left = '0', top = '0']) =>
  gravity === 'nowe' ? { crop: [left, top, width, height].join('-') } : null;

/** Only the threshold: ours compares with the first pixel, and cuts each side as far as it goes. */
const trim: Translation = ([threshold, ...more]) =>
  more.some((part) => part !== '') ? null : same('trim')([threshold ?? '']);

const translations: Readonly<Record<string, Translation>> = {
  resize,
  rs: resize,
  size,
  s: size,
  resizing_type: oneOf('fit', fits),
  rt: oneOf('fit', fits),
  width: same('w'),
  w: same('w'),
  height: same('h'),
  h: same('h'),
  dpr: same('dpr'),
  gravity: oneOf('gravity', gravities),
  g: oneOf('gravity', gravities),
  crop,
  c: crop,
  rotate: same('rotate'),
  rot: same('rotate'),
  trim,
  t: trim,
  background,
  bg: background,
  blur: same('blur'),
  bl: same('blur'),
  sharpen: same('sharpen'),
  sh: same('sharpen'),
  quality: same('q'),
  q: same('q'),
  format: oneOf('f', formats),
  f: oneOf('f', formats),
  ext: oneOf('f', formats),
  preset: same('preset'),
  pr: same('preset'),
  expires: same('exp'),
  exp: same('exp'),
};

const optionPattern = /^([a-z_]+):(.*)$/;

/**
 * Translates an address of imgproxy below `/thumb` into our words; null for any other address.
 *
 * @param path with `/thumb/`, without a query
 */
export function translateImgproxy(path: string): TranslatedAddress | null {
  const [, , , ...parts] = path.split('/');
  const end = parts.findIndex((part) => !optionPattern.test(part));
  const source = end < 0 ? [] : parts.slice(end);
  if (end === 0 && source[0] !== 'plain') return null;
  const read = sourceOf(source);
  if (read === null) return null;
  const left: string[] = [];
  const query: Record<string, string> = {};
  for (const part of [...parts.slice(0, end), ...(read.extension === '' ? [] : [`f:${read.extension}`])]) {
    const [, name = '', args = ''] = optionPattern.exec(part) ?? [];
    const options = Object.hasOwn(translations, name) ? translations[name]?.(args.split(':')) : null;
    if (options !== null && options !== undefined && mayBe(options)) Object.assign(query, options);
    else left.push(name);
  }
  if (query['fit'] !== 'cover' || query['w'] === undefined || query['h'] === undefined) delete query['gravity'];
  if (query['w'] === undefined && query['h'] === undefined) delete query['dpr'];
  return { key: read.key, query, left };
}

/** Whether an address of ours may have options; some hold only beside others, and presets are the server's. */
function mayBe(options: Options): boolean {
  const isOfOthers = ['gravity', 'dpr', 'preset'].some((name) => name in options);
  return isOfOthers || 'query' in readThumbQuery(options, new Map());
}

/** The key and the extension of a source, which is plain or encoded; null for what is neither. */
function sourceOf(parts: readonly string[]): { readonly key: string; readonly extension: string } | null {
  const isPlain = parts[0] === 'plain';
  const [, text = '', extension = ''] = isPlain
    ? (/^(.*?)(?:@([a-z]+))?$/s.exec(decoded(parts.slice(1).join('/'))) ?? [])
    : (/^([\w-]+={0,2})(?:\.([a-z]+))?$/.exec(parts.join('')) ?? []);
  const address = isPlain ? text : Buffer.from(text, 'base64url').toString('utf8');
  // The bucket or host of an address is not a part of the key.
  const key = address.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*\//i, '').replace(/^\/+/, '');
  return key === '' || key.includes('\uFFFD') ? null : { key, extension };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
