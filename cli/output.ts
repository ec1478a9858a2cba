import { ReelwrightError } from '../clients/typescript/src/index.ts';
import { UsageError } from './exit-codes.ts';
import type { Env } from './settings.ts';

// What is printed: results on standard output, as text or as JSON (`--json`), everything else on standard error.
// Colours and a bar only where a person looks. Whatever is printed may hold texts of a server, so every way out of here
// takes from them what would steer a terminal.

/** A stream to write to: standard output and standard error, or that of a test. */
export interface Outlet {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

type Colour = 'red' | 'green' | 'yellow' | 'dim' | 'bold';
/** A word before a result, in its colour where a person looks. */
export interface Badge {
  readonly colour: Colour;
  readonly word: string;
}
const codes: Readonly<Record<Colour, number>> = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 };

/** A cell of a table: a text, or one in a colour where a person looks. */
export type Cell = string | Badge;

export interface Output {
  readonly isJson: boolean;
  /** Whether a person reads standard output: times are relative and ids short. */
  readonly isRead: boolean;
  /** Whether a person reads standard error. */
  readonly isWatched: boolean;
  /** A result: `text` for people, `value` for programs. */
  result(value: unknown, text: string, badge?: Badge): void;
  /** A result with rows: a table for people, `value` for programs. */
  list(value: unknown, head: readonly string[], rows: readonly (readonly Cell[])[]): void;
  /** A remark for people. */
  note(text: string): void;
  /** Replaces the line of the bar; without a terminal nothing is shown. */
  bar(text: string): void;
}

interface OutputOptions {
  readonly isJson: boolean;
  readonly env: Env;
  readonly stdout: Outlet;
  readonly stderr: Outlet;
}

export function openOutput({ isJson, env, stdout, stderr }: OutputOptions): Output {
  const isPlain = isJson || (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  const isRead = stdout.isTTY === true && !isJson && env['TERM'] !== 'dumb';
  const hasColour = stdout.isTTY === true && !isPlain;
  const isWatched = stderr.isTTY === true && !isJson && env['TERM'] !== 'dumb';
  let isBarShown = false;
  const clear = () => {
    if (isBarShown) stderr.write('\r\u001B[K');
    isBarShown = false;
  };
  return {
    isJson,
    isRead,
    isWatched,
    list: (value, head, rows) => {
      clear();
      stdout.write(isJson ? `${printableJson(value)}\n` : `${table(head, rows, hasColour)}\n`);
    },
    result: (value, text, badge) => {
      clear();
      if (isJson) stdout.write(`${printableJson(value)}\n`);
      else stdout.write(`${badge === undefined ? '' : `${badgeText(badge, hasColour)}  `}${printable(text)}\n`);
    },
    note: (text) => {
      clear();
      if (!isJson) stderr.write(`${printable(text)}\n`);
    },
    bar: (text) => {
      if (!isWatched) return;
      stderr.write(`\r\u001B[K${printableLine(text).slice(0, Math.max(10, (stderr.columns || 80) - 1))}`);
      isBarShown = true;
    },
  };
}

function badgeText({ colour, word }: Badge, hasColour: boolean): string {
  return hasColour ? `\u001B[${codes[colour]}m${word}\u001B[0m` : word;
}

/** Prints an error on standard error: one line for people, one JSON document for programs. */
export function printError(error: unknown, { isJson, stderr }: { readonly isJson: boolean; readonly stderr: Outlet }) {
  const known = error instanceof ReelwrightError ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  const code = known?.code ?? (error instanceof UsageError ? 'usage' : 'failed');
  const { detail = message, status = 0, errors = [], traceId = null, advice = null } = known ?? {};
  const document = { error: { code, status, detail, errors, trace_id: traceId, advice } };
  stderr.write(`${isJson ? printableJson(document) : printable(`reelwright: ${lineOf(known, message)}`)}\n`);
}

/** The fault first, then what to do at this terminal. */
function lineOf(error: ReelwrightError | null, message: string): string {
  if (error === null) return message;
  const { code, detail, status, traceId, advice } = error;
  if (code === 'unauthorized') return 'the API key is refused: run reelwright login, or set REELWRIGHT_API_KEY';
  if (code === 'source_missing') return `${detail} There is no such file here either.`;
  const isAdvised = status === 0 || status >= 500;
  const trace = status >= 500 && traceId !== null ? ` (trace id ${traceId})` : '';
  return `${code}: ${detail.replace(/\.$/, '')}${isAdvised ? `. ${advice}` : ''}${trace}`;
}

/** Rows in columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[], hasColour = false): string {
  const all = [head, ...rows].map((row) => row.map(badgeOf));
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.word.length ?? 0)));
  return all
    .map((row) =>
      row
        .map(({ word, colour }, column) => {
          const isLast = column === row.length - 1;
          const padding = isLast ? '' : ' '.repeat((widths[column] ?? 0) - word.length);
          return `${colour === null ? word : badgeText({ colour, word }, hasColour)}${padding}`;
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function badgeOf(cell: Cell): { readonly word: string; readonly colour: Colour | null } {
  return typeof cell === 'string'
    ? { word: printableLine(cell), colour: null }
    : { word: printableLine(cell.word), colour: cell.colour };
}

const agoUnits = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const;

/** A time as a person reads it, such as `5 min ago`; as it is where a program reads. */
export function timeText(iso: string, { isRead }: Pick<Output, 'isRead'>, nowMs = Date.now()): string {
  const seconds = (nowMs - Date.parse(iso)) / 1000;
  if (!isRead || !Number.isFinite(seconds)) return iso;
  const unit = agoUnits.find(([size]) => Math.abs(seconds) >= size);
  if (unit === undefined) return 'just now';
  const count = `${Math.floor(Math.abs(seconds) / unit[0])} ${unit[1]}`;
  return seconds < 0 ? `in ${count}` : `${count} ago`;
}

/** Control characters but the line feed, and those that turn the direction of a text or end a line. */
// eslint-disable-next-line no-control-regex -- control characters are what is replaced
const steering = /[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u2028-\u202E\u2066-\u2069]/g;

/** Text of a service, without characters that would steer a terminal. */
export function printable(text: string): string {
  return text.replaceAll(steering, '?');
}

/** The same for a text that has one line, so that a server cannot write lines of its own. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '?');
}

/** JSON whose text has no such characters either: `JSON.stringify` leaves those from U+007F on. */
function printableJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(steering, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
