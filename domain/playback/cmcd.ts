// What a player says of its state with a request: Common Media Client Data (CTA-5004), in the query `CMCD` or in four
// headers, as a dictionary of structured fields (RFC 8941). Anybody can send anything, so the length is bounded, one
// pass reads it, and a value that no player can mean is as good as none. Keys of version 2 are read where they exist.

/** The kinds of objects that a request asks for, by the key `ot`. */
export const playbackObjects = [
  'manifest',
  'audio',
  'video',
  'muxed',
  'init',
  'captions',
  'text',
  'key',
  'other',
  'unnamed',
] as const;
export type PlaybackObject = (typeof playbackObjects)[number];

const objectOfToken: ReadonlyMap<string, PlaybackObject> = new Map([
  ['m', 'manifest'],
  ['a', 'audio'],
  ['v', 'video'],
  ['av', 'muxed'],
  ['i', 'init'],
  ['c', 'captions'],
  ['tt', 'text'],
  ['k', 'key'],
  ['o', 'other'],
]);

/** Durations are milliseconds, rates kilobits a second; null: not said. */
export interface PlayerState {
  readonly object: PlaybackObject;
  /** Whether the buffer ran empty since the request before. */
  readonly isStarved: boolean;
  /** Whether the object is needed at once: at the start, after a seek, after the buffer ran empty. */
  readonly isStartup: boolean;
  readonly bufferMs: number | null;
  readonly throughputKbps: number | null;
  /** The bitrate of the rung that the object belongs to. */
  readonly bitrateKbps: number | null;
  /** From the wish to play to the first frame; version 2, once for each session. */
  readonly startDelayMs: number | null;
  readonly sessionId: string | null;
}

/** Encoded; a player sends about 300 characters, and more with the address of its next segment. */
export const cmcdLengthMax = 4_096;
const pairsMax = 64;
const sessionIdLengthMax = 64;
const maxima = { bl: 3_600_000, mtp: 10_000_000, br: 1_000_000, msd: 600_000 } as const;
const headerNames = ['cmcd-object', 'cmcd-request', 'cmcd-session', 'cmcd-status'] as const;

/** The headers of a request by their names in lower case. */
export type CmcdHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Reads the state of a request's player; null where it says nothing, or what it says is no CMCD. */
export function readCmcd(url: string, headers: CmcdHeaders): PlayerState | null {
  const text = queryText(url) ?? headerText(headers);
  return text === null || text.length > cmcdLengthMax ? null : readDictionary(text);
}

function queryText(url: string): string | null {
  const query = url.indexOf('?');
  if (query < 0) return null;
  const found = /[?&]CMCD=([^&#]*)/.exec(url.slice(query, query + 2 * cmcdLengthMax))?.[1];
  if (found === undefined || found.length > cmcdLengthMax) return null;
  try {
    return decodeURIComponent(found);
  } catch {
    return null;
  }
}

function headerText(headers: CmcdHeaders): string | null {
  let text: string | null = null;
  for (const name of headerNames) {
    const value = headers[name];
    if (typeof value === 'string') text = text === null ? value : `${text},${value}`;
  }
  return text;
}

/** A key with a value: a string, a list of version 2, or a bare item; without one it is true. Parameters follow. */
const pair = new RegExp(
  [
    /[ \t]*([a-z*][a-z0-9_\-.*]*)/,
    /(?:=(?:"((?:[^"\\]|\\["\\])*)"|\(((?:"(?:[^"\\]|\\["\\])*"|[^()"])*)\)|([^,;() "\t]+)))?/,
    /(?:;[^,;"]*(?:"(?:[^"\\]|\\["\\])*")?)*[ \t]*(?:,|$)/,
  ]
    .map(({ source }) => source)
    .join(''),
  'y',
);

/** Null for what is no dictionary, and for one without a key that is read here. */
function readDictionary(text: string): PlayerState | null {
  const values: Partial<Record<Key, string>> = {};
  let isAny = false;
  pair.lastIndex = 0;
  for (let pairs = 0; pair.lastIndex < text.length; pairs++) {
    const found = pairs < pairsMax ? pair.exec(text) : null;
    if (found === null) return null;
    const [, key = '', string, list, item] = found;
    if (!isKey(key)) continue;
    values[key] = string ?? list ?? item ?? '';
    isAny = true;
  }
  return isAny ? playerState(values) : null;
}

const keys = ['ot', 'bs', 'su', 'bl', 'mtp', 'br', 'msd', 'sid'] as const;
type Key = (typeof keys)[number];
const known: ReadonlySet<string> = new Set(keys);
const isKey = (key: string): key is Key => known.has(key);

function playerState(values: Partial<Record<Key, string>>): PlayerState {
  const { ot, sid = '' } = values;
  return {
    object: ot === undefined ? 'unnamed' : (objectOfToken.get(ot) ?? 'other'),
    isStarved: isTrue(values.bs),
    isStartup: isTrue(values.su),
    bufferMs: numberOf(values, 'bl'),
    throughputKbps: numberOf(values, 'mtp'),
    bitrateKbps: numberOf(values, 'br'),
    startDelayMs: numberOf(values, 'msd'),
    sessionId: sid.length > 0 && sid.length <= sessionIdLengthMax ? sid : null,
  };
}

const isTrue = (value: string | undefined) => value === '' || value === '?1';

/** The number, of a list the first; a number that no player can mean is none. */
function numberOf(values: Partial<Record<Key, string>>, key: keyof typeof maxima): number | null {
  const digits = /^ *(\d{1,9})(?=[ ;.]|$)/.exec(values[key] ?? '')?.[1];
  const number = digits === undefined ? null : Number(digits);
  return number === null || number > maxima[key] ? null : number;
}
