import { ReelwrightError } from '../clients/typescript/src/index.ts';
import { UsageError } from './exit-codes.ts';
import type { Env } from './settings.ts';

// What is printed: results on standard output, as text or as JSON (`--json`), everything else on standard error.
// Colours and a bar only where a person looks. Whatever is printed may hold texts of a server, so every way out of here
// takes from them what would steer a terminal.

/** What is written to: standard output and standard error, or a test. */
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

export interface Output {
  readonly isJson: boolean;
  /** Whether a person reads standard error. */
  readonly isWatched: boolean;
  /** A result: `text` for people, `value` for programs. */
  result(value: unknown, text: string, badge?: Badge): void;
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
  const hasColour = stdout.isTTY === true && !isPlain;
  const isWatched = stderr.isTTY === true && !isJson && env['TERM'] !== 'dumb';
  let isBarShown = false;
  const clear = () => {
    if (isBarShown) stderr.write('\r\u001B[K');
    isBarShown = false;
  };
  return {
    isJson,
    isWatched,
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

/** What an error prints on standard error. */
export function printError(error: unknown, { isJson, stderr }: { readonly isJson: boolean; readonly stderr: Outlet }) {
  const known = error instanceof ReelwrightError ? error : null;
  const message = error instanceof Error ? error.message : String(error);
  const code = known?.code ?? (error instanceof UsageError ? 'usage' : 'failed');
  const { detail = message, status = 0, errors = [], traceId = null, advice = null } = known ?? {};
  if (isJson) {
    stderr.write(`${printableJson({ error: { code, status, detail, errors, trace_id: traceId, advice } })}\n`);
    return;
  }
  const lines = [`reelwright: ${message}`, ...(advice === null ? [] : [advice])];
  if (traceId !== null) lines.push(`trace id: ${traceId}`);
  stderr.write(`${lines.map(printable).join('\n')}\n`);
}

/** Rows in columns as wide as their widest cell. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows.map((row) => row.map(printableLine))];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
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
