import { z } from 'zod';

/*
 * Text from outside: what a source, a decoder or a tool says of itself. It may have any length and be malformed
 * Unicode, and goes into results, reports, manifests, playlists and webhooks. What these schemas return is well-formed
 * and bounded. Lengths are in UTF-16 units, as JavaScript counts.
 */

/** Control characters, and those that end a line. */
const unprintable = /[\p{Cc}\u2028\u2029]+/gu;
/** Control characters but tabulators and line breaks. */
const unprintableInLogs = /[^\P{Cc}\t\n]+/gu;

/** The beginning of a text in one line, in at most `max` units; a character is never cut in half. */
export function fitText(text: string, max: number): string {
  // As much as is of use, before work grows with the length.
  const line = headOf(text, 4 * max)
    .replace(unprintable, ' ')
    .trim();
  return headOf(line, max).trimEnd();
}

/** The end of a tool's output, in at most `max` units. */
export function fitLog(text: string, max: number): string {
  const tail = text.slice(-max);
  const isHalf = /^[\uDC00-\uDFFF]/.test(tail);
  return (isHalf ? tail.slice(1) : tail).toWellFormed().replace(unprintableInLogs, ' ');
}

function headOf(text: string, max: number): string {
  const head = text.slice(0, max);
  const isHalf = text.length > max && /[\uD800-\uDBFF]$/.test(head);
  return (isHalf ? head.slice(0, -1) : head).toWellFormed();
}

/** A line of text of at most `max` units: a longer or malformed one is made to fit. */
export function boundedText(max: number) {
  return z
    .string()
    .overwrite((text) => fitText(text, max))
    .max(max);
}

/** The end of a log of at most `max` units. */
export function boundedLog(max: number) {
  return z
    .string()
    .overwrite((text) => fitLog(text, max))
    .max(max);
}

/** A list that is cut to its first `max` elements. */
export function boundedList<T extends z.ZodType>(element: T, max: number) {
  return z.array(element).check(
    z.overwrite((list) => list.slice(0, max)),
    z.maxLength(max),
  );
}
